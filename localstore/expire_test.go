package localstore_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/fakes"
	"github.com/toolharness/harness/localstore"
)

// content lists everything in the file beside its format and its time.
func content(t testing.TB, s *localstore.Store) string {
	t.Helper()
	var all strings.Builder
	must(t, s.DB().View(func(tx *bolt.Tx) error {
		for _, name := range []string{localstore.BucketRuns, localstore.BucketScopes, localstore.BucketEnds} {
			dump(&all, tx.Bucket([]byte(name)))
		}
		return nil
	}))
	return all.String()
}

// TestExpired: what is over leaves the file itself, with the writes that follow and
// when the file is opened.
func TestExpired(t *testing.T) {
	t.Parallel()
	path, clock, ctx := file(t), fakes.NewClock(), context.Background()
	s, err := localstore.Open(path, &localstore.Options{Now: clock.Now})
	must(t, err)
	empty := content(t, s)
	for i := range 5 {
		work(t, s, canonical.RunID(fmt.Sprint("run-", i)), map[string][]byte{"a": make([]byte, 600_000), "b": []byte("raw")})
	}
	clock.Advance(24*time.Hour + time.Minute) // the records are over, the runs are not
	_, err = s.OpenRun(ctx, opening("next"))
	must(t, err)
	if all := content(t, s); strings.Contains(all, `"r:`) || !strings.Contains(all, `"c:`) || strings.Count(all, canonical.Body(make([]byte, localstore.PieceBytes)).SHA256()) > 0 {
		t.Errorf("after the life of the records the file has\n%s", all)
	}
	clock.Advance(15 * time.Minute) // all five are over
	for i := range 2 {
		_, err = s.OpenRun(ctx, opening(canonical.RunID(fmt.Sprint("later-", i))))
		must(t, err)
	}
	if all := content(t, s); !strings.Contains(all, ":run-4") || strings.Contains(all, ":run-0") || strings.Contains(all, ":run-3") {
		t.Errorf("each write ends two runs; after two the file has\n%s", all)
	}
	_, err = s.Inspect(ctx, runKey("run-4"))
	is(t, "Inspect of a run that is over and still there", err, canonical.ErrRunMissing)
	clock.Advance(25 * time.Hour)
	must(t, s.Close())
	s = open(t, path, clock.Now)
	if all := content(t, s); all != empty {
		t.Errorf("opened after all lives the file has\n%s", all)
	}
}

// TestExpired_born_again: a run, and a call, that is born under the name of one that
// is over is not ended with it.
func TestExpired_born_again(t *testing.T) {
	t.Parallel()
	clock, ctx := fakes.NewClock(), context.Background()
	s := open(t, file(t), clock.Now)
	raws := map[string][]byte{"a": []byte("raw")}
	work(t, s, "run", raws)
	clock.Advance(24*time.Hour + 16*time.Minute)
	work(t, s, "run", raws)
	for i := range 3 { // writes that end what is over
		_, err := s.OpenRun(ctx, opening(canonical.RunID(fmt.Sprint("other-", i))))
		must(t, err)
	}
	holds(t, s, "run", raws)
	list, err := s.ListRuns(ctx, runKey("run").Scope, canonical.ListedRun{}, 10)
	must(t, err)
	if len(list) != 4 {
		t.Errorf("runs = %v, want four", list)
	}
	clock.Advance(24*time.Hour + 16*time.Minute)
	_, err = s.OpenRun(ctx, opening("last"))
	must(t, err)
	_, err = s.Inspect(ctx, runKey("run"))
	is(t, "Inspect after the second life", err, canonical.ErrRunMissing)
}

// TestSize: where as much ends as begins the file stops growing.
func TestSize(t *testing.T) {
	t.Parallel()
	path, clock := file(t), fakes.NewClock()
	s := open(t, path, clock.Now)
	day := func(n int) int64 {
		for i := range 10 {
			work(t, s, canonical.RunID(fmt.Sprintf("run-%d-%d", n, i)), map[string][]byte{"a": make([]byte, 700_000), "b": make([]byte, 3_000)})
		}
		clock.Advance(25 * time.Hour)
		info, err := os.Stat(path)
		must(t, err)
		return info.Size()
	}
	for n := range 4 {
		day(n)
	}
	before := day(4)
	for n := range 10 {
		day(5 + n)
	}
	if after := day(15); after > before+before/4 {
		t.Errorf("the file had %d bytes after 5 days and has %d after 16", before, after)
	}
}
