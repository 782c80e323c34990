package redisstore_test

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/redisstore"
)

// Reports from the field on scripts: run twice, half run, forgotten by the
// server, or on keys that they did not name.
func TestBugLog_scripts(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e env) {
		t.Run("B54_a_script_acts_and_its_answer_is_lost", func(t *testing.T) { answersLost(t, e) })
		t.Run("B55_scripts_forgotten_under_load", func(t *testing.T) { forgottenUnderLoad(t, e) })
		t.Run("B67_a_no_changes_nothing", func(t *testing.T) { noChangesNothing(t, e) })
		for _, kind := range []string{"string", "list", "set"} {
			t.Run("B69_a_"+kind+"_in_the_place_of_every_key", func(t *testing.T) { foreignKind(t, e, kind) })
		}
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		t.Run("B54_scripts_forgotten_before_every_message", forgottenBeforeEach)
		t.Run("B55_only_declared_keys_are_touched", declaredKeys)
		t.Run("B67_a_full_server_is_left_as_it_was", fullServer)
	})
}

// step is one message of a story.
type step struct {
	what string
	send func() error
}

// steps is a run's whole life by every script: reads and writes of all sizes, one
// that is swept, settled and resolved, a deletion and the end.
func steps(e env, s *redisstore.Store, name string) []step {
	var state canonical.RunState
	var admitted canonical.Admitted
	of := func(id string, effect canonical.Effect) canonical.Admission { return admission(state, id, effect) }
	saving := func(id string, size int) canonical.Saving {
		a := of(id, canonical.EffectWrite)
		return canonical.Saving{Run: a.Run, Call: a.Call, Claim: a.Claim, Raw: randomRaw(size), Expires: admitted.Expires}
	}
	ending := func(id string, effect canonical.Effect, size int, saved bool) canonical.Ending {
		end := ready(of(id, effect), admitted.Expires, nil)
		end.Raw, end.RawSaved = randomRaw(size), saved
		return end
	}
	admit := func(id string, effect canonical.Effect) step {
		return step{"admit " + id, func() (err error) { admitted, err = s.Admit(ctx, of(id, effect)); return err }}
	}
	end := func(id string, effect canonical.Effect, size int, saved bool) step {
		return step{"complete " + id, func() error { _, err := s.Complete(ctx, ending(id, effect, size, saved)); return err }}
	}
	read, write := canonical.EffectRead, canonical.EffectWrite
	return []step{
		{"open", func() (err error) { state, err = s.OpenRun(ctx, opening0(name)); return err }},
		admit("small", read), end("small", read, 100, false),
		admit("medium", read), end("medium", read, 64<<10, false),
		admit("pieces", read), end("pieces", read, 2<<20, false),
		admit("write", write),
		{"save write", func() error { _, err := s.Save(ctx, saving("write", 64<<10)); return err }},
		end("write", write, 64<<10, true),
		{"admit lost", func() (err error) {
			a := of("lost", write)
			a.Timeout, a.Closing = time.Millisecond, time.Millisecond
			admitted, err = s.Admit(ctx, a)
			return err
		}},
		{"sweep", func() error {
			e.advance(50 * time.Millisecond)
			swept, err := s.Sweep(ctx, canonical.Sweeping{Run: state.Run, Grace: time.Millisecond, Max: 10})
			if err == nil && len(swept) > 1 {
				return fmt.Errorf("swept %v", swept)
			}
			return err
		}},
		{"settle", func() error { _, err := s.Settle(ctx, ending("lost", write, 10<<10, false)); return err }},
		{"resolve", func() error {
			return s.Resolve(ctx, canonical.Resolution{Run: state.Run, Call: callName("lost"), Verdict: canonical.Applied, Evidence: "receipt"})
		}},
		{"delete", func() error { return s.Delete(ctx, state.Run, callName("small")) }},
		{"close", func() error { _, err := s.CloseRun(ctx, canonical.Closing{Run: state.Run, Token: token}); return err }},
	}
}

// opening0 is opening for those who have no test at hand: default limits are
// known to be good.
func opening0(name string) canonical.Opening {
	l := canonical.DefaultLimits()
	b, _ := canonical.Budget{}.WithDefaults(l)
	return canonical.Opening{Run: runKey(name), Token: token, Duration: 15 * time.Minute, Limits: l, Budget: b, Principal: canonical.Principal{User: "u"}}
}

func randomRaw(size int) canonical.Raw { return canonical.NewRaw(someBytes(byte(size), size)) }

