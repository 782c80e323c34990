package redisstore_test

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/internal/redistest"
	"github.com/toolharness/harness/lifecycle"
)

// server is a store on a redis-server of its own, for tests that change or count
// what all clients of a server see.
func server(t testing.TB, args ...string) env {
	t.Helper()
	p := redistest.Server(t, args...)
	return env{store: dial(t, p.URL(), nil), client: p.Client(), url: p.URL(), advance: func(d time.Duration) { shift(t, p.Client(), "*", d) }}
}

// payloadFields lists the fields of a record that hold bodies.
func payloadFields(t testing.TB, e env, key string) []string {
	t.Helper()
	all, err := e.client.HKeys(ctx, key).Result()
	if err != nil {
		t.Fatal(err)
	}
	var fields []string
	for _, field := range all {
		if strings.Contains(field, ":") {
			fields = append(fields, field)
		}
	}
	return fields
}

// lostScripts is a hook that empties the script cache before a transaction, the
// first unless some are let through, and lets nothing through after it.
type lostScripts struct {
	flush   func()
	through int
	sent    int
}

// DialHook implements [redis.Hook].
func (l *lostScripts) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements [redis.Hook].
func (l *lostScripts) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

// ProcessPipelineHook implements [redis.Hook].
func (l *lostScripts) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if !carries(cmds) {
			return next(ctx, cmds)
		}
		switch l.sent++; {
		case l.sent <= l.through:
		case l.sent == l.through+1:
			l.flush()
		default:
			return errKilled
		}
		return next(ctx, cmds)
	}
}

func TestScript(t *testing.T) {
	t.Parallel()
	t.Run("redis", func(t *testing.T) {
		t.Run("P10_noscript_in_multi_then_client_dies", func(t *testing.T) {
			for _, gone := range []bool{false, true} {
				e := server(t)
				state := open(t, e.store, "r")
				a := admission(state, "c1", canonical.EffectRead)
				got := admit(t, e.store, a)
				if gone {
					e.advance(25 * time.Hour)
				}
				hook := &lostScripts{flush: func() {
					if err := e.client.ScriptFlush(ctx).Err(); err != nil {
						t.Error(err)
					}
				}}
				large := ready(a, got.Expires, make([]byte, 64<<10))
				if _, err := hooked(t, e, hook).Complete(ctx, large); err == nil || hook.sent != 2 {
					t.Fatalf("complete = %v after %d transactions, want an error after NOSCRIPT and the end of the client", err, hook.sent)
				}
				at := e.client.PExpireTime(ctx, e.record(a)).Val()
				if gone {
					if at != -2 {
						t.Errorf("the expired record is there again, with the expiry %v", at)
					}
					continue
				}
				if at.Milliseconds() != got.Expires.UnixMilli() || len(payloadFields(t, e, e.record(a))) == 0 {
					t.Errorf("expiry %d, fields %v; want %d as at birth, and the fields of the unfinished ending", at.Milliseconds(), payloadFields(t, e, e.record(a)), got.Expires.UnixMilli())
				}
				complete(t, e.store, large)
			}
		})
		t.Run("P10_noscript_while_a_late_result_is_settled", func(t *testing.T) {
			e := server(t)
			state := open(t, e.store, "r")
			a := admission(state, "c1", canonical.EffectRead)
			got := admit(t, e.store, a)
			e.advance(time.Hour)
			if _, err := e.store.Sweep(ctx, canonical.Sweeping{Run: a.Run, Max: 1}); err != nil {
				t.Fatal(err)
			}
			if _, err := e.store.Complete(ctx, ready(a, got.Expires, nil)); !errors.Is(err, canonical.ErrConflict) { // makes the script known
				t.Fatal(err)
			}
			hook := &lostScripts{through: 1, flush: func() {
				if err := e.client.ScriptFlush(ctx).Err(); err != nil {
					t.Error(err)
				}
			}}
			late := ready(a, got.Expires, make([]byte, 64<<10))
			if _, err := hooked(t, e, hook).Settle(ctx, late); err == nil || hook.sent != 3 {
				t.Fatalf("settle = %v after %d transactions, want an error behind complete and NOSCRIPT", err, hook.sent)
			}
			key := e.base(a.Run) + "settled:" + a.Call.String()
			if at, want := e.client.PExpireTime(ctx, key).Val(), e.client.PExpireTime(ctx, e.base(a.Run)+"run").Val(); at != want || at < 0 {
				t.Errorf("the unfinished settlement expires %d, want with the run, %d", at, want)
			}
			if set, err := e.store.SettlementOf(ctx, a.Run, a.Call); err != nil || set.Late != nil {
				t.Errorf("an unfinished settlement reads as %+v, %v", set.Late, err)
			}
			if _, err := e.store.Settle(ctx, late); err != nil {
				t.Fatal(err)
			}
			if set, err := e.store.SettlementOf(ctx, a.Run, a.Call); err != nil || !bytes.Equal(set.Late.Raw.Bytes, late.Raw.Bytes) {
				t.Errorf("settled again: %+v, %v", set.Late, err)
			}
		})
		t.Run("P10_scripts_lost_and_repaired", func(t *testing.T) {
			e := server(t)
			state := open(t, e.store, "r")
			for i, size := range []int{10, 64 << 10, 3 << 20} {
				a := admission(state, "c"+string(rune('1'+i)), canonical.EffectRead)
				flush := func() {
					t.Helper()
					if err := e.client.ScriptFlush(ctx).Err(); err != nil {
						t.Fatal(err)
					}
				}
				flush()
				got := admit(t, e.store, a)
				flush()
				raw := bytes.Repeat([]byte("r"), size)
				complete(t, e.store, ready(a, got.Expires, raw))
				if rec, err := e.store.Record(ctx, a.Run, a.Call); err != nil || !bytes.Equal(rec.Raw.Bytes, raw) {
					t.Errorf("%d bytes: %v", size, err)
				}
				flush()
			}
			if _, err := e.store.Sweep(ctx, canonical.Sweeping{Run: state.Run, Max: 5}); err != nil {
				t.Errorf("sweep: %v", err)
			}
		})
	})
}

