package place_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/cmd/harness/internal/place"
	"github.com/toolharness/harness/internal/redistest"
	"github.com/toolharness/harness/redisstore"
)

func open(t *testing.T, address string) *place.Place {
	t.Helper()
	p, err := place.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// openRuns opens runs and gives their keys in the order of the ids.
func openRuns(t *testing.T, p *place.Place, scope canonical.Scope, ids ...canonical.RunID) []canonical.RunKey {
	t.Helper()
	b, err := boundary.New(boundary.Config{Store: p.Store, Authorizer: boundary.AllowAll{}, Now: p.Now})
	if err != nil {
		t.Fatal(err)
	}
	var runs []canonical.RunKey
	for _, id := range ids {
		run, err := b.OpenRun(t.Context(), boundary.RunSpec{ID: id, Scope: scope})
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, run.Key())
	}
	return runs
}

func namesOf(t *testing.T, p *place.Place, runs []canonical.RunKey) []string {
	t.Helper()
	keys, err := p.Outside.Keys(t.Context(), runs)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, key := range keys {
		if key.TTL <= 0 {
			t.Errorf("%s has no expiry", key.Name)
		}
		names = append(names, key.Name)
	}
	return names
}

// Both kinds of store are seen from outside, and only what was asked for is removed.
func TestKeysAreRemovedByRunAndBySeries(t *testing.T) {
	t.Parallel()
	for kind, address := range map[string]func(*testing.T) string{
		"embedded": func(*testing.T) string { return "" },
		"redis":    func(t *testing.T) string { return redistest.Shared(t).URL() },
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			p := open(t, address(t))
			if p.Name != kind || (p.Embedded != nil) != (kind == "embedded") {
				t.Errorf("got %q, embedded %t", p.Name, p.Embedded != nil)
			}
			scope, foreign := canonical.Scope{Tenant: "a"}, canonical.Scope{Tenant: "b"}
			runs := openRuns(t, p, scope, "s-1", "s-10", "s-2", "other")
			runs = append(runs, openRuns(t, p, foreign, "s-1")...)
			var all []string
			for _, run := range runs {
				all = append(all, place.PrefixOf(run)+"run")
			}
			slices.Sort(all)
			if got := namesOf(t, p, append(runs, runs[0])); !slices.Equal(got, all) {
				t.Errorf("got %q, want %q", got, all)
			}
			if err := p.Outside.Remove(t.Context(), runs[:1]); err != nil {
				t.Fatal(err)
			}
			if got := namesOf(t, p, runs[:2]); len(got) != 1 || !strings.Contains(got[0], ":s-10}:") {
				t.Errorf("a run was removed whose id only begins so: got %q left", got)
			}
			if n, err := p.Outside.CountSeries(t.Context(), scope, "s-"); err != nil || n != 2 {
				t.Errorf("got %d keys in the series, %v, want 2", n, err)
			}
			for range 2 { // nothing to remove is no error
				if err := p.Outside.RemoveSeries(t.Context(), scope, "s-"); err != nil {
					t.Fatal(err)
				}
			}
			if got := namesOf(t, p, runs); len(got) != 2 || !slices.Contains(got, place.PrefixOf(runs[3])+"run") || !slices.Contains(got, place.PrefixOf(runs[4])+"run") {
				t.Errorf("got %q left, want another id's and another scope's", got)
			}
		})
	}
}

func TestAgainSeesWhatWasStored(t *testing.T) {
	t.Parallel()
	p := open(t, "")
	run := openRuns(t, p, canonical.Scope{Tenant: "a"}, "r")[0]
	second, err := p.Again(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if second == p.Store {
		t.Error("it is the same store")
	}
	if state, err := second.Inspect(t.Context(), run); err != nil || state.Run != run {
		t.Errorf("got %v, %v", state.Run, err)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
}

func TestNowMovesWithTheStore(t *testing.T) {
	t.Parallel()
	p := open(t, "")
	before := p.Now()
	p.Embedded.Advance(boundary.DefaultMaxDuration)
	if got := p.Now().Sub(before); got < boundary.DefaultMaxDuration {
		t.Errorf("got %v, want at least %v", got, boundary.DefaultMaxDuration)
	}
}

func TestOpenRepeatsNoPartOfAnAddress(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"marker_7", "http://u:marker_7@h", "redis://:marker_7@a,b", "redis://u:%zzmarker_7@h", "redis://u:marker_7@127.0.0.1:1"} {
		p, err := place.Open(t.Context(), address)
		if err == nil || p != nil || strings.Contains(err.Error(), "marker_7") {
			t.Errorf("%s: got %v", address, err)
		}
		if noServer := strings.HasSuffix(address, ":1"); errors.As(err, new(*redisstore.URLError)) == noServer {
			t.Errorf("%s: got %v, an error of the address: %t", address, err, noServer)
		}
	}
}
