package vectors

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Module is the import path of the root module, whose go.mod marks the top of
// the repository. Nested modules have go.mod files too, so the first one found
// on the way up is not enough.
const Module = "github.com/toolharness/harness"

// Root returns the absolute directory of the root module, found by walking up
// from the directory in which the test runs (that of its package). It fails t
// when there is none, which happens only to a copy of a package outside the
// repository.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err == nil {
		dir, err = findRoot(dir)
	}
	if err != nil {
		t.Fatalf("vectors: %v", err)
	}
	return dir
}

// Dir returns the absolute directory testdata/<set> of the repository. It fails
// t when the set does not exist, so that a renamed folder cannot turn a test
// into an empty loop.
func Dir(t testing.TB, set string) string {
	t.Helper()
	dir := filepath.Join(Root(t), "testdata", set)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		t.Fatalf("vectors: no set %q in testdata: %v", set, err)
	}
	return dir
}

func findRoot(from string) (string, error) {
	for dir := from; ; dir = filepath.Dir(dir) {
		module, err := moduleOf(filepath.Join(dir, "go.mod"))
		if err != nil {
			return "", err
		}
		if module == Module {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no go.mod of module %s above %s", Module, from)
		}
	}
}

// moduleOf reads the module line of a go.mod. A missing file is no module and
// no error, because most directories on the way up have none.
func moduleOf(file string) (string, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "module "); ok {
			return strings.Trim(strings.TrimSpace(rest), `"`), nil
		}
	}
	return "", fmt.Errorf("%s has no module line", file)
}
