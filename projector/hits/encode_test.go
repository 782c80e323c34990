package hits_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/projector/hits"
)

func TestEncodeForm(t *testing.T) {
	t.Parallel()
	e := search()
	e.Rewrites, e.Filters, e.IndexVersion = []string{"年费"}, []string{"lang = en"}, "v7"
	e.Threshold, e.BelowThreshold = hits.Threshold{Score: "0.550", Kind: hits.Similarity}, 3
	e.Unreached = []evidence.Gap{{What: "drafts", Reason: "not permitted"}}
	e.Legs[1].Failed = "timeout"
	h := hits.Hit{ID: "c7", Document: "d1", Title: "Fees \"x\"", Position: 3, Score: "0.830", Kind: hits.Fused, Snippet: "s\n\xff", Content: "c"}
	got := encoded(t, e, h, hits.Hit{Document: "d2", Fallback: "latest document"})
	want := `{"format":"hits/1","status":"success","query":"annual fee","collections":["bank-kb"],"top_k":6,` +
		`"legs":[{"name":"dense","hits":20},{"name":"bm25","hits":4,"failed":"timeout"}],` +
		`"rewrites":["年费"],"filters":["lang = en"],"index_version":"v7","threshold":{"score":0.550,"score_kind":"similarity"},` +
		`"below_threshold":3,"cannot_cover":[{"what":"drafts","reason":"not permitted"}],` +
		`"hits":[{"id":"c7","document":"d1","title":"Fees \"x\"","position":3,"score":0.830,"score_kind":"fused","matched_by":["dense"],` +
		`"snippet":"s\n` + "\uFFFD" + `","content":"c"},{"document":"d2","fallback":"latest document"}],"returned":2}`
	if got != want {
		t.Errorf("document\n got %s\nwant %s", got, want)
	}
}

func TestScore(t *testing.T) {
	t.Parallel()
	for f, want := range map[float64]json.Number{
		0: "0", 0.1: "0.1", 1.0 / 3: "0.3333333333333333", 1e21: "1e+21", -2.5: "-2.5", math.Inf(1): "", math.Inf(-1): "", math.NaN(): "",
	} {
		if got := hits.Score(f); got != want {
			t.Errorf("Score(%v) = %q, want %q", f, got, want)
		}
	}
}

// A leg that ran alone found every hit that is not marked; with several nobody
// knows.
func TestEncodeFillsInALoneLeg(t *testing.T) {
	t.Parallel()
	h := hits.Hit{Document: "d"}
	if got := encoded(t, search(), h); strings.Contains(got, "matched_by") {
		t.Errorf("with two legs a hit was given one: %s", got)
	}
	e := search()
	e.Legs = e.Legs[:1]
	if got := encoded(t, e, h); !strings.Contains(got, `"matched_by":["dense"]`) {
		t.Errorf("a lone leg is not filled in: %s", got)
	}
	h.Fallback = "latest document"
	if got := encoded(t, e, h); strings.Contains(got, "matched_by") {
		t.Errorf("a fallback was given a leg: %s", got)
	}
}

