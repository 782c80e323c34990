package place

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

// The boundary does not print what a store says; the program knows this store and may.
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
		got := Because(c.err)
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

func TestLost(t *testing.T) {
	t.Parallel()
	lost := map[boundary.Code]bool{lifecycle.StoreUnavailable: true, lifecycle.ResultNotStored: true}
	for _, code := range append(lifecycle.Codes(), "", "SQL_REFUSED") {
		if got := Lost(code); got != lost[code] {
			t.Errorf("%s: got %t, want %t", code, got, lost[code])
		}
	}
}

func TestKeysOfARun(t *testing.T) {
	t.Parallel()
	run := canonical.RunKey{Scope: canonical.Scope{Tenant: "demo", Namespace: "chinook"}, Run: "demo-1"}
	prefix := "harness:v1:{" + run.Scope.Digest() + ":demo-1}:"
	if got := PrefixOf(run); got != prefix {
		t.Errorf("got %s, want %s", got, prefix)
	}
	if got, want := RecordOf(run, canonical.CallName{Turn: "t", ID: "a:b"}), prefix+"call:t:a:b"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	other := run
	other.Run = "demo-12"
	if strings.HasPrefix(PrefixOf(other), PrefixOf(run)) || strings.HasPrefix(PrefixOf(run), PrefixOf(other)) {
		t.Error("a run's prefix begins another run's keys")
	}
}
