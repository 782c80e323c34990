package redisstore_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/internal/redistest"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/redisstore/embedded"
)

// Reports from the field on what a server holds: for how long, how much, and what
// it costs to have very much of it.
func TestBugLog_holdings(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e env) {
		t.Run("B64_every_key_expires", func(t *testing.T) { everyKeyExpires(t, e) })
		t.Run("B65_reading_keeps_nothing_alive", func(t *testing.T) { readingKeepsNothing(t, e) })
	})
	t.Run("embedded", func(t *testing.T) {
		t.Run("B70_time_passes_by_itself", func(t *testing.T) { timePasses(t, nil) })
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		for _, s := range []struct {
			name string
			run  func(*testing.T)
		}{
			{"B68_fifty_thousand_calls_in_a_run", manyRecords},
			{"B68_small_calls_beside_large_results", besideLarge},
			{"B70_time_passes_by_itself", func(t *testing.T) { timePasses(t, redistest.Server(t)) }},
			{"B79_memory_is_what_was_stored", memoryIsWhatWasStored},
		} {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				s.run(t)
			})
		}
	})
}

// everyKeyExpires: after each message of a run, also those that are refused. When
// the test moves time it moves every expiry, so then the bound is read anew.
func everyKeyExpires(t *testing.T, e env) {
	run := runKey("ttl")
	var last time.Duration
	var most map[string]time.Duration
	bound := func() {
		most, last = map[string]time.Duration{}, e.client.PExpireTime(ctx, e.base(run)+"run").Val()
		if last <= 0 {
			t.Fatalf("the ledger expires at %v", last)
		}
	}
	check := func(what string) {
		for _, key := range e.keys(t) {
			at, last := e.client.PExpireTime(ctx, key).Val(), last
			if !strings.HasPrefix(key, e.base(run)) {
				last += 10 * time.Second // the list of the scope's runs: a second more, by the clock of another server a moment later
			}
			if was, ok := most[key]; at <= 0 || at > last || ok && at != was {
				t.Errorf("after %s %q expires at %v, was %v; the run expires at %v", what, key, at, was, last)
			}
			most[key] = at
		}
	}
	moving := e
	moving.advance = func(d time.Duration) { e.advance(d); bound() }
	refusals := 0
	for _, step := range steps(moving, e.store, "ttl") {
		if err := step.send(); err != nil {
			t.Fatalf("%s: %v", step.what, err)
		}
		if step.what == "open" {
			bound()
		}
		check(step.what)
		if step.what != "complete pieces" && step.what != "close" {
			continue
		}
		state, err := e.store.Inspect(ctx, run)
		if err != nil {
			t.Fatal(err)
		}
		for _, no := range noes(e.store, state, canonical.Admitted{Expires: state.Expires}) {
			if err := no.send(); err != nil {
				refusals++
			}
			check(no.what)
		}
	}
	if len(most) < 6 || refusals < 30 {
		t.Errorf("%d keys and %d refusals were seen, want those of a whole run", len(most), refusals)
	}
}

