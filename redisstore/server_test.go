package redisstore_test

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/redisstore"
)

// stat reads a number from a section of INFO.
func stat(t testing.TB, e env, section, name string) int64 {
	t.Helper()
	text, err := e.client.Info(ctx, section).Result()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+":"); ok {
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("INFO %s has no %s", section, name)
	return 0
}

func TestEviction(t *testing.T) {
	t.Parallel()
	t.Run("redis", func(t *testing.T) {
		t.Run("P30_evicting_policy_opens_no_run", func(t *testing.T) {
			e := server(t, "--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru")
			_, err := e.store.OpenRun(ctx, opening(t, runKey("r")))
			var evicting *redisstore.EvictionError
			if !errors.As(err, &evicting) || evicting.Policy != "allkeys-lru" || errors.As(err, new(*canonical.RefusedError)) {
				t.Errorf("OpenRun = %v, want an EvictionError of allkeys-lru", err)
			}
			if n := e.client.DBSize(ctx).Val(); n != 0 {
				t.Errorf("the refusal left %d keys", n)
			}
			report, err := e.store.Health(ctx)
			if err != nil || report.OK() || report.Policy != "allkeys-lru" || !has(report, redisstore.Fault, "eviction") {
				t.Errorf("Health = %+v, %v; want a fault about eviction", report, err)
			}
			accepting := dial(t, e.url, &redisstore.Options{AcceptEviction: true})
			if _, err := accepting.OpenRun(ctx, opening(t, runKey("r"))); err != nil {
				t.Errorf("OpenRun where it is accepted = %v", err)
			}
			if report, err := accepting.Health(ctx); err != nil || !report.OK() || !has(report, redisstore.Warning, "eviction") {
				t.Errorf("Health where it is accepted = %+v, %v; want a warning", report, err)
			}
		})
		t.Run("P30_every_policy_but_one", func(t *testing.T) {
			e := server(t, "--maxmemory", "100mb")
			for _, policy := range []string{"volatile-lru", "allkeys-lru", "volatile-lfu", "allkeys-lfu", "volatile-random", "allkeys-random", "volatile-ttl", "noeviction"} {
				if err := e.client.ConfigSet(ctx, "maxmemory-policy", policy).Err(); err != nil {
					t.Fatal(err)
				}
				_, err := dial(t, e.url, nil).OpenRun(ctx, opening(t, runKey(policy)))
				if refused := errors.As(err, new(*redisstore.EvictionError)); refused != (policy != "noeviction") || !refused && err != nil {
					t.Errorf("%s: OpenRun = %v", policy, err)
				}
				if _, err := dial(t, e.url, &redisstore.Options{AcceptEviction: true}).OpenRun(ctx, opening(t, runKey("accepted-"+policy))); err != nil {
					t.Errorf("%s: OpenRun where it is accepted = %v", policy, err)
				}
			}
		})
		t.Run("P30_the_policy_is_asked_for_once", func(t *testing.T) {
			e := server(t)
			open(t, e.store, "r1")
			s, w := wired(t, e, -1)
			w.took(t, "the first opening", 2, func() error { _, err := s.OpenRun(ctx, opening(t, runKey("r2"))); return err }) // policy, script
			w.took(t, "the second opening", 1, func() error { _, err := s.OpenRun(ctx, opening(t, runKey("r3"))); return err })
		})
	})
}

func has(r redisstore.Report, level redisstore.Level, about string) bool {
	for _, f := range r.Findings {
		if f.Level == level && f.About == about {
			return true
		}
	}
	return false
}