// A record that goes between two pieces of its raw.
func TestPieces(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e env) {
		for what, remove := range map[string]func(key string) error{
			"deleted": func(key string) error { return e.client.Del(ctx, key).Err() },
			"expired": func(key string) error { return e.client.PExpireAt(ctx, key, time.Unix(1, 0)).Err() },
		} {
			for _, groups := range []int{1, 2, 5} {
				t.Run("P11_record_"+what+"_between_two_pieces", func(t *testing.T) {
					name := what + string(rune('0'+groups))
					state := open(t, e.store, name)
					a := admission(state, "c1", canonical.EffectWrite)
					got := admit(t, e.store, a)
					hook := &cutter{after: groups, then: func() error { return remove(e.record(a)) }}
					s := hooked(t, e, hook)
					var err error
					if groups%2 == 1 {
						_, err = s.Complete(ctx, ready(a, got.Expires, make([]byte, 2<<20)))
					} else {
						_, err = s.Save(ctx, canonical.Saving{Run: a.Run, Call: a.Call, Claim: a.Claim, Raw: canonical.NewRaw(make([]byte, 2<<20)), Expires: got.Expires})
					}
					if !errors.Is(err, canonical.ErrMissing) || hook.after != -1 {
						t.Errorf("err = %v, want ErrMissing", err)
					}
					if n := e.client.Exists(ctx, e.record(a)).Val(); n != 0 {
						t.Errorf("the record's key is there again: %v", payloadFields(t, e, e.record(a)))
					}
				})
			}
		}
		for _, groups := range []int{1, 4} {
			t.Run("P13_client_dies_between_two_pieces", func(t *testing.T) {
				state := open(t, e.store, "dies"+string(rune('0'+groups)))
				a := admission(state, "c1", canonical.EffectRead)
				got := admit(t, e.store, a)
				s := hooked(t, e, &cutter{after: groups, then: func() error { return errKilled }})
				if _, err := s.Complete(ctx, ready(a, got.Expires, make([]byte, 2<<20))); err == nil || errors.As(err, new(*canonical.RefusedError)) {
					t.Fatalf("complete = %v, want trouble", err)
				}
				if n := len(payloadFields(t, e, e.record(a))); n != groups {
					t.Fatalf("%d pieces arrived, want %d", n, groups)
				}
				e.advance(time.Hour)
				swept, err := e.store.Sweep(ctx, canonical.Sweeping{Run: state.Run, Grace: time.Minute, Max: 10})
				if err != nil || len(swept) != 1 || swept[0].Code != lifecycle.Orphaned {
					t.Fatalf("sweep = %+v, %v", swept, err)
				}
				if left := payloadFields(t, e, e.record(a)); len(left) != 0 {
					t.Errorf("after the sweep the record still has %v", left)
				}
				if now, err := e.store.Inspect(ctx, state.Run); err != nil || now.Reserved != int64(len(a.Request)) {
					t.Errorf("%d bytes in use (%v), want those of the request, %d", now.Reserved, err, len(a.Request))
				}
			})
		}
	})
}