// someBytes is a body that no other seed gives.
func someBytes(seed byte, size int) []byte {
	out := make([]byte, size)
	for i := range out {
		out[i] = seed + byte(i*31) ^ byte(i>>8)
	}
	return out
}

// wantStory checks what a run must have come to, by the ledger's own counters.
func wantStory(t *testing.T, e env, name string) {
	t.Helper()
	run := runKey(name)
	state, err := e.store.Inspect(ctx, run)
	if err != nil || state.LastSeq != 5 || state.Phase != canonical.RunClosed {
		t.Fatalf("run %s with %d calls, %v, want closed with 5", state.Phase, state.LastSeq, err)
	}
	if used := e.client.HGet(ctx, e.base(run)+"run", "u:search").Val(); used != "5" {
		t.Errorf("%s calls of the tool are counted, want 5", used)
	}
	for id, size := range map[string]int{"medium": 64 << 10, "pieces": 2 << 20, "write": 64 << 10} {
		rec, err := e.store.Record(ctx, run, callName(id))
		if err != nil || rec.State != lifecycle.Ready || rec.Raw.SHA256 != randomRaw(size).SHA256 {
			t.Errorf("%s: %s with %d bytes, %v, want READY with %d", id, rec.State, rec.Raw.Size, err, size)
		}
	}
	settled, err := e.store.SettlementOf(ctx, run, callName("lost"))
	if err != nil || settled.Late == nil || settled.Resolved == nil {
		t.Errorf("settlement %+v, %v, want a late result and a verdict", settled, err)
	}
	out, err := e.store.Outstanding(ctx, run)
	if err != nil || len(out.Open)+len(out.Effects) != 0 {
		t.Errorf("outstanding %+v, %v, want nothing", out, err)
	}
}

// answersLost: the client sends each message again, as it was, because no answer
// came.
func answersLost(t *testing.T, e env) {
	s, w := wired(t, e, 3)
	sizes := map[bool]int64{}
	for _, lossy := range []bool{false, true} {
		name := "lossy-" + strconv.FormatBool(lossy)
		for _, step := range steps(e, s, name) {
			if lossy {
				w.lose.Store(1)
			}
			if err := step.send(); err != nil {
				t.Fatalf("%s: %v", step.what, err)
			}
			if lossy && w.lose.Load() > 0 {
				t.Errorf("%s: no answer was lost", step.what)
			}
		}
		w.lose.Store(0)
		wantStory(t, e, name)
		state, err := e.store.Inspect(ctx, runKey(name))
		if err != nil {
			t.Fatal(err)
		}
		sizes[lossy] = state.Reserved
	}
	if sizes[true] != sizes[false] {
		t.Errorf("%d bytes of capacity are in use, without losses %d", sizes[true], sizes[false])
	}
}

func forgottenBeforeEach(t *testing.T) {
	e := server(t)
	var messages int64
	for _, step := range steps(e, e.store, "r") {
		if err := e.client.ScriptFlush(ctx).Err(); err != nil {
			t.Fatal(err)
		}
		if err := step.send(); err != nil {
			t.Fatalf("%s: %v", step.what, err)
		}
		messages++
	}
	wantStory(t, e, "r")
	// Settle asks complete first, and opening writes the run into its scope's list:
	// two scripts in one message, both forgotten.
	info, err := e.client.Info(ctx, "errorstats").Result()
	if want := fmt.Sprintf("errorstat_NOSCRIPT:count=%d\r\n", messages+2); err != nil || !strings.Contains(info, want) {
		t.Errorf("%q, %v, want one reload a message: %q", info, err, want)
	}
}

