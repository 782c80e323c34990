package text

import (
	"slices"
	"strings"

	"github.com/toolharness/harness/redact"
)

// version is part of every fingerprint. It changes when a rule does.
const version = "text/1"

// Rules are the rules of this package. They hold no state and are safe for
// concurrent use.
type Rules struct {
	keys redact.Keys
	name string
}

// New returns the rules. Give it the same keys as the Redactor: assignments and
// headers in text are judged by the same names as members in JSON.
func New(keys redact.Keys) *Rules {
	own := redact.Keys{Exact: slices.Clone(keys.Exact), Endings: slices.Clone(keys.Endings)}
	slices.Sort(own.Exact)
	slices.Sort(own.Endings)
	return &Rules{keys: own, name: strings.Join(slices.Concat([]string{version, "exact"}, own.Exact, []string{"endings"}, own.Endings), "\x00")}
}

// Name has the version of the rules and a host's own keys.
func (r *Rules) Name() string { return r.name }

// Find returns what the rules find, rule by rule; spans may overlap. Time grows
// with the length of the text alone: every pattern is RE2, every look ahead is
// bounded by a line or by a fixed number of bytes.
func (r *Rules) Find(text string) []redact.Span {
	out := keyBlocks(text)
	out = append(out, userinfo(text)...)
	out = append(out, schemes(text)...)
	out = append(out, vendors(text)...)
	return append(out, r.assignments(text)...)
}
