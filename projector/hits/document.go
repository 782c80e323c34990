package hits

import (
	"context"
	"errors"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/projector/internal/bounds"
)

// DocumentError says why raw bytes are not a result that can be judged. It never
// repeats them.
type DocumentError struct {
	Member string // the member of the document at fault; empty for the whole
	Reason string
}

// Error names member and rule; neither is made of the document.
func (e *DocumentError) Error() string {
	return "hits: document: " + (&bounds.Fault{Member: e.Member, Reason: e.Reason}).Error()
}

// documentError gives a fault the type that this package promises.
func documentError(err error) error {
	if fault, ok := errors.AsType[*bounds.Fault](err); ok {
		return &DocumentError{Member: fault.Member, Reason: fault.Reason}
	}
	return err
}

// document is what the projector keeps of a raw document.
type document struct {
	format       string
	status       string
	query        string
	collections  []string
	topK         int64
	legs         []wireLeg
	rewrites     []string
	filters      []string
	indexVersion string
	threshold    *wireThreshold
	unreached    []evidence.Gap
	all          []wireHit
	dropped      int64 // below the threshold, left out by the tool
	cutBy        string
	returned     int64

	// sorted out of all by judge
	kept         []wireHit
	below        int64 // below the threshold, those that the tool left out included
	notRetrieved int64 // not found by any leg
}

// readDocument reads all of raw, strictly.
func readDocument(ctx context.Context, raw []byte) (*document, error) {
	d := &document{}
	met, err := bounds.Object(raw, func(dec *jsontext.Decoder, name string) error { return d.member(ctx, dec, name) })
	if err != nil {
		return nil, documentError(err)
	}
	if err := d.check(met); err != nil {
		return nil, documentError(err)
	}
	return d, documentError(d.judge())
}

func (d *document) member(ctx context.Context, dec *jsontext.Decoder, name string) error {
	switch name {
	case "hits":
		return d.readHits(ctx, dec)
	case "error":
		return &bounds.Fault{Member: name, Reason: "the tool reported an error; that is no absence"}
	case "legs":
		return bounds.Decode(dec, name, &d.legs, "a list of legs")
	case "threshold":
		return bounds.Decode(dec, name, &d.threshold, "a threshold")
	case "cannot_cover":
		return bounds.Decode(dec, name, &d.unreached, "a list of gaps")
	}
	if text, ok := map[string]*string{
		"format": &d.format, "status": &d.status, "query": &d.query, "index_version": &d.indexVersion, "cut_by": &d.cutBy,
	}[name]; ok {
		return bounds.Text(dec, name, text)
	}
	if list, ok := map[string]*[]string{"collections": &d.collections, "rewrites": &d.rewrites, "filters": &d.filters}[name]; ok {
		return bounds.Decode(dec, name, list, "a list of strings")
	}
	if count, ok := map[string]*int64{"top_k": &d.topK, "below_threshold": &d.dropped, "returned": &d.returned}[name]; ok {
		return bounds.Count(dec, name, count)
	}
	return bounds.Skip(dec)
}

func (d *document) readHits(ctx context.Context, dec *jsontext.Decoder) error {
	return bounds.Array(dec, "hits", func(i int64) error {
		if i%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		var h wireHit
		if err := bounds.Decode(dec, "hits", &h, "a list of hits"); err != nil {
			return err
		}
		if h.Score.Kind() == 'n' {
			h.Score = nil
		}
		d.all = append(d.all, h)
		return nil
	})
}