// Trips are counted by the connection (a write and the wait for its replies),
// for small messages by the server's own count of reads as well: a large one
// takes the server several reads, whoever sends it.
func TestTrips(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e env) {
		t.Run("P35_one_two_and_three", func(t *testing.T) { trips(t, e) })
	})
	t.Run("redis", func(t *testing.T) {
		t.Run("P35_as_the_server_counts", func(t *testing.T) {
			e := server(t)
			state := open(t, e.store, "r")
			warm := admission(state, "warm", canonical.EffectRead)
			complete(t, e.store, ready(warm, admit(t, e.store, warm).Expires, []byte("x")))
			const calls = 200
			before := stat(t, e, "stats", "total_reads_processed")
			for i := range calls {
				run := runKey("r" + strconv.Itoa(i))
				run2, err := e.store.OpenRun(ctx, opening(t, run))
				if err != nil {
					t.Fatal(err)
				}
				a := admission(run2, "c1", canonical.EffectRead)
				complete(t, e.store, ready(a, admit(t, e.store, a).Expires, make([]byte, 1000)))
			}
			// One for each open, admit and complete, and one for the last INFO.
			if got := stat(t, e, "stats", "total_reads_processed") - before; got != 3*calls+1 {
				t.Errorf("the server read %d times for %d openings and calls, want %d", got, calls, 3*calls+1)
			}
		})
	})
}

func trips(t *testing.T, e env) {
	state := open(t, e.store, "trips")
	warm := admission(state, "warm", canonical.EffectWrite)
	got := admit(t, e.store, warm) // the scripts are known after this
	if _, err := e.store.Save(ctx, canonical.Saving{Run: warm.Run, Call: warm.Call, Claim: warm.Claim, Raw: canonical.NewRaw([]byte("x")), Expires: got.Expires}); err != nil {
		t.Fatal(err)
	}
	after := ready(warm, got.Expires, []byte("x"))
	after.RawSaved = true
	complete(t, e.store, after)
	s, w := wired(t, e, -1)
	for _, size := range []int{100, 64 << 10, 4 << 20} {
		raw := make([]byte, size)
		read := admission(state, fmt.Sprintf("read-%d", size), canonical.EffectRead)
		w.took(t, "admit", 1, func() error { _, err := s.Admit(ctx, read); return err })
		w.took(t, fmt.Sprintf("complete with %d bytes", size), 1, func() error { _, err := s.Complete(ctx, ready(read, got.Expires, raw)); return err })
		w.took(t, "the same again", 1, func() error { _, err := s.Complete(ctx, ready(read, got.Expires, raw)); return err })
		write := admission(state, fmt.Sprintf("write-%d", size), canonical.EffectWrite)
		saved := ready(write, got.Expires, raw)
		saved.RawSaved = true
		w.took(t, "admit", 1, func() error { _, err := s.Admit(ctx, write); return err })
		w.took(t, fmt.Sprintf("save of %d bytes", size), 1, func() error {
			_, err := s.Save(ctx, canonical.Saving{Run: write.Run, Call: write.Call, Claim: write.Claim, Raw: canonical.NewRaw(raw), Expires: got.Expires})
			return err
		})
		w.took(t, "complete after save", 1, func() error { _, err := s.Complete(ctx, saved); return err })
	}
	refusal := func(sentinel error, send func() error) func() error {
		return func() error {
			if err := send(); !errors.Is(err, sentinel) {
				return fmt.Errorf("answered %v, want %v", err, sentinel)
			}
			return nil
		}
	}
	duplicate := warm
	duplicate.Claim = "another"
	w.took(t, "a duplicate", 1, refusal(canonical.ErrDuplicate, func() error { _, err := s.Admit(ctx, duplicate); return err }))
	late := admission(state, "late", canonical.EffectRead)
	late.NotAfter = time.Unix(1, 0)
	w.took(t, "a refusal", 1, refusal(canonical.ErrTooLate, func() error { _, err := s.Admit(ctx, late); return err }))
	w.took(t, "a view", 2, func() error { _, err := s.View(ctx, warm.Run, warm.Call); return err })
	w.took(t, "a record", 2, func() error { _, err := s.Record(ctx, warm.Run, warm.Call); return err })
	w.took(t, "a look at the run", 1, func() error { _, err := s.Inspect(ctx, warm.Run); return err })
}

