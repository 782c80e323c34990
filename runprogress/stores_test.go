package runprogress_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/fakes"
	"github.com/toolharness/harness/internal/redistest"
	"github.com/toolharness/harness/redisstore"
	"github.com/toolharness/harness/runprogress"
)

func backends() []backend {
	return []backend{fakeBackend(), {"embedded", embeddedDeck}, {"redis", redisDeck}}
}

func embeddedDeck(t *testing.T) *deck {
	mini := redistest.Mini(t)
	d := dialed(t, mini.URL(), func(args ...any) error { return mini.Client().Do(context.Background(), args...).Err() })
	d.advance = mini.Advance
	return d
}

func redisDeck(t *testing.T) *deck {
	db := redistest.Shared(t)
	return dialed(t, db.URL(), func(args ...any) error { return db.Client().Do(context.Background(), args...).Err() })
}

// dialed is a store on a server; do sends it a command beside the store.
func dialed(t *testing.T, url string, do func(args ...any) error) *deck {
	t.Helper()
	store, err := redisstore.Dial(t.Context(), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Errorf("closing the store: %v", err)
		}
	})
	send := func(t *testing.T, args ...any) {
		t.Helper()
		if err := do(args...); err != nil {
			t.Fatalf("%v: %v", args, err)
		}
	}
	return &deck{
		Store: store,
		newer: func(t *testing.T, id canonical.Identity) {
			send(t, "HSET", recordKey(id), "v", strconv.Itoa(canonical.SchemaVersion+1))
		},
		foreign: func(t *testing.T, id canonical.Identity) {
			send(t, "SET", recordKey(id), "somebody else's")
		},
	}
}

// recordKey is where the store on Redis keeps a record.
func recordKey(id canonical.Identity) string {
	return fmt.Sprintf("%s:v%d:{%s:%s}:call:%s", redisstore.DefaultPrefix, canonical.SchemaVersion, id.Scope.Digest(), id.Run, id.Call)
}

// T76 on the server's own counters: what is sent and how often does not depend on
// how large the results are.
func TestT76_on_the_wire(t *testing.T) {
	t.Parallel()
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		server := redistest.Server(t)
		b := newBench(t, dialed(t, server.URL(), func(...any) error { return errors.ErrUnsupported }))
		const calls, rawSize = 500, 8 << 10
		raw, agent := strings.Repeat("r", rawSize), strings.Repeat("a", 4<<10)
		facts := mustEncode(t, rows("t", "1"))
		for i := range calls {
			name := fmt.Sprintf("call_%d", i)
			b.admit(name, "query")
			b.end(name, succeeded(facts, raw, agent))
		}
		stat := func() (reads, sent int) {
			t.Helper()
			info, err := server.Client().Info(t.Context(), "stats").Result()
			if err != nil {
				t.Fatal(err)
			}
			return number(t, info, "total_reads_processed:"), number(t, info, "total_net_output_bytes:")
		}
		reads, sent := stat()
		r := b.report()
		after, sentAfter := stat()
		reads, sent = after-reads, sentAfter-sent
		t.Logf("%d calls with %d bytes of raw: %d reads by the server, %d bytes sent", calls, calls*rawSize, reads, sent)
		if r.Totals.Ready != calls || r.Totals.RawBytes != calls*rawSize {
			t.Errorf("totals %+v, want %d ready", r.Totals, calls)
		}
		if sent > calls*2<<10 {
			t.Errorf("%d bytes were sent for %d calls, want at most 2 KiB each: raw or agent results were moved", sent, calls)
		}
		if reads > calls/10 {
			t.Errorf("the server read %d times for %d calls, want batches", reads, calls)
		}
	})
}

func number(t *testing.T, info, name string) int {
	t.Helper()
	_, rest, ok := strings.Cut(info, name)
	line, _, _ := strings.Cut(rest, "\r\n")
	n, err := strconv.Atoi(line)
	if !ok || err != nil {
		t.Fatalf("%s%s: %v", name, line, err)
	}
	return n
}

func second(_ runprogress.Report, err error) error { return err }

func isRunMissing(err error) bool { return errors.Is(err, canonical.ErrRunMissing) }

// snapshot keeps the run's ledger and returns what puts it back.
func snapshot(t *testing.T, d *deck, run canonical.RunKey) func() {
	t.Helper()
	store := d.Store.(*fakes.Store)
	old, ok := store.SnapshotLedger(run)
	if !ok {
		t.Fatal("no ledger")
	}
	return func() {
		if !store.RestoreLedger(old) {
			t.Fatal("the run is gone")
		}
	}
}
