package demo

import (
	"errors"
	"strings"
	"testing"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
)

// A record is compared part by part, and the first part that differs is named.
func TestCompareRecord(t *testing.T) {
	t.Parallel()
	raw := canonical.NewRaw([]byte("raw"))
	ready := canonical.Record{
		View:    canonical.View{Head: canonical.Head{State: lifecycle.Ready, Identity: inputOf("r", "call_1").Identity}, Agent: canonical.Body("agent")},
		Request: canonical.Body("{}"), Raw: raw,
	}
	failed := canonical.Record{View: canonical.View{Head: canonical.Head{State: lifecycle.Error}}, Request: canonical.Body("{}")}
	wrote := entry{size: raw.Size, sha256: raw.SHA256}
	for name, c := range map[string]struct {
		record    canonical.Record
		change    func(*canonical.Record)
		arguments string
		wrote     entry
		text      string
		failed    bool
		problem   string
	}{
		"ready":                     {ready, nil, "{}", wrote, "agent", false, ""},
		"failed":                    {failed, nil, "{}", entry{}, "{error}", true, ""},
		"other arguments":           {ready, nil, "{ }", wrote, "agent", false, "request"},
		"raw of another size":       {ready, nil, "{}", entry{size: 4, sha256: raw.SHA256}, "agent", false, "raw result"},
		"raw of another digest":     {ready, nil, "{}", entry{size: 3, sha256: "x"}, "agent", false, "raw result"},
		"no raw":                    {ready, func(r *canonical.Record) { r.Raw.Bytes = nil }, "{}", wrote, "agent", false, "raw result"},
		"another text":              {ready, nil, "{}", wrote, "agent ", false, "agent result"},
		"failed though told ready":  {ready, func(r *canonical.Record) { r.State = lifecycle.Error }, "{}", wrote, "agent", false, "state"},
		"ready though told failed":  {failed, func(r *canonical.Record) { r.State = lifecycle.Ready }, "{}", entry{}, "x", true, "state"},
		"raw of a call that failed": {failed, func(r *canonical.Record) { r.Raw = raw }, "{}", wrote, "x", true, "raw result of a failed call"},
	} {
		if c.change != nil {
			c.change(&c.record)
		}
		err := compare(c.record, []byte(c.arguments), c.wrote, c.text, c.failed)
		if (err == nil) != (c.problem == "") || err != nil && !strings.Contains(err.Error(), "the stored "+c.problem+" is another") {
			t.Errorf("%s: got %v, want %q", name, err, c.problem)
		}
	}
}

func TestRefusalIsAsItMust(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		r    Refusal
		want bool
	}{
		{Refusal{Code: "A", Ran: "no", WantCode: "A", WantRan: "no"}, true},
		{Refusal{Code: "A", Ran: "yes", WantCode: "A", WantRan: "no"}, false},
		{Refusal{Code: "B", Ran: "no", WantCode: "A", WantRan: "no"}, false},
		{Refusal{WantCode: "A", WantRan: "no"}, false},
	} {
		if got := c.r.AsItMust(); got != c.want {
			t.Errorf("%+v: got %t, want %t", c.r, got, c.want)
		}
	}
}

func TestFailedChecks(t *testing.T) {
	t.Parallel()
	d := Document{Checks: []Check{{What: "a", OK: true}, {What: "b"}, {What: "c", OK: true}, {What: "d"}}}
	if got := d.Failed(); len(got) != 2 || got[0].What != "b" || got[1].What != "d" {
		t.Errorf("got %+v", got)
	}
	if got := (Document{}).Failed(); got != nil {
		t.Errorf("got %+v", got)
	}
}

func TestOneLine(t *testing.T) {
	t.Parallel()
	if got, want := oneLine(errors.Join(errors.New("a"), nil, errors.New("b"))), "a; b"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