// Bytes of a delivery that broke off do not stay when another one ends the call.
func TestPieces_left_over_go_with_the_end(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e env) {
		state := open(t, e.store, "r")
		a := admission(state, "c1", canonical.EffectRead)
		got := admit(t, e.store, a)
		s := hooked(t, e, &cutter{after: 2, then: func() error { return errKilled }})
		if _, err := s.Complete(ctx, ready(a, got.Expires, make([]byte, 2<<20))); err == nil {
			t.Fatal("the delivery was not broken off")
		}
		if n := len(payloadFields(t, e, e.record(a))); n != 2 {
			t.Fatalf("%d pieces arrived, want 2", n)
		}
		complete(t, e.store, ready(a, got.Expires, []byte("other bytes")))
		if left := payloadFields(t, e, e.record(a)); len(left) != 4 { // raw, agent result, facts, coverage
			t.Errorf("the record has the fields %v, want four", left)
		}
	})
}

// A digest that the caller left out is computed; a raw that was said to be saved
// must be the one that was.
func TestRaw_is_what_it_says(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e env) {
		state := open(t, e.store, "r")
		a := admission(state, "c1", canonical.EffectRead)
		got := admit(t, e.store, a)
		plain := ready(a, got.Expires, []byte("raw"))
		plain.Raw = canonical.Raw{Bytes: canonical.Body("raw")}
		complete(t, e.store, plain)
		rec, err := e.store.Record(ctx, a.Run, a.Call)
		if want := canonical.NewRaw([]byte("raw")); err != nil || !reflect.DeepEqual(rec.Raw, want) {
			t.Errorf("raw = %+v, %v; want %+v", rec.Raw, err, want)
		}
		if again, err := e.store.Save(ctx, canonical.Saving{Run: a.Run, Call: a.Call, Claim: a.Claim, Raw: canonical.NewRaw([]byte("raw"))}); err != nil || !again.Repeat {
			t.Errorf("the same bytes saved afterwards = %+v, %v; want a repeat", again, err)
		}
		saved, none := admission(state, "saved", canonical.EffectRead), admission(state, "none", canonical.EffectRead)
		admit(t, e.store, saved)
		admit(t, e.store, none)
		if _, err := e.store.Save(ctx, canonical.Saving{Run: a.Run, Call: saved.Call, Claim: saved.Claim, Raw: canonical.NewRaw([]byte("saved"))}); err != nil {
			t.Fatal(err)
		}
		e.advance(time.Hour)
		if swept, err := e.store.Sweep(ctx, canonical.Sweeping{Run: a.Run, Max: 9}); err != nil || len(swept) != 2 {
			t.Fatalf("swept %v, %v", swept, err)
		}
		for _, call := range []canonical.Admission{saved, none} {
			other := ready(call, got.Expires, []byte("other"))
			other.RawSaved, other.Raw.Bytes = true, nil
			if _, err := e.store.Settle(ctx, other); !errors.Is(err, canonical.ErrConflict) {
				t.Errorf("%s: settle with a raw that was not saved = %v, want ErrConflict", call.Call, err)
			}
		}
		right := ready(saved, got.Expires, []byte("saved"))
		right.RawSaved, right.Raw.Bytes = true, nil
		if _, err := e.store.Settle(ctx, right); err != nil {
			t.Fatal(err)
		}
		if set, err := e.store.SettlementOf(ctx, a.Run, saved.Call); err != nil || string(set.Late.Raw.Bytes) != "saved" {
			t.Errorf("the late raw is %+v, %v", set.Late, err)
		}
	})
}

// A record must not live longer than its run, nor be due later than the run's
// deadline and what its end may take, whatever its admission asks for.
func TestAdmit_within_the_life_of_the_run(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e env) {
		state := open(t, e.store, "r")
		a := admission(state, "c1", canonical.EffectWrite)
		a.TTL, a.Timeout = 1000*time.Hour, 100*time.Hour
		got := admit(t, e.store, a)
		if !got.Expires.Equal(state.Expires) {
			t.Errorf("the record expires %v, want with its run, %v", got.Expires, state.Expires)
		}
		if want := state.Deadline.Add(a.Closing); !got.Due.Equal(want) {
			t.Errorf("the call is due %v, want %v", got.Due, want)
		}
	})
}

