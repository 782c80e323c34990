package proxy

import (
	"crypto/sha1"
	"encoding/hex"
	"maps"
	"strings"
	"sync"
)

// Scripts knows scripts by the digests of their texts. It learns every text that
// passes, and may be shared by several proxies.
type Scripts struct {
	mu    sync.Mutex
	names map[string]string // by SHA-1 of the text
	texts map[string]string // by name; the last that passed
}

// NewScripts knows none.
func NewScripts() *Scripts { return &Scripts{names: map[string]string{}, texts: map[string]string{}} }

// Texts are those that were learned, by name.
func (s *Scripts) Texts() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.texts)
}

// of is the name of the script that a command runs, empty for other commands and
// for scripts whose text was never seen.
func (s *Scripts) of(verb string, command *frame) string {
	switch verb {
	case "EVAL":
		return s.learn(command.bulk(1))
	case "EVALSHA":
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.names[strings.ToLower(command.bulk(1))]
	default:
		return ""
	}
}

// learn takes a name from the first line of a text: "-- admit creates ...".
func (s *Scripts) learn(text string) string {
	rest, named := strings.CutPrefix(text, "-- ")
	if !named {
		return ""
	}
	name, _, _ := strings.Cut(rest, " ")
	sum := sha1.Sum([]byte(text))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names[hex.EncodeToString(sum[:])], s.texts[name] = name, text
	return name
}
