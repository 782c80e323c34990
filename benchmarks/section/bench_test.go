package section

import (
	"context"
	"fmt"
	"testing"

	"github.com/toolharness/harness/benchmarks/content"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/internal/redistest"
	"github.com/toolharness/harness/projector"
	"github.com/toolharness/harness/redisstore"
)

// sizes of raw, in bytes. Bodies of 4 MiB are for command bench: here a server
// would be full before a benchmark is over.
var sizes = []int{1 << 10, 16 << 10, 256 << 10}

func eachSize(b *testing.B, bench func(*testing.B, content.Set)) {
	source, err := content.Load()
	if err != nil {
		b.Fatal(err)
	}
	for _, size := range sizes {
		set := source.Set(size)
		b.Run(fmt.Sprintf("raw=%dKiB", size>>10), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(size))
			bench(b, set)
		})
	}
}

// portion is how many calls are prepared at a time.
const portion = 512

// loop calls a way until the benchmark has enough, and makes new calls on an empty
// place, outside of the time, when those that were prepared are used up.
func loop(b *testing.B, set content.Set, make func() way, empty func(context.Context) error) {
	n := min(portion, max(1, 64<<20/set.Size))
	var call func(context.Context, int) error
	end := nothing
	at := n
	for b.Loop() {
		if at == n {
			b.StopTimer()
			if err := end(); err != nil {
				b.Fatal(err)
			}
			if err := empty(b.Context()); err != nil {
				b.Fatal(err)
			}
			var err error
			if call, end, err = make().begin(b.Context(), n, set); err != nil {
				b.Fatal(err)
			}
			at = 0
			b.StartTimer()
		}
		if err := call(b.Context(), at); err != nil {
			b.Fatal(err)
		}
		at++
	}
	if err := end(); err != nil {
		b.Fatal(err)
	}
}

func dial(b *testing.B) (*redistest.Database, *redisstore.Store) {
	b.Helper()
	db := redistest.Shared(b)
	store, err := redisstore.Dial(b.Context(), db.URL(), nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = store.Close() })
	return db, store
}

// BenchmarkFloor, BenchmarkStore and BenchmarkInvoke are one caller on redis-server.
func BenchmarkFloor(b *testing.B) {
	db, _ := dial(b)
	eachSize(b, func(b *testing.B, set content.Set) {
		loop(b, set, func() way { return floor(db.Client()) }, func(ctx context.Context) error { return db.Client().FlushDB(ctx).Err() })
	})
}

func BenchmarkStore(b *testing.B) {
	db, store := dial(b)
	eachSize(b, func(b *testing.B, set content.Set) {
		loop(b, set, func() way { return storeAlone(store) }, func(ctx context.Context) error { return db.Client().FlushDB(ctx).Err() })
	})
}

func BenchmarkInvoke(b *testing.B) {
	db, store := dial(b)
	eachSize(b, func(b *testing.B, set content.Set) {
		loop(b, set, func() way { return invoke(store) }, func(ctx context.Context) error { return db.Client().FlushDB(ctx).Err() })
	})
}

// BenchmarkBoundary is Invoke without a server: what the boundary itself costs.
func BenchmarkBoundary(b *testing.B) {
	eachSize(b, func(b *testing.B, set content.Set) {
		loop(b, set, func() way { return invoke(fakeStore()) }, func(context.Context) error { return nil })
	})
}

func BenchmarkParseRequest(b *testing.B) {
	source, err := content.Load()
	if err != nil {
		b.Fatal(err)
	}
	request := source.Set(content.MinSize).Requests[0]
	b.ReportAllocs()
	b.SetBytes(int64(len(request)))
	for b.Loop() {
		if _, err := canonical.ParseRequest(request, canonical.MaxRequestBytes); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkProjectorDrive(b *testing.B) {
	eachSize(b, func(b *testing.B, set content.Set) {
		p := actionsOf(set)[0].Projector
		in := projector.Input{Tool: "search", Request: set.Requests[0], Raw: set.Raw[0]}
		for b.Loop() {
			if _, err := projector.Drive(b.Context(), p, in, projector.Options{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkDigest(b *testing.B) {
	eachSize(b, func(b *testing.B, set content.Set) {
		for b.Loop() {
			_ = canonical.Body(set.Raw[0]).SHA256()
		}
	})
}

func BenchmarkEncodeFacts(b *testing.B) {
	facts := []evidence.Fact{evidence.NewFact(evidence.Subject{Kind: "table", ID: "Track"}, "rows", "1297")}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := evidence.EncodeFacts(facts); err != nil {
			b.Fatal(err)
		}
	}
}
