package text

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/projector/internal/bounds"
)

// quotedText is how much of a text a fact quotes, in bytes with its quotes.
const quotedText = 200

// facts say what was returned: how many items, which plain members, or how the
// text begins.
func (r *result) facts(tool string, room int) ([]evidence.Fact, error) {
	subject := evidence.Subject{Kind: "result", ID: "of tool " + tool}
	f, err := bounds.NewFacts(subject, room)
	if err != nil {
		return nil, err
	}
	if r.counted {
		f.Add(subject, "item_count", strconv.FormatInt(r.count, 10))
	}
	switch {
	case r.value == nil:
		f.Add(subject, "text", quoted(r.plain))
	case r.kind == '{':
		for _, m := range r.scalars {
			f.Add(subject, predicate(m.name), literal(m.value))
		}
		f.Omit(r.moreScalars)
	case r.kind != '[':
		f.Add(subject, "value", literal(r.value))
	}
	return f.List(), nil
}

// predicate is a member's name, which may have nothing to show.
func predicate(name string) string {
	if bounds.Blank(name) {
		return "member without a name"
	}
	return name
}

// literal is a plain value as it was written; text is quoted.
func literal(value jsontext.Value) string {
	if value.Kind() == '"' {
		return quoted(unquoted(value))
	}
	return bounds.Clip(string(value), evidence.MaxFactValue)
}

// quoted is the beginning of a text, with its size where it was cut.
func quoted(text string) string {
	quotation := bounds.Quote(text, quotedText)
	if strings.HasSuffix(quotation, evidence.ClipMark+`"`) {
		return fmt.Sprintf("%s of %d bytes", quotation, len(text))
	}
	return quotation
}