// Delete takes the bodies of a late result as well; what a host decided stays.
func TestDelete_takes_late_bodies(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e env) {
		state := open(t, e.store, "r")
		a := admission(state, "c1", canonical.EffectRead)
		got := admit(t, e.store, a)
		e.advance(time.Hour)
		if _, err := e.store.Sweep(ctx, canonical.Sweeping{Run: a.Run, Max: 1}); err != nil {
			t.Fatal(err)
		}
		if _, err := e.store.Settle(ctx, ready(a, got.Expires, make([]byte, 64<<10))); err != nil {
			t.Fatal(err)
		}
		if err := e.store.Resolve(ctx, canonical.Resolution{Run: a.Run, Call: a.Call, Verdict: canonical.NotApplied, Evidence: "x"}); err != nil {
			t.Fatal(err)
		}
		key := e.base(a.Run) + "settled:" + a.Call.String()
		if n := len(payloadFields(t, e, key)); n != 2 {
			t.Fatalf("the settlement has %d bodies, want 2", n)
		}
		if err := e.store.Delete(ctx, a.Run, a.Call); err != nil {
			t.Fatal(err)
		}
		if left := payloadFields(t, e, key); len(left) != 0 {
			t.Errorf("the settlement still has %v", left)
		}
		set, err := e.store.SettlementOf(ctx, a.Run, a.Call)
		if err != nil || set.Late != nil || set.Resolved == nil || set.Resolved.Verdict != canonical.NotApplied {
			t.Errorf("the settlement is %+v, %v; want the verdict alone", set, err)
		}
	})
}

// A ledger that was evicted does not come back as a key without a life, and what
// is still there can be ended and read.
func TestLedger_that_is_lost(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e env) {
		state := open(t, e.store, "r")
		a, b, c := admission(state, "c1", canonical.EffectWrite), admission(state, "c2", canonical.EffectWrite), admission(state, "c3", canonical.EffectRead)
		got := admit(t, e.store, a)
		admit(t, e.store, b)
		admit(t, e.store, c)
		complete(t, e.store, ready(c, got.Expires, []byte("raw")))
		if err := e.client.Del(ctx, e.base(a.Run)+"run").Err(); err != nil {
			t.Fatal(err)
		}
		complete(t, e.store, ready(a, got.Expires, []byte("raw")))
		if _, err := e.store.Save(ctx, canonical.Saving{Run: b.Run, Call: b.Call, Claim: b.Claim, Raw: canonical.NewRaw([]byte("raw"))}); err != nil {
			t.Errorf("save = %v", err)
		}
		if err := e.store.Delete(ctx, c.Run, c.Call); err != nil {
			t.Errorf("delete = %v", err)
		}
		if _, err := e.store.Admit(ctx, admission(state, "c4", canonical.EffectRead)); !errors.Is(err, canonical.ErrRunMissing) {
			t.Errorf("admit = %v, want ErrRunMissing", err)
		}
		if again, err := e.store.Admit(ctx, b); err != nil || !again.Own {
			t.Errorf("our own claim again = %+v, %v; want it recognized", again, err)
		}
		if n := e.client.Exists(ctx, e.base(a.Run)+"run").Val(); n != 0 {
			t.Errorf("the ledger is there again: %v", e.client.HGetAll(ctx, e.base(a.Run)+"run").Val())
		}
		for _, key := range e.keys(t) {
			if e.client.PTTL(ctx, key).Val() < 0 {
				t.Errorf("%s has no expiry", key)
			}
		}
	})
}

