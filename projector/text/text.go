package text

import (
	"bytes"
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/projector"
)

// DefaultDepth is how deep shown JSON is nested at most.
const DefaultDepth = 12

// Options of the projector. The zero value is fit for use.
type Options struct {
	// Items and Count name, in an object, the array that is counted and the
	// member that holds a count: a member of the object, or a JSON Pointer
	// (RFC 6901) through objects, "/data/hits". With either, only arrays and
	// objects of this shape are accepted. With both, they must agree about zero.
	Items, Count string

	// Coverage says where the tool has looked, resolved, and whether to its end.
	// It is what an absence needs; a function that returns the zero Coverage has
	// none for this call. It is called once a projection, by many at once.
	Coverage func(projector.Input) evidence.Coverage

	Errors        []ErrorRule // what makes an object an error; nil: DefaultErrors; empty: nothing does
	ErrorPrefixes []string    // beginnings of plain text that is an error: "Error:"; white space before it is ignored
	Depth         int         // of shown JSON at most; zero and negative: 12
}

// ErrorRule says which member makes a JSON object the tool's own error.
type ErrorRule struct {
	Member string // of the object itself, not of one inside it
	// Values are the values that do, compared without case, a string without its
	// quotes. Empty: any but null, false, 0 and what is empty.
	Values []string
}

// DefaultErrors are the rules that are used where none are given.
func DefaultErrors() []ErrorRule {
	return []ErrorRule{
		{Member: "error"}, {Member: "errors"},
		{Member: "status", Values: []string{"error", "failed", "failure"}},
		{Member: "success", Values: []string{"false"}}, {Member: "ok", Values: []string{"false"}},
		{Member: "isError", Values: []string{"true"}}, {Member: "is_error", Values: []string{"true"}},
	}
}

// New is the projector. It keeps no state and is safe for concurrent use.
func New(o Options) projector.Projector {
	if o.Depth <= 0 {
		o.Depth = DefaultDepth
	}
	if o.Errors == nil {
		o.Errors = DefaultErrors()
	}
	return anything{o}
}

type anything struct{ options Options }

// ResultError says why raw bytes cannot be judged. It never repeats them.
type ResultError struct{ Reason string }

// Error is the rule that the result breaks.
func (e *ResultError) Error() string { return "text: result: " + e.Reason }

// Project implements projector.Projector.
func (p anything) Project(ctx context.Context, in projector.Input) (projector.Projection, error) {
	r, err := p.judge(ctx, in.Raw)
	if err != nil {
		return projector.Projection{}, err
	}
	out := projector.Projection{Status: evidence.Found}
	if p.options.Coverage != nil {
		out.Coverage = p.options.Coverage(in)
	}
	if r.counted && r.count == 0 {
		out.Status = evidence.None
		if out.Coverage.ValidateAbsence() != nil {
			return projector.Projection{}, &ResultError{"nothing was counted, and no coverage says where was looked to the end"}
		}
		out.Result, err = p.absence(ctx, r, out.Coverage, in.Limits.AgentBytes)
		return out, err
	}
	room, err := roomBeside(out.Coverage, in.Limits.FactsBytes)
	if err != nil {
		return projector.Projection{}, err
	}
	if out.Facts, err = r.facts(in.Tool, room); err != nil {
		return projector.Projection{}, err
	}
	out.Result, err = p.show(ctx, r, in.Limits.AgentBytes)
	return out, err
}

func (p anything) show(ctx context.Context, r *result, maxBytes int) ([]byte, error) {
	if r.value == nil {
		return cutText(r.plain, maxBytes)
	}
	return shape(ctx, r, maxBytes, p.options.Depth)
}

// absence is an empty result with a sentence that says where was looked.
func (p anything) absence(ctx context.Context, r *result, c evidence.Coverage, maxBytes int) ([]byte, error) {
	head := appendString([]byte(`{"nothing_found":`), c.Sentence(evidence.MaxFactValue))
	head = append(head, `,"result":`...)
	shown, err := shape(ctx, r, maxBytes-len(head)-len("}"), p.options.Depth)
	if err != nil {
		return nil, err
	}
	return append(append(head, shown...), '}'), nil
}

// roomBeside is what a coverage leaves for facts. The host gave the coverage, so
// it is not made shorter.
func roomBeside(c evidence.Coverage, factsBytes int) (int, error) {
	encoded, err := evidence.EncodeCoverage(c)
	return factsBytes - len(encoded), err
}

// result is what was found out about the raw bytes.
type result struct {
	value   jsontext.Value // the JSON; nil: plain
	plain   string         // the text, without what must not be shown
	kind    jsontext.Kind
	count   int64 // elements of a top array, or what the options name
	counted bool
	scalars []member // the first members of an object that are plain values
	members int64    // all members of an object, or elements of an array

	moreScalars int // plain members after the first
}

type member struct {
	name  string
	value jsontext.Value
}

// trimmed is raw as valid UTF-8 without byte order mark and JSON white space
// around it.
func trimmed(raw []byte) []byte {
	raw = bytes.TrimPrefix(bytes.ToValidUTF8(raw, []byte("\uFFFD")), []byte("\uFEFF"))
	return bytes.Trim(raw, " \t\r\n")
}
