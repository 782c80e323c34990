package logsearch

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"slices"
	"strings"
	"time"
)

// place is where a search goes on: a source of the plan, and a byte in it at
// which a record begins.
type place struct {
	source int
	offset int64
	guard  guard
}

// cursorVersion is the first byte of every cursor.
const cursorVersion = 1

// maxCursorText bounds what is decoded; real ones are below 50 bytes.
const maxCursorText = 128

// cursor writes a place as an opaque word that only the same search accepts.
func (p plan) cursor(at place) string {
	digest := p.digest()
	word := append([]byte{cursorVersion}, digest[:]...)
	word = binary.AppendUvarint(word, uint64(at.source))
	word = binary.AppendUvarint(word, uint64(at.offset))
	return base64.RawURLEncoding.EncodeToString(append(word, at.guard[:]...))
}

// parseCursor reads what [plan.cursor] wrote for the same query. A cursor is not
// signed: whoever makes one up decides where the search begins, and the result
// says that it began there.
func parseCursor(text string, p plan) (place, error) {
	malformed := &QueryError{"cursor", "is none of this tool"}
	if len(text) > maxCursorText {
		return place{}, malformed
	}
	word, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if digest := p.digest(); err != nil || len(word) < 1+len(digest) || word[0] != cursorVersion {
		return place{}, malformed
	} else if [8]byte(word[1:]) != digest {
		return place{}, &QueryError{"cursor", "belongs to another search; repeat all other arguments as they were"}
	}
	word = word[1+8:]
	source, n := binary.Uvarint(word)
	if n <= 0 || source >= uint64(len(p.sources)) {
		return place{}, malformed
	}
	word = word[n:]
	offset, n := binary.Uvarint(word)
	if n <= 0 || offset > 1<<62 || len(word) != n+len(guard{}) {
		return place{}, malformed
	}
	at := place{source: int(source), offset: int64(offset), guard: guard(word[n:])}
	if p.cursor(at) != text {
		return place{}, malformed // a number in a longer form than needed
	}
	return at, nil
}

// digest covers all that decides which records a search finds, but not how many
// of them a page has.
func (p plan) digest() [8]byte {
	levels := make([]string, len(p.levels))
	for i, level := range p.levels {
		levels[i] = strings.ToUpper(level)
	}
	slices.Sort(levels)
	fields := []string{p.text, boolWord(p.fold), p.from.Format(time.RFC3339Nano), p.to.Format(time.RFC3339Nano), strings.Join(slices.Compact(levels), "\n")}
	fields = append(fields, sourceNames(p.sources)...)
	hash := sha256.New()
	for _, field := range fields {
		hash.Write(binary.AppendUvarint(nil, uint64(len(field))))
		hash.Write([]byte(field))
	}
	return [8]byte(hash.Sum(nil))
}

func boolWord(b bool) string {
	if b {
		return "fold"
	}
	return ""
}