func readingKeepsNothing(t *testing.T, e env) {
	state := open(t, e.store, "r")
	a := admission(state, "c1", canonical.EffectWrite)
	got := admit(t, e.store, a)
	complete(t, e.store, ready(a, got.Expires, someBytes(1, 2<<20)))
	openCall := admission(state, "c2", canonical.EffectRead)
	admit(t, e.store, openCall)
	before := map[string]time.Duration{}
	for _, key := range e.keys(t) {
		before[key] = e.client.PExpireTime(ctx, key).Val()
	}
	for i := range 1000 {
		var err error
		switch i % 8 {
		case 0:
			_, err = e.store.View(ctx, a.Run, a.Call)
		case 1:
			_, err = e.store.Heads(ctx, a.Run, []canonical.CallName{a.Call, openCall.Call, callName("none")})
		case 2:
			_, err = e.store.Order(ctx, a.Run, 0, 10)
		case 3:
			_, err = e.store.Inspect(ctx, a.Run)
		case 4:
			_, err = e.store.Outstanding(ctx, a.Run)
		case 5:
			_, err = e.store.SettlementOf(ctx, a.Run, a.Call)
		case 6:
			_, err = e.store.JoinRun(ctx, a.Run, token)
		default:
			if i < 100 {
				_, err = e.store.Record(ctx, a.Run, a.Call)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var record, run time.Duration
	for key, at := range before {
		if now := e.client.PExpireTime(ctx, key).Val(); now != at || at <= 0 {
			t.Errorf("%q expires at %v, before reading at %v", key, now, at)
		}
		if strings.Contains(key, ":call:") {
			record = max(record, at)
		} else if run == 0 || at < run {
			run = at
		}
	}
	if record == 0 || run < record {
		t.Errorf("an index is gone at %v, before a record at %v", run, record)
	}
}

// timePasses: a life falls without anybody's doing, on the server in the process
// as on a real one.
func timePasses(t *testing.T, p *redistest.Process) {
	var s canonical.Store
	var client *redis.Client
	if p != nil {
		s, client = dial(t, p.URL(), nil), p.Client()
	} else {
		server, err := embedded.Start()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(server.Close)
		client = redis.NewClient(&redis.Options{Addr: server.Addr()})
		t.Cleanup(func() { _ = client.Close() })
		s = server.Store()
	}
	o := opening0("r")
	o.Duration = 100 * time.Millisecond
	state, err := s.OpenRun(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	a := admission(state, "c1", canonical.EffectRead)
	a.NotAfter = state.Now.Add(time.Minute)
	if _, err := s.Admit(ctx, a); err != nil {
		t.Fatal(err)
	}
	left := map[string]time.Duration{}
	for _, key := range client.Keys(ctx, "*").Val() {
		left[key] = client.PTTL(ctx, key).Val()
	}
	if len(left) < 3 {
		t.Fatalf("keys %v, want ledger, order and record", left)
	}
	for limit := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		now, err := s.Inspect(ctx, state.Run)
		if err != nil {
			t.Fatal(err)
		}
		if now.Left < -5*time.Millisecond { // the deadline has passed, and was not moved
			if now.Deadline != state.Deadline {
				t.Errorf("the deadline is now %v, was %v", now.Deadline, state.Deadline)
			}
			break
		}
		if time.Now().After(limit) {
			t.Fatalf("a run of 100 ms has %v left after 10 s", now.Left)
		}
	}
	b := admission(state, "c2", canonical.EffectRead)
	b.NotAfter = a.NotAfter
	if _, err := s.Admit(ctx, b); !errors.Is(err, canonical.ErrDeadline) {
		t.Errorf("admit = %v, want ErrDeadline", err)
	}
	for key, was := range left {
		if now := client.PTTL(ctx, key).Val(); now > was-50*time.Millisecond || now <= 0 {
			t.Errorf("%q had %v to live and has %v", key, was, now)
		}
	}
}

// manyRecords: what an admission, an ending, a page, a sweep and the end of the
// run cost does not grow with the run. The calls before are planted: what they
// leave in the keys that scripts touch is known.
func manyRecords(t *testing.T) {
	const calls, page = 50_000, 500
	e := server(t)
	o := opening0("big")
	o.Budget = canonical.Budget{Calls: canonical.Unlimited, PerTool: canonical.Unlimited, Bytes: canonical.Unlimited}
	state, err := e.store.OpenRun(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	admit(t, e.store, admission(state, "first", canonical.EffectRead)) // which makes the order
	for from := 2; from <= calls; from += 1000 {
		_, err := e.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			for i := from; i < min(from+1000, calls+1); i++ {
				pipe.ZAdd(ctx, e.base(state.Run)+"order", redis.Z{Score: float64(i), Member: fmt.Sprintf(":c%d", i)})
				pipe.HSet(ctx, e.base(state.Run)+"run", fmt.Sprintf("c::c%d", i), i)
			}
			pipe.HSet(ctx, e.base(state.Run)+"run", "sq", min(from+999, calls))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := e.client.ConfigResetStat(ctx).Err(); err != nil {
		t.Fatal(err)
	}
	var seen int64
	for {
		list, err := e.store.Order(ctx, state.Run, seen, page)
		if err != nil || len(list) > page {
			t.Fatalf("a page of %d behind %d, %v, want at most %d", len(list), seen, err, page)
		}
		if len(list) == 0 {
			break
		}
		for i, entry := range list {
			if entry.Seq != seen+int64(i)+1 {
				t.Fatalf("call %d stands behind %d", entry.Seq, seen+int64(i))
			}
		}
		seen += int64(len(list))
	}
	if seen != calls {
		t.Errorf("%d calls in the order, want %d", seen, calls)
	}
	for i := range 50 {
		a := admission(state, fmt.Sprintf("new-%d", i), canonical.EffectWrite)
		got := admit(t, e.store, a)
		if got.Seq != calls+int64(i)+1 {
			t.Fatalf("admitted as %d, want %d", got.Seq, calls+i+1)
		}
		complete(t, e.store, ready(a, got.Expires, someBytes(1, 100)))
		again := a
		again.Call, again.Claim = callName(fmt.Sprintf("c%d", 2+i)), claimOf("x")
		if _, err := e.store.Admit(ctx, again); !errors.Is(err, canonical.ErrDuplicate) {
			t.Errorf("one of fifty thousand names again = %v, want ErrDuplicate", err)
		}
		if _, err := e.store.Sweep(ctx, canonical.Sweeping{Run: state.Run, Max: canonical.MaxSweep}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := e.store.CloseRun(ctx, canonical.Closing{Run: state.Run, Token: token}); err != nil {
		t.Fatal(err)
	}
	for name, value := range commandTimes(t, e.client) {
		if value > 5000 {
			t.Errorf("%s takes %.0f microseconds on average, want at most 5000", name, value)
		}
	}
}

// commandTimes is the server's own account: microseconds a call, by command.
func commandTimes(t *testing.T, client redis.UniversalClient) map[string]float64 {
	t.Helper()
	text, err := client.Info(ctx, "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	times := map[string]float64{}
	for line := range strings.Lines(text) {
		name, rest, ok := strings.Cut(strings.TrimSpace(line), ":")
		_, number, found := strings.Cut(rest, "usec_per_call=")
		if !ok || !found {
			continue
		}
		number, _, _ = strings.Cut(number, ",")
		if times[strings.TrimPrefix(name, "cmdstat_")], err = strconv.ParseFloat(number, 64); err != nil {
			t.Fatal(err)
		}
	}
	if times["evalsha"] == 0 || times["zrangebyscore"] == 0 {
		t.Fatalf("the server tells nothing of scripts and pages: %v", times)
	}
	return times
}

// besideLarge: one caller stores 4 MiB after 4 MiB; another one's small calls on
// the same server go on. The bound is what this page promises on a busy machine;
// on a quiet one they take a few milliseconds.
func besideLarge(t *testing.T) {
	const bound = 500 * time.Millisecond
	e := server(t)
	o := opening0("large")
	o.Budget = canonical.Budget{Calls: canonical.Unlimited, PerTool: canonical.Unlimited, Bytes: canonical.Unlimited}
	state, err := e.store.OpenRun(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var wait sync.WaitGroup
	stored := 0
	wait.Go(func() {
		raw := someBytes(7, 4<<20)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			a := admission(state, fmt.Sprintf("large-%d", i%8), canonical.EffectRead)
			a.Call.Turn = canonical.Turn(strconv.Itoa(i))
			a.Claim = claimOf(a.Call.String())
			got, err := e.store.Admit(ctx, a)
			if err == nil {
				_, err = e.store.Complete(ctx, ready(a, got.Expires, raw))
			}
			if err == nil {
				err = e.store.Delete(ctx, a.Run, a.Call) // so that the server does not grow
			}
			if err != nil {
				t.Errorf("%s: %v", a.Call, err)
				return
			}
			stored++
		}
	})
	s := dial(t, e.url, nil)
	o.Run = runKey("small")
	small, err := s.OpenRun(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	var times []time.Duration
	for i := range 300 {
		a := admission(small, fmt.Sprintf("c%d", i), canonical.EffectRead)
		start := time.Now()
		got := admit(t, s, a)
		complete(t, s, ready(a, got.Expires, someBytes(1, 100)))
		times = append(times, time.Since(start))
	}
	close(stop)
	wait.Wait()
	slices.Sort(times)
	if p99 := times[len(times)*99/100]; p99 > bound || stored < 3 {
		t.Errorf("beside %d results of 4 MiB the 99th of 100 small calls took %v, want at most %v", stored, p99, bound)
	}
}

func memoryIsWhatWasStored(t *testing.T) {
	const results, size, shown = 3, 256 << 10, 16 << 10
	e := server(t)
	state := open(t, e.store, "r")
	for i := range results {
		effect := canonical.EffectRead
		if i == 1 {
			effect = canonical.EffectWrite // whose result is saved first and ended then
		}
		a := admission(state, fmt.Sprintf("c%d", i), effect)
		got := admit(t, e.store, a)
		end := canonical.Ending{Run: a.Run, Call: a.Call, Claim: a.Claim, Verdict: lifecycle.Succeed(evidence.Found),
			Raw: canonical.NewRaw(someBytes(byte(i), size)), Agent: someBytes(byte(i), shown), Expires: got.Expires}
		if effect != canonical.EffectRead {
			if _, err := e.store.Save(ctx, canonical.Saving{Run: a.Run, Call: a.Call, Claim: a.Claim, Raw: end.Raw, Expires: got.Expires}); err != nil {
				t.Fatal(err)
			}
			end.RawSaved = true
		}
		complete(t, e.store, end)
		if _, err := e.store.Complete(ctx, end); err != nil { // once more costs nothing
			t.Fatal(err)
		}
	}
	var stored, used int64
	for _, key := range e.keys(t) {
		n, err := e.client.MemoryUsage(ctx, key, 0).Result()
		if err != nil {
			t.Fatal(err)
		}
		used += n
		if !strings.Contains(key, ":call:") {
			continue
		}
		fields, err := e.client.HGetAll(ctx, key).Result()
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range fields {
			stored += int64(len(name) + len(value))
		}
	}
	const wanted = results * (size + shown)
	if most := int64(wanted) * 102 / 100; stored > most || stored < wanted {
		t.Errorf("%d bytes are stored for %d of results and projections, want at most %d", stored, wanted, most)
	}
	// An allocator hands out sizes a quarter apart, and 256 KiB with its head is
	// just above one of them.
	if most := int64(wanted) * 13 / 10; used > most {
		t.Errorf("%d bytes of memory for %d of results and projections, want at most %d", used, wanted, most)
	}
}
