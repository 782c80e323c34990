package localstore_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/canonical/storetest"
	"github.com/toolharness/harness/localstore"
)

func BenchmarkStore(b *testing.B) {
	b.Run("local", func(b *testing.B) { storetest.Bench(b, localHarness) })
}

// BenchmarkDisk is a read call of 1 KiB, admitted and ended, in a run that holds so
// many already, on a disk with fsync; alone and in batches.
func BenchmarkDisk(b *testing.B) {
	for _, held := range []int{0, 1_000, 10_000} {
		for _, batch := range []int{1, 16} {
			b.Run(fmt.Sprintf("held_%d/batch_%d", held, batch), func(b *testing.B) { benchDisk(b, held, batch) })
		}
	}
}

func benchDisk(b *testing.B, held, batch int) {
	path := filepath.Join(b.TempDir(), localstore.FileName)
	s := open(b, path, nil)
	_, err := s.OpenRun(context.Background(), opening("run"))
	must(b, err)
	next := 0
	calls := func(n int) {
		var admissions []canonical.Admission
		var endings []canonical.Ending
		for range n {
			admissions = append(admissions, admission("run", fmt.Sprint("call-", next), time.Now()))
			next++
		}
		for i, got := range s.AdmitBatch(context.Background(), admissions) {
			must(b, got.Err)
			endings = append(endings, ending(admissions[i], got.Admitted.Expires, make([]byte, 1<<10)))
		}
		for _, got := range s.CompleteBatch(context.Background(), endings) {
			must(b, got.Err)
		}
	}
	for next < held {
		calls(200)
	}
	b.ReportAllocs()
	for b.Loop() {
		calls(batch)
	}
	b.ReportMetric(float64(b.N*batch)/b.Elapsed().Seconds(), "calls/s")
	info, err := os.Stat(path)
	must(b, err)
	b.ReportMetric(float64(info.Size())/float64(next), "file-B/call")
}