// check compares the parts of a whole document with each other.
func (d *document) check(met map[string]bool) error {
	if strings.EqualFold(d.status, StatusError) { // told first, since error answers lack the rest
		return &bounds.Fault{Member: "status", Reason: "the tool reported an error; that is no absence"}
	}
	for _, name := range []string{"format", "status", "query", "collections", "top_k", "legs", "hits", "returned"} {
		if !met[name] {
			return bounds.Missing(name)
		}
	}
	for _, c := range []struct {
		bad            bool
		member, reason string
	}{
		{d.format != Format, "format", "not " + Format},
		{d.status != StatusSuccess && d.status != StatusNoResults, "status", "not a known status"},
		{len(d.collections) == 0 || bounds.AnyBlank(d.collections), "collections", "none, or one without a name; nobody knows where was looked"},
		{d.topK < 1, "top_k", "less than 1"},
		{bounds.AnyBlank(d.rewrites), "rewrites", "has an empty entry"},
		{bounds.AnyBlank(d.filters), "filters", "has an empty entry"},
		{bounds.GapsBlank(d.unreached), "cannot_cover", "has an entry without a name or a reason"},
		{d.threshold != nil && (!isNumber(d.threshold.Score) || !d.threshold.Kind.known()), "threshold", "not a number with a known kind"},
		{d.dropped > 0 && d.threshold == nil, "below_threshold", "without a threshold"},
		{d.cutBy != "" && d.cutBy != ByMaxBytes, "cut_by", "not a known cap"},
		{d.returned != int64(len(d.all)), "returned", "not the number of hits"},
	} {
		if c.bad {
			return &bounds.Fault{Member: c.member, Reason: c.reason}
		}
	}
	return d.checkLegs()
}

func (d *document) checkLegs() error {
	ran, seen := 0, map[string]bool{}
	for _, l := range d.legs {
		if bounds.Blank(l.Name) || l.Hits < 0 || seen[l.Name] {
			return &bounds.Fault{Member: "legs", Reason: "has one without a name, twice, or with a negative count"}
		}
		seen[l.Name] = true
		if l.ran() {
			ran++
		}
	}
	if ran == 0 {
		return &bounds.Fault{Member: "legs", Reason: "none ran; nothing was searched"}
	}
	return nil
}

// judge sorts the hits and refuses a result without any that proves no absence.
func (d *document) judge() error {
	ran := map[string]bool{}
	for _, l := range d.legs {
		ran[l.Name] = l.ran()
	}
	d.below = d.dropped
	for _, h := range d.all {
		if err := h.check(ran); err != nil {
			return err
		}
		switch {
		case !bounds.Blank(h.Fallback) || len(h.MatchedBy) == 0:
			d.notRetrieved++
		case d.threshold != nil && h.Kind == d.threshold.Kind && h.Kind.below(h.Score, d.threshold.Score):
			d.below++
		default:
			d.kept = append(d.kept, h)
		}
	}
	switch {
	case d.status == StatusNoResults && len(d.kept) > 0:
		return &bounds.Fault{Member: "status", Reason: "no results beside hits"}
	case len(d.kept) == 0 && len(d.failed()) > 0:
		return &bounds.Fault{Member: "legs", Reason: "one failed and the others found nothing; that is no absence"}
	case len(d.kept) == 0 && d.cutBy != "":
		return &bounds.Fault{Member: "cut_by", Reason: "cut before the first hit; that is no absence"}
	}
	return nil
}

func (h wireHit) check(ran map[string]bool) error {
	for _, c := range []struct {
		bad    bool
		reason string
	}{
		{bounds.Blank(h.Document), "one names no document"},
		{h.Position < 0, "a position is negative"},
		{len(h.Score) > 0 && !isNumber(h.Score), "a score is no number"},
		{len(h.Score) > 0 && !h.Kind.known(), "a score has no known kind"},
		{len(h.Score) == 0 && h.Kind != "", "a kind of score stands without a score"},
	} {
		if c.bad {
			return &bounds.Fault{Member: "hits", Reason: c.reason}
		}
	}
	for _, leg := range h.MatchedBy {
		if !ran[leg] {
			return &bounds.Fault{Member: "hits", Reason: "one was matched by a leg that did not run"}
		}
	}
	return nil
}

// failed lists the legs that gave nothing, with the reason.
func (d *document) failed() (out []string) {
	for _, l := range d.legs {
		if !l.ran() {
			out = append(out, l.Name+": "+l.Failed)
		}
	}
	return out
}

// full: as many hits as were asked for say nothing of the next one. Once hits
// below the threshold came back, what lies behind them is below it too.
func (d *document) full() bool { return int64(len(d.kept)) >= d.topK }

// complete reports whether these are all hits of the search.
func (d *document) complete() bool { return !d.full() && d.cutBy == "" && len(d.failed()) == 0 }

// accuracy says how the number of hits is to be read.
func (d *document) accuracy() string {
	if d.complete() {
		return "exact"
	}
	return "at least"
}