func forgottenUnderLoad(t *testing.T, e env) {
	const workers, each = 8, 25
	o := opening(t, runKey("load"))
	o.Budget = canonical.Budget{Calls: canonical.Unlimited, PerTool: canonical.Unlimited, Bytes: canonical.Unlimited}
	state, err := e.store.OpenRun(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	for w := range workers {
		wait.Go(func() {
			for i := range each {
				a := admission(state, fmt.Sprintf("w%d-%d", w, i), canonical.EffectRead)
				got, err := e.store.Admit(ctx, a)
				if err == nil {
					_, err = e.store.Complete(ctx, ready(a, got.Expires, someBytes(1, []int{10, 8 << 10}[i%2])))
				}
				if err != nil {
					t.Errorf("%s: %v", a.Call, err)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { wait.Wait(); close(done) }()
	flushes := 0
	for working := true; working; flushes++ {
		e.flushScripts(t)
		select {
		case <-done:
			working = false
		default:
		}
	}
	if now, err := e.store.Inspect(ctx, state.Run); err != nil || now.LastSeq != workers*each || flushes < 10 {
		t.Errorf("%d calls, %v, under %d flushes; want %d", now.LastSeq, err, flushes, workers*each)
	}
}

// declaredKeys asks the server what it ran: every key that a script touches is
// one of those that its message named.
func declaredKeys(t *testing.T) {
	e := server(t)
	monitor, err := net.Dial("tcp", e.client.(*redis.Client).Options().Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = monitor.Close() }()
	lines := bufio.NewReader(monitor)
	_, err = monitor.Write([]byte("MONITOR\r\n"))
	if line, bad := lines.ReadString('\n'); err != nil || bad != nil || line != "+OK\r\n" {
		t.Fatalf("MONITOR: %q, %v, %v", line, err, bad)
	}
	touched := map[string]int{}
	var declared []string
	take := func(line string) {
		_, words, _ := strings.Cut(line, `] "`)
		parts := strings.Split(strings.TrimSuffix(words, `"`), `" "`)
		if strings.Contains(line, " lua] ") {
			if len(parts) < 2 || strings.EqualFold(parts[0], "time") || len(declared) == 0 {
				return // a script without keys is this test's own, which moves time
			}
			touched[strings.ToUpper(parts[0])]++
			if !slices.Contains(declared, parts[1]) {
				t.Errorf("%s touches %.100q, the message named %q", parts[0], parts[1], declared)
			}
			return
		}
		if name := strings.ToLower(parts[0]); name != "evalsha" && name != "eval" {
			return
		}
		n, err := strconv.Atoi(parts[2])
		if err != nil || len(parts) < 3+n {
			t.Fatalf("not the line of a script: %.200q", line)
		}
		declared = parts[3 : 3+n]
	}
	for _, step := range steps(e, e.store, "r") {
		if strings.HasSuffix(step.what, "pieces") {
			continue // megabytes in lines
		}
		if err := step.send(); err != nil {
			t.Fatalf("%s: %v", step.what, err)
		}
	}
	if err := e.client.Echo(ctx, "the last word").Err(); err != nil {
		t.Fatal(err)
	}
	if err := monitor.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("the server does not tell what it runs: %v", err)
		}
		if strings.Contains(line, "the last word") {
			break
		}
		take(strings.TrimSuffix(line, "\r\n"))
	}
	for _, name := range []string{"HSET", "HMGET", "ZADD", "ZREM", "PEXPIREAT"} {
		if touched[name] == 0 {
			t.Errorf("no script was seen to send %s: %v", name, touched)
		}
	}
}

// noes are messages that each script refuses, of a run with one open write and
// one ended read.
func noes(s *redisstore.Store, state canonical.RunState, got canonical.Admitted) []step {
	write, read := admission(state, "open", canonical.EffectWrite), admission(state, "ended", canonical.EffectRead)
	foreign := func(a canonical.Admission, size int) canonical.Ending {
		end := ready(a, got.Expires, someBytes(9, size))
		end.Claim = claimOf("nobody's")
		return end
	}
	opened := opening0(string(state.Run.Run))
	others, longer := opened, opened
	others.Token = canonical.Token(strings.Repeat("9", 32))
	longer.Duration = time.Hour
	again := read
	again.Claim = claimOf("another")
	tight := admission(state, "new", canonical.EffectRead)
	tight.ToolBudget = 1
	late := admission(state, "new", canonical.EffectRead)
	late.NotAfter = state.Now.Add(-time.Hour)
	large := admission(state, "new", canonical.EffectRead)
	large.Reserve = 1 << 40
	list := []step{
		{"open, another token", func() error { _, err := s.OpenRun(ctx, others); return err }},
		{"open, other terms", func() error { _, err := s.OpenRun(ctx, longer); return err }},
		{"admit, duplicate", func() error { _, err := s.Admit(ctx, again); return err }},
		{"admit, tool budget", func() error { _, err := s.Admit(ctx, tight); return err }},
		{"admit, too late", func() error { _, err := s.Admit(ctx, late); return err }},
		{"admit, capacity", func() error { _, err := s.Admit(ctx, large); return err }},
		{"resolve, open", func() error {
			return s.Resolve(ctx, canonical.Resolution{Run: state.Run, Call: write.Call, Verdict: canonical.Applied, Evidence: "x"})
		}},
		{"resolve, known", func() error {
			return s.Resolve(ctx, canonical.Resolution{Run: state.Run, Call: read.Call, Verdict: canonical.Applied, Evidence: "x"})
		}},
		{"delete, open", func() error { return s.Delete(ctx, state.Run, write.Call) }},
		{"close, another token", func() error {
			_, err := s.CloseRun(ctx, canonical.Closing{Run: state.Run, Token: others.Token})
			return err
		}},
	}
	for _, size := range []int{10, 64 << 10, 2 << 20} {
		for _, a := range []canonical.Admission{write, read} {
			end := foreign(a, size)
			what := fmt.Sprintf("%s, %d bytes", a.Call, size)
			list = append(list,
				step{"save " + what, func() error {
					_, err := s.Save(ctx, canonical.Saving{Run: a.Run, Call: a.Call, Claim: end.Claim, Raw: end.Raw, Expires: end.Expires})
					return err
				}},
				step{"complete " + what, func() error { _, err := s.Complete(ctx, end); return err }},
				step{"settle " + what, func() error { _, err := s.Settle(ctx, end); return err }})
		}
	}
	return list
}

func noChangesNothing(t *testing.T, e env) {
	state := open(t, e.store, "r")
	read := admission(state, "ended", canonical.EffectRead)
	complete(t, e.store, ready(read, admit(t, e.store, read).Expires, []byte("raw")))
	got := admit(t, e.store, admission(state, "open", canonical.EffectWrite))
	before := snapshot(t, e)
	for _, step := range noes(e.store, state, got) {
		if err := step.send(); !errors.As(err, new(*canonical.RefusedError)) {
			t.Errorf("%s = %v, want a refusal", step.what, err)
		}
		if after := snapshot(t, e); after != before {
			t.Errorf("%s has changed something:\n%s\nwas\n%s", step.what, after, before)
			before = after
		}
	}
}

// fullServer: a script that may not write as much as it wants has written nothing.
func fullServer(t *testing.T) {
	e := server(t, "--maxmemory-policy", "noeviction")
	state := open(t, e.store, "r")
	a := admission(state, "open", canonical.EffectWrite)
	got := admit(t, e.store, a)
	lost := admission(state, "lost", canonical.EffectRead)
	lost.Timeout, lost.Closing = time.Millisecond, time.Millisecond
	swept := admit(t, e.store, lost)
	e.advance(50 * time.Millisecond)
	if _, err := e.store.Sweep(ctx, canonical.Sweeping{Run: state.Run, Max: 10}); err != nil {
		t.Fatal(err)
	}
	unknown := admission(state, "unknown", canonical.EffectWrite)
	end := ready(unknown, admit(t, e.store, unknown).Expires, nil)
	end.Verdict, end.Agent, end.Facts, end.Coverage = lifecycle.Fail(lifecycle.OutcomeUnknown, lifecycle.Unknown), nil, nil, nil
	end.Raw = canonical.Raw{}
	complete(t, e.store, end)
	list := []step{
		{"open", func() error { _, err := e.store.OpenRun(ctx, opening0("another")); return err }},
		{"admit", func() error { _, err := e.store.Admit(ctx, admission(state, "new", canonical.EffectRead)); return err }},
		{"resolve", func() error {
			return e.store.Resolve(ctx, canonical.Resolution{Run: state.Run, Call: unknown.Call, Verdict: canonical.Applied, Evidence: "x"})
		}},
		{"close", func() error {
			_, err := e.store.CloseRun(ctx, canonical.Closing{Run: state.Run, Token: token})
			return err
		}},
	}
	for _, size := range []int{10, 64 << 10, 2 << 20} {
		raw := someBytes(3, size)
		list = append(list,
			step{"save", func() error {
				_, err := e.store.Save(ctx, canonical.Saving{Run: a.Run, Call: a.Call, Claim: a.Claim, Raw: canonical.NewRaw(raw), Expires: got.Expires})
				return err
			}},
			step{"complete", func() error { _, err := e.store.Complete(ctx, ready(a, got.Expires, raw)); return err }},
			step{"settle", func() error { _, err := e.store.Settle(ctx, ready(lost, swept.Expires, raw)); return err }})
	}
	before := snapshot(t, e)
	full(t, e)
	for _, step := range list {
		if step.what == "admit" { // the barrier is up: that is an answer, and comes before any write
			if err := step.send(); !errors.Is(err, canonical.ErrUnresolvedEffect) {
				t.Errorf("admit = %v, want ErrUnresolvedEffect", err)
			}
		} else if err := step.send(); err == nil || errors.As(err, new(*canonical.RefusedError)) {
			t.Errorf("%s without memory = %v, want trouble", step.what, err)
		}
		if after := snapshot(t, e); after != before {
			t.Errorf("%s has half written:\n%s\nwas\n%s", step.what, after, before)
			before = after
		}
	}
	roomy(t, e)
	for _, step := range list[:3] {
		if err := step.send(); step.what != "admit" && err != nil {
			t.Errorf("%s when there is room = %v", step.what, err)
		}
	}
}

// foreignKind plants a value of another type under each key and sends every
// message that needs it.
func foreignKind(t *testing.T, e env, kind string) {
	for part, needs := range touches {
		state := open(t, e.store, kind+"-"+part)
		a := admission(state, "c1", canonical.EffectWrite)
		got := admit(t, e.store, a)
		key := e.base(a.Run) + part
		if part == "call" || part == "settled" {
			key += ":" + a.Call.String()
		}
		if err := e.client.Del(ctx, key).Err(); err != nil {
			t.Fatal(err)
		}
		var planted error
		switch kind {
		case "string":
			planted = e.client.Set(ctx, key, "PROJECTING", 0).Err()
		case "list":
			planted = e.client.RPush(ctx, key, "st", "PROJECTING").Err()
		default:
			planted = e.client.SAdd(ctx, key, "st").Err()
		}
		if planted != nil {
			t.Fatal(planted)
		}
		before := foreignLine(snapshot(t, e), key)
		send := everyKindOfMessage(e, a, got)
		for _, what := range strings.Fields(needs) {
			if err := send[what](); !errors.Is(err, canonical.ErrForeign) {
				t.Errorf("%s in the place of %s: %s = %v, want ErrForeign", kind, part, what, err)
			}
		}
		if now := e.client.Type(ctx, key).Val(); now != kind || foreignLine(snapshot(t, e), key) != before {
			t.Errorf("%s in the place of %s is now a %s: %s, was %s", kind, part, now, foreignLine(snapshot(t, e), key), before)
		}
		switch kind {
		case "string":
			if v := e.client.Get(ctx, key).Val(); v != "PROJECTING" {
				t.Errorf("%s now holds %q", part, v)
			}
		case "list":
			if v := e.client.LRange(ctx, key, 0, -1).Val(); !slices.Equal(v, []string{"st", "PROJECTING"}) {
				t.Errorf("%s now holds %q", part, v)
			}
		default:
			if v := e.client.SMembers(ctx, key).Val(); !slices.Equal(v, []string{"st"}) {
				t.Errorf("%s now holds %q", part, v)
			}
		}
	}
}

// everyKindOfMessage are the messages that the table of touched keys names.
func everyKindOfMessage(e env, a canonical.Admission, got canonical.Admitted) map[string]func() error {
	small, large, huge := ready(a, got.Expires, nil), ready(a, got.Expires, make([]byte, 64<<10)), ready(a, got.Expires, make([]byte, 2<<20))
	return map[string]func() error{
		"admit": func() error { _, err := e.store.Admit(ctx, a); return err },
		"save": func() error {
			_, err := e.store.Save(ctx, canonical.Saving{Run: a.Run, Call: a.Call, Claim: a.Claim, Raw: large.Raw, Expires: got.Expires})
			return err
		},
		"complete": func() error { _, err := e.store.Complete(ctx, small); return err },
		"huge":     func() error { _, err := e.store.Complete(ctx, huge); return err },
		"settle":   func() error { _, err := e.store.Settle(ctx, large); return err },
		"resolve": func() error {
			return e.store.Resolve(ctx, canonical.Resolution{Run: a.Run, Call: a.Call, Verdict: canonical.Applied, Evidence: "x"})
		},
		"delete":      func() error { return e.store.Delete(ctx, a.Run, a.Call) },
		"view":        func() error { _, err := e.store.View(ctx, a.Run, a.Call); return err },
		"record":      func() error { _, err := e.store.Record(ctx, a.Run, a.Call); return err },
		"open":        func() error { _, err := e.store.OpenRun(ctx, opening0(string(a.Run.Run))); return err },
		"inspect":     func() error { _, err := e.store.Inspect(ctx, a.Run); return err },
		"outstanding": func() error { _, err := e.store.Outstanding(ctx, a.Run); return err },
		"order":       func() error { _, err := e.store.Order(ctx, a.Run, 0, 1); return err },
		"sweep":       func() error { _, err := e.store.Sweep(ctx, canonical.Sweeping{Run: a.Run, Max: 1}); return err },
		"settlement":  func() error { _, err := e.store.SettlementOf(ctx, a.Run, a.Call); return err },
		"close":       func() error { _, err := e.store.CloseRun(ctx, canonical.Closing{Run: a.Run, Token: token}); return err },
	}
}