func TestHeads(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e env) {
		t.Run("T76_trips_grow_with_batches_and_no_raw_moves", func(t *testing.T) {
			o := opening(t, runKey("many"))
			o.Budget = canonical.Budget{Calls: canonical.Unlimited, PerTool: canonical.Unlimited, Bytes: canonical.Unlimited}
			state, err := e.store.OpenRun(ctx, o)
			if err != nil {
				t.Fatal(err)
			}
			raw := bytes.Repeat([]byte("RAWRAWRAW"), 100)
			names := make([]canonical.CallName, 1201)
			for i := range names {
				names[i] = callName("c" + strconv.Itoa(i))
				if i%40 == 0 {
					a := admission(state, "c"+strconv.Itoa(i), canonical.EffectRead)
					complete(t, e.store, ready(a, admit(t, e.store, a).Expires, raw))
				}
			}
			s, w := wired(t, e, -1)
			for n, want := range map[int]int64{1: 2, 500: 2, 521: 4, 1201: 6} {
				w.took(t, strconv.Itoa(n)+" heads", want, func() error {
					heads, err := s.Heads(ctx, state.Run, names[:n])
					for i, h := range heads {
						if there := i%40 == 0; h.Exists() != there || there && string(h.Facts) != `[{"f":1}]` {
							return fmt.Errorf("head %d: %+v", i, h)
						}
					}
					return err
				})
			}
			w.took(t, "no heads", 0, func() error { _, err := s.Heads(ctx, state.Run, nil); return err })
		})
		t.Run("one_unreadable_record_hides_no_other", func(t *testing.T) {
			state := open(t, e.store, "mixed")
			var names []canonical.CallName
			for _, id := range []string{"good", "facts", "meta", "newer", "foreign", "none", "good2"} {
				names = append(names, callName(id))
				if id == "none" {
					continue
				}
				a := admission(state, id, canonical.EffectRead)
				complete(t, e.store, ready(a, admit(t, e.store, a).Expires, []byte("raw")))
			}
			key := func(i int) string { return e.base(state.Run) + "call:" + names[i].String() }
			for _, field := range payloadFields(t, e, key(1)) {
				if strings.HasPrefix(field, "fc:") {
					e.client.HSet(ctx, key(1), field, `[{"f":2}]`)
				}
			}
			e.client.HSet(ctx, key(2), "md", "{")
			e.client.HSet(ctx, key(3), "v", "2")
			e.client.Set(ctx, key(4), "x", 0)
			heads, err := e.store.Heads(ctx, state.Run, names)
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range []error{nil, canonical.ErrCorrupt, canonical.ErrCorrupt, canonical.ErrNewerVersion, canonical.ErrForeign, nil, nil} {
				if heads[i].Fault != want || heads[i].Exists() != (want == nil && i != 5) {
					t.Errorf("%s: fault %v, exists %v; want %v", names[i], heads[i].Fault, heads[i].Exists(), want)
				}
				if want != nil && heads[i].Identity.Call != names[i] {
					t.Errorf("%s: the head that tells the fault has the name %s", names[i], heads[i].Identity.Call)
				}
			}
		})
	})
}

