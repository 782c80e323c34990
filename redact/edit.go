package redact

import (
	"cmp"
	"slices"
	"strings"
)

// edit replaces text[start:end]. Everything outside edits is kept byte for byte,
// which is how numbers, white space, order and escapes survive.
type edit struct {
	start, end int
	with       string
}

// merged sorts edits and joins those that overlap: an edit that covers others
// stands for all of them, and two that only cross can only be findings in the
// same text, which become one. Edits that would change nothing are left out.
func merged(text []byte, edits []edit) []edit {
	slices.SortStableFunc(edits, func(a, b edit) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end))
	})
	out := edits[:0]
	for _, e := range edits {
		if n := len(out); n > 0 && e.start < out[n-1].end {
			out[n-1].end = max(out[n-1].end, e.end)
			continue
		}
		out = append(out, e)
	}
	return slices.DeleteFunc(out, func(e edit) bool { return string(text[e.start:e.end]) == e.with })
}

// apply returns a new slice; edits are merged.
func apply(text []byte, edits []edit) []byte {
	size := len(text)
	for _, e := range edits {
		size += len(e.with) - (e.end - e.start)
	}
	out := make([]byte, 0, size)
	from := 0
	for _, e := range edits {
		out = append(out, text[from:e.start]...)
		out = append(out, e.with...)
		from = e.end
	}
	return append(out, text[from:]...)
}

// quoted is s as it stands inside a JSON string literal. Replacements are plain
// ASCII without control characters, so two escapes are enough.
func quoted(s string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s)
}
