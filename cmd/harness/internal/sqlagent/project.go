package sqlagent

import (
	"bytes"
	"errors"
	"unicode"
	"unicode/utf8"

	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/projector"
)

// errUnreadable is for raw bytes that none of these tools could have written whole. The bytes stay out of it.
var errUnreadable = errors.New("sqlagent: the raw result is not one of this tool")

// maxFacts leaves room for the fact that counts the others within what a run's report takes of one call.
const maxFacts = 15

// asText is what a model gets of a text result: the text itself where it fits and cannot act on a screen, else its items
// as a list that says how many were left out.
func asText(in projector.Input, array string, items []string) ([]byte, error) {
	if len(in.Raw) <= in.Limits.AgentBytes && bytes.IndexFunc(in.Raw, acts) < 0 {
		return in.Raw, nil
	}
	list := projector.NewNamedList(array, in.Limits.AgentBytes)
	for _, item := range items {
		list.Add(item)
	}
	return list.JSON(), list.Err()
}

func acts(r rune) bool {
	return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029')
}

// readable refuses what is no text or shows nothing; an empty text is no counted zero.
func readable(raw []byte) error {
	if !utf8.Valid(raw) || len(bytes.TrimSpace(raw)) == 0 {
		return errUnreadable
	}
	return nil
}

// fitting takes facts from the front while they fit the caps; the last fact then counts the others.
func fitting(facts []evidence.Fact, room int) ([]evidence.Fact, error) {
	for keep := min(len(facts), maxFacts); keep >= 0; keep-- {
		taken := append([]evidence.Fact(nil), facts[:keep]...)
		if left := len(facts) - keep; left > 0 {
			taken = append(taken, evidence.NewFact(facts[0].Subject, "facts_omitted", decimal(left)))
		}
		encoded, err := evidence.EncodeFacts(taken)
		if err != nil {
			return nil, err
		}
		if len(encoded) <= room {
			return taken, nil
		}
	}
	return nil, &projector.Error{Kind: projector.TooLarge, Field: projector.FieldFacts, Limit: int64(max(room, 1))}
}