func TestMemory(t *testing.T) {
	t.Parallel()
	t.Run("redis", func(t *testing.T) {
		t.Run("P47_memory_runs_out_between_admission_and_ending", func(t *testing.T) {
			for _, size := range []int{100, 64 << 10, 3 << 20} {
				e := server(t, "--maxmemory-policy", "noeviction")
				state := open(t, e.store, "r")
				a := admission(state, "c1", canonical.EffectWrite)
				got := admit(t, e.store, a)
				raw := bytes.Repeat([]byte("r"), size)
				before := snapshot(t, e)
				full(t, e)
				for _, s := range []func() error{
					func() error { _, err := e.store.Complete(ctx, ready(a, got.Expires, raw)); return err },
					func() error {
						_, err := e.store.Save(ctx, canonical.Saving{Run: a.Run, Call: a.Call, Claim: a.Claim, Raw: canonical.NewRaw(raw), Expires: got.Expires})
						return err
					},
				} {
					err := s()
					if err == nil || errors.As(err, new(*canonical.RefusedError)) || !strings.Contains(err.Error(), "OOM") && !strings.Contains(err.Error(), "EXECABORT") {
						t.Errorf("%d bytes without memory: %v, want trouble", size, err)
					}
				}
				if after := snapshot(t, e); after != before {
					t.Errorf("%d bytes: something was written:\n%s\nwas\n%s", size, after, before)
				}
				roomy(t, e)
				if _, err := e.store.Settle(ctx, ready(a, got.Expires, raw)); err != nil {
					t.Fatalf("%d bytes, settled when there is room: %v", size, err)
				}
				if rec, err := e.store.Record(ctx, a.Run, a.Call); err != nil || rec.State != lifecycle.Ready || !bytes.Equal(rec.Raw.Bytes, raw) {
					t.Errorf("%d bytes: %v %s", size, err, rec.State)
				}
			}
		})
		t.Run("no_memory_at_admission", func(t *testing.T) {
			e := server(t)
			state := open(t, e.store, "r")
			before := snapshot(t, e)
			full(t, e)
			if _, err := e.store.Admit(ctx, admission(state, "c1", canonical.EffectWrite)); err == nil || errors.As(err, new(*canonical.RefusedError)) {
				t.Errorf("admit = %v, want trouble", err)
			}
			if _, err := e.store.OpenRun(ctx, opening(t, runKey("r2"))); err == nil || errors.As(err, new(*canonical.RefusedError)) {
				t.Errorf("open = %v, want trouble", err)
			}
			if after := snapshot(t, e); after != before {
				t.Errorf("something was written:\n%s\nwas\n%s", after, before)
			}
		})
		t.Run("P47_deleting_needs_no_memory", func(t *testing.T) {
			e := server(t)
			state := open(t, e.store, "r")
			a := admission(state, "c1", canonical.EffectRead)
			complete(t, e.store, ready(a, admit(t, e.store, a).Expires, make([]byte, 1<<20)))
			if err := e.store.Delete(ctx, a.Run, callName("unknown")); err != nil { // makes the script known
				t.Fatal(err)
			}
			full(t, e)
			if err := e.store.Delete(ctx, a.Run, a.Call); err != nil {
				t.Errorf("delete = %v", err)
			}
			roomy(t, e)
			if now, err := e.store.Inspect(ctx, a.Run); err != nil || now.Reserved != 0 {
				t.Errorf("%d bytes in use after the delete, %v", now.Reserved, err)
			}
		})
	})
}

// full leaves the server without memory for anything new.
func full(t testing.TB, e env) {
	t.Helper()
	if err := e.client.ConfigSet(ctx, "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
}

func roomy(t testing.TB, e env) {
	t.Helper()
	if err := e.client.ConfigSet(ctx, "maxmemory", "0").Err(); err != nil {
		t.Fatal(err)
	}
}

// Reading issues no command that could move an expiry, as the server's own
// statistics have it.
func TestReading(t *testing.T) {
	t.Parallel()
	t.Run("redis", func(t *testing.T) {
		t.Run("T41_reading_a_hundred_times_moves_no_expiry", func(t *testing.T) {
			e := server(t)
			state := open(t, e.store, "r")
			a := admission(state, "c1", canonical.EffectRead)
			got := admit(t, e.store, a)
			complete(t, e.store, ready(a, got.Expires, []byte("raw")))
			before := snapshot(t, e)
			if err := e.client.ConfigResetStat(ctx).Err(); err != nil {
				t.Fatal(err)
			}
			for range 100 {
				_, err1 := e.store.Heads(ctx, a.Run, []canonical.CallName{a.Call})
				_, err2 := e.store.View(ctx, a.Run, a.Call)
				_, err3 := e.store.Record(ctx, a.Run, a.Call)
				_, err4 := e.store.Order(ctx, a.Run, 0, 10)
				_, err5 := e.store.Outstanding(ctx, a.Run)
				_, err6 := e.store.SettlementOf(ctx, a.Run, a.Call)
				_, err7 := e.store.Inspect(ctx, a.Run)
				_, err8 := e.store.JoinRun(ctx, a.Run, token)
				if err := errors.Join(err1, err2, err3, err4, err5, err6, err7, err8); err != nil {
					t.Fatal(err)
				}
			}
			text, err := e.client.Info(ctx, "commandstats").Result()
			if err != nil {
				t.Fatal(err)
			}
			reading := map[string]bool{"hmget": true, "pttl": true, "zrange": true, "zrangebyscore": true, "config|resetstat": true, "info": true, "hello": true}
			for line := range strings.Lines(text) {
				if name, rest, ok := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":"); ok && rest != "" && !strings.HasPrefix(line, "#") && !reading[name] {
					t.Errorf("reading issued the command %s", name)
				}
			}
			if after := snapshot(t, e); after != before {
				t.Errorf("reading changed\n%s\nto\n%s", before, after)
			}
		})
	})
}

