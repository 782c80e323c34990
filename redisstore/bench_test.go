package redisstore_test

import (
	"fmt"
	"testing"

	"github.com/toolharness/harness/canonical"
)

// BenchmarkAdmitComplete is one whole call: admission with a request of 1 KiB,
// ending with raw of the named size and 2 KiB for the model. Compare a server
// with itself; the embedded one is not made to be fast.
func BenchmarkAdmitComplete(b *testing.B) {
	for _, server := range []struct {
		name string
		env  func(testing.TB) env
	}{{"embedded", mini}, {"redis", shared}} {
		b.Run(server.name, func(b *testing.B) {
			for _, size := range []int{1 << 10, 16 << 10, 256 << 10, 4 << 20} {
				b.Run(fmt.Sprintf("raw=%dKiB", size>>10), func(b *testing.B) { admitComplete(b, server.env(b), size) })
			}
		})
	}
}

func admitComplete(b *testing.B, e env, size int) {
	o := opening(b, runKey("bench"))
	o.Budget = canonical.Budget{Calls: canonical.Unlimited, PerTool: canonical.Unlimited, Bytes: canonical.Unlimited}
	state, err := e.store.OpenRun(ctx, o)
	if err != nil {
		b.Fatal(err)
	}
	request := make(canonical.Body, 1<<10)
	raw := canonical.NewRaw(make([]byte, size))
	agent := make(canonical.Body, 2<<10)
	b.ReportAllocs()
	b.SetBytes(int64(size))
	i := 0
	for b.Loop() {
		id := fmt.Sprintf("call_%d", i)
		i++
		a := admission(state, id, canonical.EffectRead)
		a.Request = request
		got, err := e.store.Admit(ctx, a)
		if err != nil {
			b.Fatal(err)
		}
		ending := ready(a, got.Expires, nil)
		ending.Raw, ending.Agent = raw, agent
		if _, err := e.store.Complete(ctx, ending); err != nil {
			b.Fatal(err)
		}
		if size >= 256<<10 { // or the server would be full before the benchmark is over
			b.StopTimer()
			if err := e.store.Delete(ctx, a.Run, a.Call); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
	}
}
