package vectors

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// refusal records how Outside ends a test.
type refusal struct {
	testing.TB
	ended string
}

func (*refusal) Helper()                 {}
func (r *refusal) Fatal(...any)          { r.end("fatal") }
func (r *refusal) Fatalf(string, ...any) { r.end("fatal") }
func (r *refusal) Skip(...any)           { r.end("skip") }
func (r *refusal) end(how string)        { r.ended = how; runtime.Goexit() }
func outside(t *testing.T, set string) (folder, ended string) {
	r := &refusal{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		folder = Outside(r, set)
	}()
	<-done
	return folder, r.ended
}

func TestOutside(t *testing.T) {
	here := t.TempDir()
	if err := os.Mkdir(filepath.Join(here, "set"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, data, require, set, folder, ended string }{
		{"unset", "", "", "set", "", "skip"},
		{"unset and required", "", "1", "set", "", "fatal"},
		{"set", here, "1", "set", filepath.Join(here, "set"), ""},
		{"a set that is missing", here, "", "other", "", "fatal"},
		{"relative to the root", "testdata", "", "utf8-tests", filepath.Join(Root(t), "testdata", "utf8-tests"), ""},
	} {
		t.Setenv("SHARED_DATA", c.data)
		t.Setenv("HARNESS_REQUIRE_SHARED_DATA", c.require)
		if folder, ended := outside(t, c.set); folder != c.folder || ended != c.ended {
			t.Errorf("%s: got %q, ended by %q; want %q, %q", c.name, folder, ended, c.folder, c.ended)
		}
	}
}