// A reply that is lost after the server has acted: the client's own retry, and
// the caller's.
func TestLostReply(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e env) {
		for _, retries := range []int{3, -1} {
			for _, size := range []int{10, 64 << 10, 3 << 20} {
				t.Run("P01_P02_replies_are_lost", func(t *testing.T) {
					state := open(t, e.store, fmt.Sprintf("r%d.%d", retries, size))
					warm := admission(state, "warm", canonical.EffectRead)
					complete(t, e.store, ready(warm, admit(t, e.store, warm).Expires, []byte("x")))
					s, w := wired(t, e, retries)
					a := admission(state, "c1", canonical.EffectWrite)
					var got canonical.Admitted
					below := retries > 0 || e.space != nil // on a cluster the store itself repeats, to follow a slot that may have moved
					w.again(t, below, func() (bool, error) { var err error; got, err = s.Admit(ctx, a); return got.Own, err })
					if got.Seq != 2 || got.State != lifecycle.Projecting {
						t.Errorf("admitted as %+v, want sequence 2", got)
					}
					ending := ready(a, got.Expires, make([]byte, size))
					w.again(t, below, func() (bool, error) { r, err := s.Complete(ctx, ending); return r.Repeat, err })
					now, err := e.store.Inspect(ctx, a.Run)
					if err != nil || now.LastSeq != 2 {
						t.Errorf("sequence %d, %v; want 2", now.LastSeq, err)
					}
					if order, err := e.store.Order(ctx, a.Run, 0, 10); err != nil || len(order) != 2 {
						t.Errorf("order %v, %v; want two entries", order, err)
					}
				})
			}
		}
	})
}

// again sends a message whose first reply is lost. It is sent again below us, or
// else by us.
func (w *wire) again(t *testing.T, below bool, send func() (repeated bool, err error)) {
	t.Helper()
	w.lose.Store(1)
	repeated, err := send()
	if !below {
		if err == nil || errors.As(err, new(*canonical.RefusedError)) {
			t.Errorf("without retries the lost reply is %v, want trouble", err)
		}
		repeated, err = send()
	}
	if err != nil || !repeated {
		t.Errorf("sent again: repeated %v, %v; want it recognized", repeated, err)
	}
	if w.lose.Load() >= 1 {
		t.Error("no reply was lost")
	}
}

// The one test that waits for real time: shift in the others stands for it.
func TestRealExpiry(t *testing.T) {
	t.Parallel()
	t.Run("redis", func(t *testing.T) {
		e := shared(t)
		state := open(t, e.store, "r")
		a := admission(state, "c1", canonical.EffectWrite)
		a.TTL = 300 * time.Millisecond
		got := admit(t, e.store, a)
		if n := e.client.Exists(ctx, e.record(a)).Val(); n != 1 {
			t.Fatal("no record right after its admission")
		}
		limit := time.Now().Add(10 * time.Second)
		for e.client.Exists(ctx, e.record(a)).Val() == 1 {
			if time.Now().After(limit) {
				t.Fatal("the record outlives its life by seconds")
			}
			time.Sleep(20 * time.Millisecond)
		}
		for _, size := range []int{10, 64 << 10, 3 << 20} {
			if _, err := e.store.Complete(ctx, ready(a, got.Expires, make([]byte, size))); !errors.Is(err, canonical.ErrMissing) {
				t.Errorf("complete with %d bytes after the expiry = %v, want ErrMissing", size, err)
			}
			if n := e.client.Exists(ctx, e.record(a)).Val(); n != 0 {
				t.Errorf("%d bytes brought the record's key back", size)
			}
		}
		if _, err := e.store.Admit(ctx, a); !errors.Is(err, canonical.ErrDuplicate) {
			t.Errorf("the name again = %v, want ErrDuplicate", err)
		}
	})
}
