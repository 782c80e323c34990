package storetest

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolharness/harness/canonical"
)

// Bench measures one store: what a call costs from admission to its end, by
// effect and by size of the raw result, and what reading costs. All stores are
// measured alike, so that their numbers can be laid side by side.
func Bench(b *testing.B, open func(testing.TB) Harness) {
	for _, size := range []int{100, 16 << 10, 1 << 20} {
		raw := canonical.NewRaw(make([]byte, size))
		b.Run(fmt.Sprintf("read_call/%d", size), func(b *testing.B) {
			newBench(b, open).each(func(w *bench) error { return w.readCall(raw) }, size)
		})
		b.Run(fmt.Sprintf("write_call/%d", size), func(b *testing.B) {
			newBench(b, open).each(func(w *bench) error { return w.writeCall(raw) }, size)
		})
		b.Run(fmt.Sprintf("record/%d", size), func(b *testing.B) {
			w := newBench(b, open)
			w.must(w.readCall(raw))
			w.each(func(w *bench) error { return w.readLast() }, size)
		})
	}
	b.Run("duplicate", func(b *testing.B) {
		w := newBench(b, open)
		w.must(w.readCall(canonical.NewRaw([]byte("raw"))))
		w.each(func(w *bench) error { return w.duplicate() }, 0)
	})
	b.Run("heads_of_100", func(b *testing.B) {
		w := newBench(b, open)
		for range 100 {
			w.must(w.readCall(canonical.NewRaw(make([]byte, 4<<10))))
		}
		w.each(func(w *bench) error { return w.heads() }, 0)
	})
	b.Run("calls_of_16_processes", func(b *testing.B) {
		w := newBench(b, open)
		raw := canonical.NewRaw(make([]byte, 1<<10))
		b.SetParallelism(16)
		b.ResetTimer()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if err := w.readCall(raw); err != nil {
					b.Error(err)
					return
				}
			}
		})
	})
}

// bench is an open run without limits, and a count of the calls sent into it.
type bench struct {
	b    *testing.B
	s    canonical.Store
	now  time.Time
	sent atomic.Int64
}

func newBench(b *testing.B, open func(testing.TB) Harness) *bench {
	b.Helper()
	h := open(b)
	w := &bench{b: b, s: h.Store, now: h.Now()}
	_, err := w.s.OpenRun(context.Background(), opening(budget(canonical.Unlimited, canonical.Unlimited, canonical.Unlimited)))
	w.must(err)
	return w
}

func (w *bench) must(err error) {
	w.b.Helper()
	if err != nil {
		w.b.Fatal(err)
	}
}

func (w *bench) each(do func(*bench) error, size int) {
	w.b.Helper()
	w.b.SetBytes(int64(size))
	w.b.ReportAllocs()
	for w.b.Loop() {
		before := w.sent.Load()
		w.must(do(w))
		if w.sent.Load() > before && size >= 256<<10 {
			w.drop()
		}
	}
}

// drop deletes the last record outside the measured time: a minute of large
// ones would fill the memory.
func (w *bench) drop() {
	w.b.StopTimer()
	w.must(w.s.Delete(context.Background(), runKey(), w.admission(w.sent.Load()).Call))
	w.b.StartTimer()
}

// admission is the nth call of the benchmark.
func (w *bench) admission(n int64) canonical.Admission {
	id := fmt.Sprintf("call-%d", n)
	return canonical.Admission{
		Run: runKey(), Call: named(canonical.ToolCallID(id)), Claim: canonical.Claim("claim-" + id), EvidenceID: canonical.EvidenceID("evidence-" + id),
		OperationKey: "operation", Tool: "sql", Effect: canonical.EffectRead, Request: canonical.Body(`{"query":"select 1"}`),
		ToolBudget: canonical.Unlimited, Reserve: callReserve, NotAfter: w.now.Add(time.Hour), Timeout: toolTimeout, Closing: closingTime, TTL: recordTTL,
	}
}

// readCall is a call that changes nothing: admitted and ended.
func (w *bench) readCall(raw canonical.Raw) error {
	ctx := context.Background()
	a := w.admission(w.sent.Add(1))
	got, err := w.s.Admit(ctx, a)
	if err != nil {
		return err
	}
	e := call{a, got}.ready()
	e.Raw = raw
	_, err = w.s.Complete(ctx, e)
	return err
}

// writeCall saves its raw before it ends.
func (w *bench) writeCall(raw canonical.Raw) error {
	ctx := context.Background()
	a := w.admission(w.sent.Add(1))
	a.Effect = canonical.EffectWrite
	got, err := w.s.Admit(ctx, a)
	if err != nil {
		return err
	}
	c := call{a, got}
	m := c.saving("")
	m.Raw = raw
	if _, err := w.s.Save(ctx, m); err != nil {
		return err
	}
	e := c.ready()
	e.Raw, e.RawSaved = canonical.Raw{Size: raw.Size, SHA256: raw.SHA256}, true
	_, err = w.s.Complete(ctx, e)
	return err
}

// duplicate is what a refusal costs.
func (w *bench) duplicate() error {
	a := w.admission(1)
	a.Claim = "another-claim"
	if _, err := w.s.Admit(context.Background(), a); err == nil {
		return fmt.Errorf("a duplicate was admitted")
	}
	return nil
}

func (w *bench) readLast() error {
	_, err := w.s.Record(context.Background(), runKey(), w.admission(w.sent.Load()).Call)
	return err
}

func (w *bench) heads() error {
	names := make([]canonical.CallName, 100)
	for i := range names {
		names[i] = named(canonical.ToolCallID(fmt.Sprintf("call-%d", i+1)))
	}
	heads, err := w.s.Heads(context.Background(), runKey(), names)
	if err == nil && len(heads) != len(names) {
		return fmt.Errorf("%d heads, want %d", len(heads), len(names))
	}
	return err
}