func TestEncodeRefusesBadFields(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*hits.Encoder, *hits.Hit)
		field  string
	}{
		"no_collection":       {func(e *hits.Encoder, _ *hits.Hit) { e.Collections = nil }, "collections"},
		"blank_collection":    {func(e *hits.Encoder, _ *hits.Hit) { e.Collections = []string{"\t"} }, "collections"},
		"top_k":               {func(e *hits.Encoder, _ *hits.Hit) { e.TopK = 0 }, "top_k"},
		"blank_rewrite":       {func(e *hits.Encoder, _ *hits.Hit) { e.Rewrites = []string{""} }, "rewrites"},
		"blank_filter":        {func(e *hits.Encoder, _ *hits.Hit) { e.Filters = []string{""} }, "filters"},
		"threshold_number":    {func(e *hits.Encoder, _ *hits.Hit) { e.Threshold = hits.Threshold{Score: "x", Kind: hits.BM25} }, "threshold"},
		"threshold_kind":      {func(e *hits.Encoder, _ *hits.Hit) { e.Threshold = hits.Threshold{Score: "1"} }, "threshold"},
		"below_negative":      {func(e *hits.Encoder, _ *hits.Hit) { e.BelowThreshold = -1 }, "below_threshold"},
		"below_nothing":       {func(e *hits.Encoder, _ *hits.Hit) { e.BelowThreshold = 1 }, "below_threshold"},
		"gap":                 {func(e *hits.Encoder, _ *hits.Hit) { e.Unreached = []evidence.Gap{{Reason: "x"}} }, "cannot_cover"},
		"max_negative":        {func(e *hits.Encoder, _ *hits.Hit) { e.MaxBytes = -1 }, "max_bytes"},
		"max_for_no_hit":      {func(e *hits.Encoder, _ *hits.Hit) { e.MaxBytes = 99 }, "max_bytes"},
		"no_leg":              {func(e *hits.Encoder, _ *hits.Hit) { e.Legs = nil }, "legs"},
		"no_leg_ran":          {func(e *hits.Encoder, _ *hits.Hit) { e.Legs = []hits.Leg{{Name: "a", Failed: "timeout"}} }, "legs"},
		"leg_without_name":    {func(e *hits.Encoder, _ *hits.Hit) { e.Legs[0].Name = " " }, "legs"},
		"leg_twice":           {func(e *hits.Encoder, _ *hits.Hit) { e.Legs[0].Name = "bm25" }, "legs"},
		"leg_negative":        {func(e *hits.Encoder, _ *hits.Hit) { e.Legs[0].Hits = -1 }, "legs"},
		"hit_document":        {func(_ *hits.Encoder, h *hits.Hit) { h.Document = "" }, "document"},
		"hit_position":        {func(_ *hits.Encoder, h *hits.Hit) { h.Position = -1 }, "position"},
		"hit_score":           {func(_ *hits.Encoder, h *hits.Hit) { h.Score = "NaN" }, "score"},
		"hit_score_two":       {func(_ *hits.Encoder, h *hits.Hit) { h.Score = "1 2" }, "score"},
		"hit_kind":            {func(_ *hits.Encoder, h *hits.Hit) { h.Kind = "" }, "score_kind"},
		"hit_kind_unknown":    {func(_ *hits.Encoder, h *hits.Hit) { h.Kind = "cosine" }, "score_kind"},
		"hit_kind_alone":      {func(_ *hits.Encoder, h *hits.Hit) { h.Score = "" }, "score_kind"},
		"hit_by_unknown_leg":  {func(_ *hits.Encoder, h *hits.Hit) { h.MatchedBy = []string{"x"} }, "matched_by"},
		"hit_by_a_failed_leg": {func(e *hits.Encoder, _ *hits.Hit) { e.Legs[0].Failed = "timeout" }, "matched_by"},
	} {
		t.Run(name, func(t *testing.T) {
			e, h := search(), hit("SECRET", "SECRET", "1")
			c.change(&e, &h)
			var out bytes.Buffer
			err := e.Encode(&out, []hits.Hit{h})
			detail, ok := errors.AsType[*hits.EncodeError](err)
			if !ok || detail.Field != c.field || out.Len() > 0 || strings.Contains(err.Error(), "SECRET") {
				t.Errorf("Encode = %v after %d bytes, want an error about %s and nothing written", err, out.Len(), c.field)
			}
		})
	}
	if err := search().Encode(nil, nil); err == nil {
		t.Error("a nil writer was taken")
	}
}

// Whatever Encode takes is a document that the projector reads.
func TestEncodeCap(t *testing.T) {
	t.Parallel()
	var found []hits.Hit
	for i := range 20 {
		h := hit(fmt.Sprint("c", i), "d", "0.5")
		h.Content = strings.Repeat("漢", 30)
		found = append(found, h)
	}
	e := search()
	e.TopK = 100
	for most := int64(300); most < 5000; most += 61 {
		e.MaxBytes = most
		raw := encoded(t, e, found...)
		var w struct {
			Hits     []any
			Returned int
			CutBy    string `json:"cut_by"`
		}
		if err := json.Unmarshal([]byte(raw), &w); err != nil {
			t.Fatal(err)
		}
		if int64(len(raw)) > most || w.Returned != len(w.Hits) || (w.CutBy == "") != (w.Returned == 20) {
			t.Fatalf("%d bytes, limit %d: %d hits, returned %d, cut by %q", len(raw), most, len(w.Hits), w.Returned, w.CutBy)
		}
		if _, err := project(t, raw, hits.Options{}); (err != nil) != (w.Returned == 0) {
			t.Fatalf("limit %d, %d hits: %v; want an error only where the first was cut", most, w.Returned, err)
		}
	}
}

func TestEncodeWriters(t *testing.T) {
	t.Parallel()
	full := errors.New("SECRET disk")
	err := search().Encode(failing{full}, nil)
	if !errors.Is(err, full) || strings.Contains(fmt.Sprintf("%v %#v", err, err), "SECRET") {
		t.Errorf("Encode = %v, want the writer's error inside", err)
	}
	if err := search().Encode(failing{}, nil); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("Encode = %v, want %v", err, io.ErrShortWrite)
	}
	if got := (&hits.EncodeError{Field: "score", Hit: 3, Reason: "too long", Size: 9, Limit: 8}).Error(); got != "hits: encode score of hit 3: too long (9 bytes, limit 8)" {
		t.Errorf("Error() = %q", got)
	}
}

// failing writes half of what it is given.
type failing struct{ err error }

func (f failing) Write(p []byte) (int, error) { return len(p) / 2, f.err }
