package demo

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/redisstore"
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

// The boundary does not print what a store says; the demo knows this store and may.
func TestBecause(t *testing.T) {
	t.Parallel()
	eviction := &redisstore.EvictionError{Policy: "allkeys-lru"}
	own := errors.New("own")
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"nil":                  {nil, ""},
		"not of the boundary":  {own, ""},
		"the store alone":      {eviction, ""},
		"trouble":              {&coveredError{&boundary.Error{Op: "admit"}, &redisstore.Error{Op: "admit"}}, "redisstore: admit: "},
		"eviction":             {&coveredError{&boundary.Error{Op: "open run"}, eviction}, `maxmemory-policy is "allkeys-lru"`},
		"nothing of the store": {&coveredError{&boundary.Error{Op: "admit"}, own}, ""},
	} {
		got := because(c.err)
		switch {
		case c.want == "" && got != c.err:
			t.Errorf("%s: got %v, want it unchanged", name, got)
		case c.want != "" && (!errors.Is(got, c.err) || !strings.Contains(got.Error(), c.want)):
			t.Errorf("%s: got %v, want %q in it", name, got, c.want)
		}
	}
}

// coveredError has a cause that its text leaves out, as the boundary's has.
type coveredError struct{ shown, cause error }

func (e *coveredError) Error() string   { return fmt.Sprint(e.shown) }
func (e *coveredError) Unwrap() []error { return []error{e.shown, e.cause} }

func TestStoreIsLost(t *testing.T) {
	t.Parallel()
	lost := map[boundary.Code]bool{lifecycle.StoreUnavailable: true, lifecycle.ResultNotStored: true}
	for _, code := range append(lifecycle.Codes(), "", "SQL_REFUSED") {
		if got := storeIsLost(code); got != lost[code] {
			t.Errorf("%s: got %t, want %t", code, got, lost[code])
		}
	}
}

func TestKeysOfARun(t *testing.T) {
	t.Parallel()
	run := canonical.RunKey{Scope: canonical.Scope{Tenant: "demo", Namespace: "chinook"}, Run: "demo-1"}
	prefix := "harness:v1:{" + run.Scope.Digest() + ":demo-1}:"
	if got := prefixOf(run); got != prefix {
		t.Errorf("got %s, want %s", got, prefix)
	}
	if got, want := recordOf(run, canonical.CallName{Turn: "t", ID: "a:b"}), prefix+"call:t:a:b"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	other := run
	other.Run = "demo-12"
	if strings.HasPrefix(prefixOf(other), prefixOf(run)) || strings.HasPrefix(prefixOf(run), prefixOf(other)) {
		t.Error("a run's prefix begins another run's keys")
	}
}

func TestOneLine(t *testing.T) {
	t.Parallel()
	if got, want := oneLine(errors.Join(errors.New("a"), nil, errors.New("b"))), "a; b"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
