package place_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/cmd/harness/internal/place"
	"github.com/toolharness/harness/internal/redistest"
	"github.com/toolharness/harness/localstore"
	"github.com/toolharness/harness/redisstore"
)

func open(t *testing.T, address string) *place.Place {
	t.Helper()
	p, err := place.Open(t.Context(), place.Where{Redis: address})
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
	if second.Store == p.Store {
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

// A local store tells of its runs as a server's keys would, and the next one to open it finds them.
func TestLocalStoreTellsOfItsRuns(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "made")
	p, err := place.Open(t.Context(), place.Where{Data: dir})
	if err != nil {
		t.Fatal(err)
	}
	scope := canonical.Scope{Tenant: "a", Namespace: "it's"}
	runs := openRuns(t, p, scope, "s-1", "s-2", "other")
	gone := canonical.RunKey{Scope: scope, Run: "s-none"}
	keys, err := p.Keys(t.Context(), append(runs, gone, runs[0]))
	if err != nil || len(keys) != 3 || keys[0].Name != place.PrefixOf(runs[2])+"run" || keys[0].TTL <= 0 {
		t.Errorf("got %+v, %v", keys, err)
	}
	if n, err := p.CountSeries(t.Context(), scope, "s-"); err != nil || n != 2 {
		t.Errorf("got %d, %v, want 2", n, err)
	}
	if got, want := p.Command(runs[0], canonical.CallName{Turn: "m", ID: "x|y"}), "harness show s-1 'm:x|y' --data "+dir+" --tenant a --namespace 'it'\\''s'"; got != want || p.NeedsPassword() {
		t.Errorf("got %s, want %s", got, want)
	}
	again, err := p.Again(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := place.OpenKept(t.Context(), place.Where{Data: dir}, ""); !errors.Is(err, localstore.ErrLocked) {
		t.Errorf("got %v, want that it is held", err)
	}
	if err := errors.Join(again.Close(), p.Close()); err != nil {
		t.Fatal(err)
	}
	kept, err := place.OpenKept(t.Context(), place.Where{Data: dir}, "")
	if err != nil {
		t.Fatal(err)
	}
	if state, err := kept.Store.Inspect(t.Context(), runs[1]); err != nil || state.Run != runs[1] {
		t.Errorf("got %v, %v", state.Run, err)
	}
	if err := kept.Close(); err != nil {
		t.Error(err)
	}
}

// Reading makes no store where there is none, and nothing is in two places at once.
func TestPlacesThatAreNone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := place.OpenKept(t.Context(), place.Where{Data: dir}, ""); !errors.As(err, new(*place.NoStoreError)) {
		t.Errorf("got %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("got %v, %v, want nothing", left, err)
	}
	both := place.Where{Redis: "redis://h", Data: dir}
	if _, err := place.OpenKept(t.Context(), both, ""); !errors.As(err, new(*place.WhereError)) {
		t.Errorf("got %v", err)
	}
	if _, err := place.Open(t.Context(), both); !errors.As(err, new(*place.WhereError)) {
		t.Errorf("got %v", err)
	}
}

func TestOpenRepeatsNoPartOfAnAddress(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"marker_7", "http://u:marker_7@h", "redis://:marker_7@a,b", "redis://u:%zzmarker_7@h", "redis://u:marker_7@127.0.0.1:1"} {
		p, err := place.Open(t.Context(), place.Where{Redis: address})
		if err == nil || p != nil || strings.Contains(err.Error(), "marker_7") {
			t.Errorf("%s: got %v", address, err)
		}
		if noServer := strings.HasSuffix(address, ":1"); errors.As(err, new(*redisstore.URLError)) == noServer {
			t.Errorf("%s: got %v, an error of the address: %t", address, err, noServer)
		}
	}
}