// A refusal takes only what came with it and was not accepted.
func TestP09_a_refusal_leaves_no_field_behind(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e env) {
		state := open(t, e.store, "r")
		a := admission(state, "c1", canonical.EffectRead)
		got := admit(t, e.store, a)
		accepted := ready(a, got.Expires, bytes.Repeat([]byte("a"), 64<<10))
		complete(t, e.store, accepted)
		before := snapshot(t, e)
		for what, change := range map[string]func(*canonical.Ending){
			"other raw":     func(o *canonical.Ending) { o.Raw = canonical.NewRaw(bytes.Repeat([]byte("b"), 3<<20)) },
			"the same raw":  func(o *canonical.Ending) { o.Agent = canonical.Body("other") },
			"another claim": func(o *canonical.Ending) { o.Claim = "another" },
			"an error": func(o *canonical.Ending) {
				o.Verdict, o.Agent = lifecycle.Fail(lifecycle.ToolTimeout, lifecycle.Completed), nil
			},
			"a large agent too": func(o *canonical.Ending) { o.Agent = make(canonical.Body, 9<<10) },
		} {
			e2 := accepted
			change(&e2)
			if _, err := e.store.Complete(ctx, e2); !errors.Is(err, canonical.ErrConflict) {
				t.Errorf("%s: %v, want ErrConflict", what, err)
			}
			if after := snapshot(t, e); after != before {
				t.Errorf("%s changed\n%s\nto\n%s", what, before, after)
			}
		}
		if rec, err := e.store.Record(ctx, a.Run, a.Call); err != nil || !bytes.Equal(rec.Raw.Bytes, accepted.Raw.Bytes) {
			t.Errorf("the accepted raw: %v", err)
		}
	})
}

// A key of another type in the place of any of ours.
func TestForeign(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e env) {
		for part, needs := range touches {
			t.Run("T58_in_the_place_of_"+part, func(t *testing.T) { foreign(t, e, part, needs) })
		}
	})
}

// touches says which messages need a key to be ours.
var touches = map[string]string{
	"call":    "admit save complete huge settle resolve delete view record",
	"run":     "admit save complete huge settle resolve delete open inspect close outstanding order sweep",
	"order":   "admit order",
	"open":    "admit complete huge settle close outstanding sweep",
	"effects": "admit save complete huge settle resolve delete close outstanding",
	"settled": "resolve delete settlement",
}

func foreign(t *testing.T, e env, part, needs string) {
	state := open(t, e.store, part)
	a := admission(state, "c1", canonical.EffectWrite)
	got := admit(t, e.store, a)
	key := e.base(a.Run) + part
	if part == "call" || part == "settled" {
		key += ":" + a.Call.String()
	}
	if err := e.client.Del(ctx, key).Err(); err != nil {
		t.Fatal(err)
	}
	if err := e.client.Set(ctx, key, "somebody else's", 0).Err(); err != nil {
		t.Fatal(err)
	}
	line := foreignLine(snapshot(t, e), key)
	large, huge := ready(a, got.Expires, make([]byte, 64<<10)), ready(a, got.Expires, make([]byte, 3<<20))
	send := map[string]func() error{
		"open":        func() error { _, err := e.store.OpenRun(ctx, opening(t, a.Run)); return err },
		"inspect":     func() error { _, err := e.store.Inspect(ctx, a.Run); return err },
		"outstanding": func() error { _, err := e.store.Outstanding(ctx, a.Run); return err },
		"order":       func() error { _, err := e.store.Order(ctx, a.Run, 0, 1); return err },
		"sweep":       func() error { _, err := e.store.Sweep(ctx, canonical.Sweeping{Run: a.Run, Max: 1}); return err },
		"settlement":  func() error { _, err := e.store.SettlementOf(ctx, a.Run, a.Call); return err },
		"close":       func() error { _, err := e.store.CloseRun(ctx, canonical.Closing{Run: a.Run, Token: token}); return err },
		"huge":        func() error { _, err := e.store.Complete(ctx, huge); return err },
	}
	for what, err := range everyMessage(e, a, large) {
		send[what] = func() error { return err }
	}
	for _, what := range strings.Fields(needs) {
		if err := send[what](); !errors.Is(err, canonical.ErrForeign) {
			t.Errorf("%s = %v, want ErrForeign", what, err)
		}
	}
	if value := e.client.Get(ctx, key).Val(); value != "somebody else's" || foreignLine(snapshot(t, e), key) != line {
		t.Errorf("the foreign key was touched: %q\n%s", value, snapshot(t, e))
	}
	heads, err := e.store.Heads(ctx, a.Run, []canonical.CallName{a.Call, callName("none")})
	if err != nil || (part == "call") != (heads[0].Fault == canonical.ErrForeign) || heads[1].Exists() || heads[1].Fault != nil {
		t.Errorf("heads = %+v, %v", heads, err)
	}
}

// foreignLine is how a snapshot shows a key, its expiry included.
func foreignLine(snapshot, key string) string {
	for line := range strings.Lines(snapshot) {
		if strings.HasPrefix(line, key+" expires ") {
			return line
		}
	}
	return "\x00 no such key"
}
