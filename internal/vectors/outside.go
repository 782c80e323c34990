package vectors

import (
	"os"
	"path/filepath"
	"testing"
)

// Outside is the folder of a set that stays outside the project, for its licence
// or its size: SHARED_DATA names the folder of all of them, a relative one from
// the root of the repository. No promise of the project rests on these sets, so
// without SHARED_DATA the check does not run and says so; with
// HARNESS_REQUIRE_SHARED_DATA=1, which "make check-data" sets, that is a failure.
// A folder that is named and missing always is.
func Outside(t testing.TB, set string) string {
	t.Helper()
	all := os.Getenv("SHARED_DATA")
	if all == "" && os.Getenv("HARNESS_REQUIRE_SHARED_DATA") == "1" {
		t.Fatal("SHARED_DATA names no folder, and HARNESS_REQUIRE_SHARED_DATA asks for it")
	}
	if all == "" {
		t.Skip("NOT RUN: SHARED_DATA names no folder; HARNESS_REQUIRE_SHARED_DATA=1 makes this a failure")
	}
	if !filepath.IsAbs(all) {
		all = filepath.Join(Root(t), all)
	}
	folder := filepath.Join(all, set)
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		t.Fatalf("SHARED_DATA has no folder %s", set)
	}
	return folder
}
