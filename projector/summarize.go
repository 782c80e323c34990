package projector

import (
	"bytes"
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolharness/harness/evidence"
)

// SummaryFunc makes a short text of a long result. It gets copies of raw and
// request that nobody else reads, must leave with its context, and should stay
// below in.Limits.AgentBytes. Raw is what the tool returned: a function that
// hands it on to somebody, such as another model, redacts it first. It is called
// by many calls at once.
type SummaryFunc func(ctx context.Context, in Input) (string, error)

// Summarize is a projector that shows a summary in place of long results.
//
//	inner                                   what the model gets
//	an error                                the error
//	an absence                              the inner result
//	found, raw below threshold bytes        the inner result
//	found, raw of at least threshold bytes  {"summary":"…","summary_of_bytes":48213}
//
// What was found is for inner to say: status, coverage and facts are always its
// own, checked before anything is summarized. A summary can neither make evidence
// nor take any away; it is one string that the model sees to be a summary.
//
// There is no way back to raw or to the inner result: an empty summary, one that
// is no UTF-8, one that does not fit the limit with its frame, and an error or a
// panic of fn fail the projection, and the raw bytes stay with the host. Time is
// limited by the driver, which does not wait for a function that ignores its
// context. A nil fn or inner is an error of each projection.
func Summarize(fn SummaryFunc, threshold int, inner Projector) Projector {
	return summarizer{fn: fn, threshold: threshold, inner: inner}
}

type summarizer struct {
	fn        SummaryFunc
	threshold int
	inner     Projector
}

// Project implements Projector.
func (s summarizer) Project(ctx context.Context, in Input) (Projection, error) {
	if s.fn == nil || s.inner == nil {
		return Projection{}, &Error{Kind: Invalid, Field: "summarize"}
	}
	in.Limits = in.Limits.withDefaults()
	p, err := s.inner.Project(ctx, in)
	if err != nil || p.Status != evidence.Found || len(in.Raw) < s.threshold {
		return p, err
	}
	if err := p.Validate(in.Limits); err != nil {
		return Projection{}, err
	}
	p.Result, err = s.summary(ctx, in)
	if err != nil {
		return Projection{}, err
	}
	return p, nil
}

// shownSummary says what it is, so that nobody takes it for the result.
type shownSummary struct {
	Summary string `json:"summary"`
	OfBytes int    `json:"summary_of_bytes"`
}

func (s summarizer) summary(ctx context.Context, in Input) ([]byte, error) {
	size := len(in.Raw)
	in.Raw, in.Request = bytes.Clone(in.Raw), bytes.Clone(in.Request)
	text, err := s.fn(ctx, in)
	switch {
	case err != nil:
		return nil, err
	case ctx.Err() != nil: // too late is no answer, even where there is one
		return nil, ctx.Err()
	case !utf8.ValidString(text) || strings.TrimFunc(text, blank) == "":
		return nil, &Error{Kind: Invalid, Field: FieldResult}
	case len(text) > in.Limits.AgentBytes: // before it is encoded
		return nil, tooLarge(FieldResult, len(text), in.Limits.AgentBytes)
	}
	result, err := encode(shownSummary{Summary: text, OfBytes: size})
	if err == nil && len(result) > in.Limits.AgentBytes {
		err = tooLarge(FieldResult, len(result), in.Limits.AgentBytes)
	}
	return result, err
}

// blank characters show nothing.
func blank(r rune) bool { return hidden(r) || unicode.IsSpace(r) }
