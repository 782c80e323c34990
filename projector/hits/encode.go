package hits

import (
	"fmt"
	"io"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/projector/internal/bounds"
)

// Format is the first member of every document; the projector refuses others.
const Format = "hits/1"

// ByMaxBytes is the word of cut_by: the document would have passed its size.
const ByMaxBytes = "max_bytes"

// Words of status. An executor that failed returns its error and writes nothing;
// the third is for answers of services that are passed on.
const (
	StatusSuccess   = "success"
	StatusNoResults = "no_results"
	StatusError     = "error"
)

// Encoder writes what one search returned. Its fields say what the search really
// did, after defaults were applied. The model sees them in a coverage, so nothing
// secret belongs here. It is a plain value, for one document or for many.
type Encoder struct {
	Query       string
	Rewrites    []string // further queries that were searched for
	Collections []string // collections, indexes, namespaces that were searched; at least one
	TopK        int      // hits asked for; at least 1
	Filters     []string // conditions on documents, as applied: "lang = en"

	Threshold      Threshold
	BelowThreshold int // hits that were found, were below it and are not passed on

	Legs         []Leg // at least one that ran
	IndexVersion string
	Unreached    []evidence.Gap // what no search of this tool can reach: not indexed, not permitted
	MaxBytes     int64          // of the whole document; zero: no cap (256 KiB is usual)
}

type wireHead struct {
	Format         string         `json:"format"`
	Status         string         `json:"status"`
	Query          string         `json:"query"`
	Collections    []string       `json:"collections"`
	TopK           int            `json:"top_k"`
	Legs           []wireLeg      `json:"legs"`
	Rewrites       []string       `json:"rewrites,omitempty"`
	Filters        []string       `json:"filters,omitempty"`
	IndexVersion   string         `json:"index_version,omitempty"`
	Threshold      *wireThreshold `json:"threshold,omitzero"`
	BelowThreshold int            `json:"below_threshold,omitzero"`
	Unreached      []evidence.Gap `json:"cannot_cover,omitempty"`
}

// Encode writes one document in one write, or nothing and an [*EncodeError] that
// names the field. Bytes that are no UTF-8 become U+FFFD. Hits that pass MaxBytes
// are left out from the first that does, and the document says so.
func (e Encoder) Encode(w io.Writer, hits []Hit) error {
	if w == nil {
		return &EncodeError{Field: "writer", Reason: "nil"}
	}
	out, err := e.head(len(hits))
	if err != nil {
		return err
	}
	if e.MaxBytes > 0 && int64(len(out)+maxTail) > e.MaxBytes {
		return &EncodeError{Field: "max_bytes", Reason: "less than what stands before the hits", Size: int64(len(out)), Limit: e.MaxBytes}
	}
	written, cut := 0, ""
	for i, h := range hits {
		encoded, err := e.hit(h, i+1)
		if err != nil {
			return err
		}
		if e.MaxBytes > 0 && int64(len(out)+len(",")+len(encoded)+maxTail) > e.MaxBytes {
			cut = `,"cut_by":"` + ByMaxBytes + `"`
			break
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, encoded...)
		written++
	}
	out = strconv.AppendInt(append(append(out, ']'), cut+`,"returned":`...), int64(written), 10)
	return write(w, append(out, '}'))
}

func write(w io.Writer, document []byte) error {
	n, err := w.Write(document)
	if err == nil && n < len(document) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return &EncodeError{Field: "writer", Reason: "failed, or its limit was reached", cause: err}
	}
	return nil
}

// maxTail is the room that every document keeps for its end.
const maxTail = len(`],"cut_by":"max_bytes","returned":9223372036854775807}`)

func (e Encoder) head(hits int) ([]byte, error) {
	if err := e.check(); err != nil {
		return nil, err
	}
	wire := wireHead{
		Format: Format, Status: StatusSuccess, Query: valid(e.Query), Collections: validAll(e.Collections), TopK: e.TopK, Rewrites: validAll(e.Rewrites),
		Filters: validAll(e.Filters), IndexVersion: valid(e.IndexVersion), BelowThreshold: e.BelowThreshold,
	}
	if hits == 0 {
		wire.Status = StatusNoResults
	}
	for _, l := range e.Legs {
		wire.Legs = append(wire.Legs, wireLeg{Name: valid(l.Name), Hits: int64(l.Hits), Failed: valid(l.Failed)})
	}
	for _, gap := range e.Unreached {
		wire.Unreached = append(wire.Unreached, evidence.Gap{What: valid(gap.What), Reason: valid(gap.Reason)})
	}
	if e.Threshold != (Threshold{}) {
		wire.Threshold = &wireThreshold{Score: jsontext.Value(e.Threshold.Score), Kind: e.Threshold.Kind}
	}
	head, err := json.Marshal(wire, json.Deterministic(true))
	if err != nil {
		return nil, &EncodeError{Field: "encoder", Reason: "cannot be written as JSON", cause: err}
	}
	return append(head[:len(head)-len("}")], `,"hits":[`...), nil
}

