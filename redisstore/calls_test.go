package redisstore_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
)

func TestCall(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e env) {
		for _, size := range []int{0, 10, 3000, 1 << 20, 1<<20 + 1, 4 << 20} {
			name := fmt.Sprintf("r%d", size)
			state := open(t, e.store, name)
			a := admission(state, "call_1", canonical.EffectRead)
			got := admit(t, e.store, a)
			raw := bytes.Repeat([]byte{0, 'x', 0xff}, size/3+1)[:size]
			first, err := e.store.Complete(ctx, ready(a, got.Expires, raw))
			if err != nil || first.Repeat {
				t.Fatalf("%d bytes: complete: %+v, %v", size, first, err)
			}
			rec, err := e.store.Record(ctx, a.Run, a.Call)
			if err != nil {
				t.Fatalf("%d bytes: %v", size, err)
			}
			if rec.State != lifecycle.Ready || !bytes.Equal(rec.Raw.Bytes, raw) || rec.Raw.Bytes == nil || string(rec.Agent) != "agent result of call_1" ||
				string(rec.Facts) != `[{"f":1}]` || string(rec.Coverage) != `{"checked":["x"]}` || string(rec.Request) != string(a.Request) {
				t.Fatalf("%d bytes: record differs: %+v", size, rec)
			}
			if first.Pieces != rec.Head.Raw.Pieces || (first.Pieces != "") != (size > 1<<20) {
				t.Fatalf("%d bytes: the digest of the pieces is %q at first and %q when read", size, first.Pieces, rec.Head.Raw.Pieces)
			}
			if again, err := e.store.Complete(ctx, ready(a, got.Expires, raw)); err != nil || !again.Repeat {
				t.Fatalf("%d bytes: repeat: %+v %v", size, again, err)
			}
			if _, err := e.store.Complete(ctx, ready(a, got.Expires, append(raw, 1))); !errors.Is(err, canonical.ErrConflict) {
				t.Fatalf("%d bytes: another outcome: %v", size, err)
			}
			if again, err := e.store.Record(ctx, a.Run, a.Call); err != nil || !bytes.Equal(again.Raw.Bytes, raw) {
				t.Fatalf("%d bytes: after the conflict: %v", size, err)
			}
			if now, err := e.store.Inspect(ctx, a.Run); err != nil || now.Reserved != int64(len(rec.Request)+len(raw)+len(rec.Agent)+len(rec.Facts)+len(rec.Coverage)) {
				t.Fatalf("%d bytes: reserved %d, %v", size, now.Reserved, err)
			}
		}
	})
}
