package boundary_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/fakes"
	"github.com/toolharness/harness/internal/redistest"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/redisstore/embedded"
)

// Reports from the field on servers that go back in time, lose keys or are full.
func TestBugLog_servers(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(*testing.T) (*deck, *redis.Client){"embedded": embeddedClient, "redis": redisClient} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "redis" {
				redistest.Shared(t) // keeps the server running between subtests
			}
			for _, s := range []struct {
				name string
				run  func(*testing.T, *deck, *redis.Client)
			}{
				{"B60_acknowledged_writes_vanish", writesVanish},
				{"B62_a_record_is_taken_under_a_running_call", recordTaken},
			} {
				t.Run(s.name, func(t *testing.T) {
					t.Parallel()
					d, client := start(t)
					s.run(t, d, client)
				})
			}
		})
	}
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		t.Run("B56_a_frozen_server_does_not_hold_a_call", frozenServer)
		t.Run("B63_the_server_is_full", serverFull)
	})
}

// embeddedClient and redisClient are decks with a client of their database.
func embeddedClient(t *testing.T) (*deck, *redis.Client) {
	t.Helper()
	server, err := embedded.StartWith(embedded.Options{Frozen: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	t.Cleanup(func() { _ = client.Close() })
	return &deck{
		Store: server.Store(), now: server.Now, keys: keysOf(client), soon: time.Second,
		advance: func(_ *testing.T, d time.Duration) { server.Advance(d) },
	}, client
}

func redisClient(t *testing.T) (*deck, *redis.Client) {
	t.Helper()
	db := redistest.Shared(t)
	return &deck{Store: dial(t, db.URL()), now: time.Now, keys: keysOf(db.Client()), advance: pass, soon: 2 * time.Second}, db.Client()
}

// photograph keeps a database as it is and returns what puts it back.
func photograph(t *testing.T, client *redis.Client) (restore func()) {
	t.Helper()
	type key struct {
		hash map[string]string
		set  []redis.Z
		at   time.Duration
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	kept := map[string]key{}
	names, err := client.Keys(t.Context(), "*").Result()
	must(err)
	for _, name := range names {
		var k key
		kind, err := client.Type(t.Context(), name).Result()
		must(err)
		if kind == "hash" {
			k.hash, err = client.HGetAll(t.Context(), name).Result()
		} else {
			k.set, err = client.ZRangeWithScores(t.Context(), name, 0, -1).Result()
		}
		must(err)
		k.at, err = client.PExpireTime(t.Context(), name).Result()
		must(err)
		kept[name] = k
	}
	return func() {
		t.Helper()
		must(client.FlushDB(t.Context()).Err())
		for name, k := range kept {
			if k.hash != nil {
				must(client.HSet(t.Context(), name, k.hash).Err())
			} else {
				must(client.ZAdd(t.Context(), name, k.set...).Err())
			}
			must(client.PExpireAt(t.Context(), name, time.UnixMilli(k.at.Milliseconds())).Err())
		}
	}
}

// writesVanish: the store goes back to before an admission that it acknowledged.
// A process that saw more notices; where none lives, only the service that was
// given the operation key can tell the second delivery from a first.
func writesVanish(t *testing.T, d *deck, client *redis.Client) {
	for _, witness := range []bool{true, false} {
		b := newBench(t, d, setup{})
		restore := photograph(t, client)
		service := &ledger{}
		tool := &body{do: func(_ context.Context, in boundary.Input, raw io.Writer) error {
			service.commit(in.OperationKey)
			_, err := io.WriteString(raw, "paid")
			return err
		}}
		wantReady(t, b.write("pay", tool), "seen: paid")
		key := b.record("pay").OperationKey
		restore()
		if witness {
			wantFailed(t, b.read("next", says("no")), lifecycle.RunInactive, lifecycle.NotStarted)
			other := b.joined(boundary.Config{})
			wantFailed(t, other.write("pay", tool), lifecycle.RunInactive, lifecycle.NotStarted)
			if state := b.state(); state.Phase != canonical.RunDamaged {
				t.Errorf("the run is %s, want damaged", state.Phase)
			}
			wantEntered(t, tool, 1)
			service.wantOnce(t, key)
			continue
		}
		other := b.joined(boundary.Config{}) // b is not heard of again
		wantReady(t, other.write("pay", tool), "seen: paid")
		if len(service.entries) != 1 || service.entries[key] != 2 {
			t.Errorf("the service was asked %v, want two deliveries under the one key %s", service.entries, key)
		}
	}
}

// recordTaken: somebody evicts or deletes the key of a record while its tool runs.
func recordTaken(t *testing.T, d *deck, client *redis.Client) {
	for _, size := range []int{10, 64 << 10, 3 << 20} {
		for _, write := range []bool{false, true} {
			b := newBench(t, d, setup{})
			raw := strings.Repeat("r", size)
			var record string
			tool := &body{do: func(ctx context.Context, in boundary.Input, w io.Writer) error {
				for _, key := range d.keys(t) {
					if strings.Contains(key, ":call:") && strings.Contains(key, string(in.Identity.Run)) {
						record = key
					}
				}
				if n, err := client.Del(ctx, record).Result(); err != nil || n != 1 {
					return fmt.Errorf("deleted %d keys: %w", n, err)
				}
				_, err := io.WriteString(w, raw)
				return err
			}}
			env, action := b.call("a", write, tool)
			action.Projector = fakes.NewProjector(fakes.Found("much"))
			wantFailed(t, b.Invoke(t.Context(), b.run, env, action), lifecycle.RecordExpired, lifecycle.Completed)
			if kept := b.taken(); len(kept) != 1 || kept[0].Reason != boundary.Expired || string(kept[0].Raw.Bytes) != raw {
				t.Errorf("retained %v, want the result", kept)
			}
			if n := client.Exists(t.Context(), record).Val(); n != 0 {
				t.Errorf("%d bytes, write %t: the record is there again", size, write)
			}
			wantDuplicate(t, b.Invoke(t.Context(), b.run, env, action), named("a"), "")
			wantEntered(t, tool, 1)
		}
	}
}

func serverFull(t *testing.T) {
	server := redistest.Server(t, "--maxmemory-policy", "noeviction")
	for _, size := range []int{10, 64 << 10, 3 << 20} {
		for _, write := range []bool{false, true} {
			b := serverBench(t, server, setup{config: boundary.Config{Limits: canonical.Limits{ClosingTimeout: 500 * time.Millisecond}}})
			before := b.deck.keys(t)
			refused := says("no")
			memory(t, server, false)
			env, action := b.call("refused", write, refused)
			wantFailed(t, b.Invoke(t.Context(), b.run, env, action), lifecycle.StoreUnavailable, lifecycle.NotStarted)
			wantEntered(t, refused, 0)
			if _, err := b.OpenRun(t.Context(), boundary.RunSpec{Scope: testScope()}); err == nil {
				t.Error("a run was opened without memory")
			}
			if after := b.deck.keys(t); len(after) != len(before) {
				t.Errorf("keys %v, want %v", after, before)
			}
			memory(t, server, true)
			raw := strings.Repeat("r", size)
			tool := &body{do: func(_ context.Context, _ boundary.Input, w io.Writer) error {
				memory(t, server, false)
				_, err := io.WriteString(w, raw)
				return err
			}}
			env, action = b.call("full", write, tool)
			action.Projector = fakes.NewProjector(fakes.Found("much"))
			wantFailed(t, b.Invoke(t.Context(), b.run, env, action), lifecycle.ResultNotStored, lifecycle.Completed)
			if rec := b.record("full"); rec.State != lifecycle.Projecting || rec.Raw.Present() {
				t.Errorf("record %s with %d bytes, want PROJECTING without", rec.State, rec.Raw.Size)
			}
			memory(t, server, true)
			if err := b.Shutdown(t.Context()); err != nil { // settles what is held
				t.Errorf("Shutdown: %v", err)
			}
			if rec := b.record("full"); rec.State != lifecycle.Ready || string(rec.Raw.Bytes) != raw || rec.Evidence != evidence.Found {
				t.Errorf("record %s with %d bytes, want READY with all of them", rec.State, rec.Raw.Size)
			}
			wantEntered(t, tool, 1)
		}
	}
}

// frozenServer: an admission that is under way is waited for as long as the
// closing time says, whatever the caller's own patience, and no longer.
func frozenServer(t *testing.T) {
	const closing, slack = 200 * time.Millisecond, time.Second
	for _, write := range []bool{false, true} {
		server := redistest.Server(t)
		b := serverBench(t, server, setup{config: boundary.Config{Limits: canonical.Limits{ClosingTimeout: closing}}})
		server.Pause()
		tool := says("no")
		env, action := b.call("a", write, tool)
		start := time.Now()
		wantFailed(t, b.Invoke(t.Context(), b.run, env, action), lifecycle.StoreUnavailable, lifecycle.NotStarted)
		if took := time.Since(start); took > closing+slack {
			t.Errorf("the refusal took %v, want the closing time of %v", took, closing)
		}
		wantEntered(t, tool, 0)
		server.Resume()
		if err := b.Shutdown(t.Context()); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		wantEntered(t, tool, 0)
		if out, err := b.run.Outstanding(t.Context()); err != nil || len(out.Open)+len(out.Effects) != 0 {
			t.Errorf("outstanding %+v, %v, want nothing: what landed was ended", out, err)
		}
	}
}