// check refuses what the projector would refuse, before anything is written.
func (e Encoder) check() error {
	for _, c := range []struct {
		bad           bool
		field, reason string
	}{
		{len(e.Collections) == 0 || bounds.AnyBlank(e.Collections), "collections", "none, or one without a name"},
		{e.TopK < 1, "top_k", "less than 1"},
		{bounds.AnyBlank(e.Rewrites), "rewrites", "has an empty entry"},
		{bounds.AnyBlank(e.Filters), "filters", "has an empty entry"},
		{e.Threshold != (Threshold{}) && !isNumber(jsontext.Value(e.Threshold.Score)), "threshold", "its score is no JSON number"},
		{e.Threshold != (Threshold{}) && !e.Threshold.Kind.known(), "threshold", "not a known kind of score"},
		{e.BelowThreshold < 0, "below_threshold", "negative"},
		{e.BelowThreshold > 0 && e.Threshold == (Threshold{}), "below_threshold", "without a threshold"},
		{bounds.GapsBlank(e.Unreached), "cannot_cover", "has an entry without a name or a reason"},
		{e.MaxBytes < 0, "max_bytes", "negative"},
	} {
		if c.bad {
			return &EncodeError{Field: c.field, Reason: c.reason}
		}
	}
	return e.checkLegs()
}

func (e Encoder) checkLegs() error {
	ran := false
	for i, l := range e.Legs {
		if bounds.Blank(l.Name) || l.Hits < 0 {
			return &EncodeError{Field: "legs", Reason: "has one without a name or with a negative count"}
		}
		for _, other := range e.Legs[:i] {
			if other.Name == l.Name {
				return &EncodeError{Field: "legs", Reason: "has a name twice"}
			}
		}
		ran = ran || l.Failed == ""
	}
	if !ran {
		return &EncodeError{Field: "legs", Reason: "none ran; that is a failure and no result"}
	}
	return nil
}

// hit encodes one hit. A leg that it names must be one that ran.
func (e Encoder) hit(h Hit, number int) ([]byte, error) {
	wire := wireHit{
		ID: valid(h.ID), Document: valid(h.Document), Title: valid(h.Title), Position: int64(h.Position), Kind: h.Kind,
		MatchedBy: validAll(h.MatchedBy), Fallback: valid(h.Fallback), Snippet: valid(h.Snippet), Content: valid(h.Content),
	}
	ran := map[string]bool{}
	for _, l := range e.Legs {
		if l.Failed == "" {
			ran[valid(l.Name)] = true
		}
	}
	if len(wire.MatchedBy) == 0 && wire.Fallback == "" && len(ran) == 1 {
		for name := range ran {
			wire.MatchedBy = []string{name}
		}
	}
	for _, name := range wire.MatchedBy {
		if !ran[name] {
			return nil, &EncodeError{Field: "matched_by", Hit: number, Reason: "names a leg that did not run"}
		}
	}
	switch {
	case bounds.Blank(h.Document):
		return nil, &EncodeError{Field: "document", Hit: number, Reason: "empty"}
	case h.Position < 0:
		return nil, &EncodeError{Field: "position", Hit: number, Reason: "negative"}
	case h.Score == "" && h.Kind != "" || h.Score != "" && !h.Kind.known():
		return nil, &EncodeError{Field: "score_kind", Hit: number, Reason: "not a known kind of score beside a score"}
	case h.Score != "":
		wire.Score = jsontext.Value(h.Score)
		if !isNumber(wire.Score) {
			return nil, &EncodeError{Field: "score", Hit: number, Reason: "no JSON number"}
		}
	}
	encoded, err := json.Marshal(wire, json.Deterministic(true))
	if err != nil {
		return nil, &EncodeError{Field: "hit", Hit: number, Reason: "cannot be written as JSON", cause: err}
	}
	return encoded, nil
}

// EncodeError is every failure of an encoder. Its text never has the writer's
// text or a hit; errors.Is and errors.As reach the cause.
type EncodeError struct {
	Field  string // of the encoder or of a hit, in the spelling of the document; or "writer"
	Hit    int    // which hit, from 1; zero: none
	Reason string
	Size   int64 // bytes, where the reason is a size
	Limit  int64

	cause error
}

// Error names field, hit and rule, sizes in bytes.
func (e *EncodeError) Error() string {
	text := "hits: encode " + e.Field
	if e.Hit > 0 {
		text += fmt.Sprintf(" of hit %d", e.Hit)
	}
	text += ": " + e.Reason
	if e.Limit > 0 {
		text += fmt.Sprintf(" (%d bytes, limit %d)", e.Size, e.Limit)
	}
	return text
}

// GoString keeps %#v from walking into the cause.
func (e *EncodeError) GoString() string { return "&" + e.Error() }

// Unwrap gives the writer's error, or nil.
func (e *EncodeError) Unwrap() error { return e.cause }
