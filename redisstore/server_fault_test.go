package redisstore_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/internal/redistest"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/redisstore"
)

// What a server does to those who use it. Each has a typed answer, and nothing is
// half written.
func TestServerFault(t *testing.T) {
	t.Parallel()
	t.Run("redis", func(t *testing.T) {
		for name, test := range map[string]func(*testing.T){
			"restart_without_persistence":  restartForgets,
			"restart_with_appendfsync":     restartRemembers,
			"scripts_flushed_all_the_time": scriptsFlushed,
			"read_only_replica":            readOnlyReplica,
			"busy_with_a_script":           busyServer,
			"loading":                      loadingServer,
			"too_few_replicas_to_write":    noReplicas,
		} {
			t.Run(name, func(t *testing.T) { t.Parallel(); test(t) })
		}
	})
}

// wantTrouble checks that an answer is trouble of this kind, in both of its texts,
// and no decision of the store's.
func wantTrouble(t *testing.T, what string, err error, code, words string) {
	t.Helper()
	failed, ok := errors.AsType[*redisstore.Error](err)
	if !ok || errors.As(err, new(*canonical.RefusedError)) || !strings.Contains(failed.Error(), code) || !strings.Contains(failed.SafeText(), words) {
		t.Errorf("%s = %v, want an Error of %s", what, err, code)
	}
}

// midway is a run with a call that has not ended, and messages that each write.
func midway(t *testing.T, s *redisstore.Store) (canonical.Admission, map[string]func() error) {
	t.Helper()
	state := open(t, s, "r")
	a := admission(state, "c1", canonical.EffectWrite)
	got := admit(t, s, a)
	send := map[string]func() error{
		"open":  func() error { _, err := s.OpenRun(ctx, opening(t, runKey("another"))); return err },
		"admit": func() error { _, err := s.Admit(ctx, admission(state, "c2", canonical.EffectRead)); return err },
		"save": func() error {
			_, err := s.Save(ctx, canonical.Saving{Run: a.Run, Call: a.Call, Claim: a.Claim, Raw: canonical.NewRaw(make([]byte, 64<<10)), Expires: got.Expires})
			return err
		},
		"close": func() error { _, err := s.CloseRun(ctx, canonical.Closing{Run: a.Run, Token: token}); return err },
	}
	for what, size := range map[string]int{"complete small": 10, "complete": 64 << 10, "complete large": 3 << 20} {
		send[what] = func() error { _, err := s.Complete(ctx, ready(a, got.Expires, make([]byte, size))); return err }
	}
	return a, send
}

// wantRefusedByServer sends every message, and checks that none left anything.
func wantRefusedByServer(t *testing.T, e env, send map[string]func() error, code, words string) {
	t.Helper()
	before := snapshot(t, e)
	for what, do := range send {
		wantTrouble(t, what, do(), code, words)
	}
	if after := snapshot(t, e); after != before {
		t.Errorf("something was written:\n%s\nwas\n%s", after, before)
	}
}

func restartForgets(t *testing.T) {
	p := redistest.Server(t)
	s := dial(t, p.URL(), nil)
	a, send := midway(t, s)
	p.Restart()
	delete(send, "open")
	for what, do := range send {
		if err := do(); !errors.Is(err, canonical.ErrRunMissing) && !errors.Is(err, canonical.ErrMissing) {
			t.Errorf("%s after all was forgotten = %v, want it missing", what, err)
		}
	}
	if _, err := s.Record(ctx, a.Run, a.Call); !errors.Is(err, canonical.ErrMissing) {
		t.Errorf("record = %v, want ErrMissing", err)
	}
	if n := p.Client().DBSize(ctx).Val(); n != 0 {
		t.Errorf("%d keys came back", n)
	}
}

func restartRemembers(t *testing.T) {
	p := redistest.Server(t, "--appendonly", "yes", "--appendfsync", "always")
	s := dial(t, p.URL(), nil)
	a, _ := midway(t, s)
	e := env{client: p.Client(), url: p.URL()}
	before := snapshot(t, e)
	p.Kill()
	p.Start()
	if after := snapshot(t, e); after != before {
		t.Errorf("after the restart\n%s\nwas\n%s", after, before)
	}
	if again, err := s.Admit(ctx, a); err != nil || !again.Own || again.Seq != 1 {
		t.Errorf("the admission again = %+v, %v; want our own", again, err)
	}
	complete(t, s, ready(a, time.Now().Add(time.Hour), make([]byte, 64<<10))) // by scripts that the server has forgotten
	if rec, err := s.Record(ctx, a.Run, a.Call); err != nil || rec.State != lifecycle.Ready {
		t.Errorf("record %s, %v; want READY", rec.State, err)
	}
}

// scriptsFlushed empties the script cache between any two commands.
func scriptsFlushed(t *testing.T) {
	e := server(t)
	state := open(t, e.store, "r")
	stop, done := make(chan struct{}), make(chan int)
	go func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				done <- n
				return
			default:
				_ = e.client.ScriptFlush(ctx) // one that fails is not counted on
			}
		}
	}()
	for i := range 8 {
		for _, size := range []int{10, 64 << 10, 2 << 20} {
			a := admission(state, fmt.Sprintf("c%d-%d", i, size), canonical.EffectWrite)
			a.Reserve = 0
			got, err := e.store.Admit(ctx, a)
			if errors.Is(err, canonical.ErrRunBudget) || errors.Is(err, canonical.ErrToolBudget) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			end := ready(a, got.Expires, make([]byte, size))
			if _, err := e.store.Save(ctx, canonical.Saving{Run: a.Run, Call: a.Call, Claim: a.Claim, Raw: end.Raw, Expires: got.Expires}); err != nil {
				t.Fatal(err)
			}
			end.RawSaved = true
			complete(t, e.store, end)
			if rec, err := e.store.Record(ctx, a.Run, a.Call); err != nil || rec.State != lifecycle.Ready || len(rec.Raw.Bytes) != size {
				t.Errorf("%d bytes: %s, %v", size, rec.State, err)
			}
		}
	}
	close(stop)
	if n := <-done; n < 24 {
		t.Errorf("the scripts were flushed %d times, which shows little", n)
	}
}

func readOnlyReplica(t *testing.T) {
	g := redistest.Replicated(t, 1)
	midway(t, dial(t, g.Primary.URL(), nil))
	g.Synchronize(t)
	replica := dial(t, g.Replicas[0].URL(), &redisstore.Options{MaxRetries: -1})
	state, err := replica.Inspect(ctx, runKey("r"))
	if err != nil {
		t.Fatalf("a replica can be read: %v", err)
	}
	a := admission(state, "c1", canonical.EffectWrite)
	e := env{client: g.Replicas[0].Client()}
	wantRefusedByServer(t, e, map[string]func() error{
		"open":     func() error { _, err := replica.OpenRun(ctx, opening(t, runKey("another"))); return err },
		"admit":    func() error { _, err := replica.Admit(ctx, admission(state, "c2", canonical.EffectRead)); return err },
		"complete": func() error { _, err := replica.Complete(ctx, ready(a, state.Expires, []byte("x"))); return err },
		"large": func() error {
			_, err := replica.Complete(ctx, ready(a, state.Expires, make([]byte, 3<<20)))
			return err
		},
		"close": func() error { _, err := replica.CloseRun(ctx, canonical.Closing{Run: a.Run, Token: token}); return err },
	}, "READONLY", "read-only replica")
}

func busyServer(t *testing.T) {
	p := redistest.Server(t, "--busy-reply-threshold", "20")
	s := dial(t, p.URL(), &redisstore.Options{MaxRetries: -1})
	_, send := midway(t, s)
	e := env{client: p.Client(), url: p.URL()}
	before := snapshot(t, e)
	ended := make(chan error)
	go func() { ended <- p.Client().Eval(ctx, "while true do end", nil).Err() }()
	until(t, "the server is busy", func() bool { return redis.HasErrorPrefix(p.Client().DBSize(ctx).Err(), "BUSY") })
	for what, do := range send {
		wantTrouble(t, what, do(), "BUSY", "busy with a script")
	}
	if err := p.Client().ScriptKill(ctx).Err(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Error("the script ended by itself")
	}
	if after := snapshot(t, e); after != before {
		t.Errorf("something was written:\n%s\nwas\n%s", after, before)
	}
	if err := send["complete"](); err != nil {
		t.Errorf("complete once the server has time = %v", err)
	}
}

// loadingServer is one that reads its own file again, slowly.
func loadingServer(t *testing.T) {
	p := redistest.Server(t, "--enable-debug-command", "yes", "--loading-process-events-interval-bytes", "1024")
	s := dial(t, p.URL(), &redisstore.Options{MaxRetries: -1})
	_, send := midway(t, s)
	e := env{client: p.Client(), url: p.URL()}
	before := snapshot(t, e)
	if err := p.Client().Eval(ctx, "for i = 1, 3000 do redis.call('SET', 'k' .. i, i) end return 1", nil).Err(); err != nil {
		t.Fatal(err)
	}
	if err := p.Client().ConfigSet(ctx, "key-load-delay", "500").Err(); err != nil { // microseconds a key
		t.Fatal(err)
	}
	patient := redis.NewClient(&redis.Options{Addr: p.Addr(), ReadTimeout: time.Minute, MaxRetries: -1})
	defer patient.Close()
	ended := make(chan error)
	go func() { ended <- patient.Do(ctx, "debug", "reload").Err() }()
	loading := func() bool { return redis.HasErrorPrefix(p.Client().DBSize(ctx).Err(), "LOADING") }
	until(t, "the server is loading", loading)
	for what, do := range send {
		wantTrouble(t, what, do(), "LOADING", "still loading")
	}
	if !loading() {
		t.Error("the server had loaded everything before the last message")
	}
	if err := errors.Join(<-ended, p.Client().Eval(ctx, "for i = 1, 3000 do redis.call('DEL', 'k' .. i) end return 1", nil).Err()); err != nil {
		t.Fatal(err)
	}
	if after := snapshot(t, e); after != before {
		t.Errorf("something was written:\n%s\nwas\n%s", after, before)
	}
	if err := send["complete"](); err != nil {
		t.Errorf("complete once the server has loaded = %v", err)
	}
}

func noReplicas(t *testing.T) {
	p := redistest.Server(t)
	s := dial(t, p.URL(), &redisstore.Options{MaxRetries: -1})
	_, send := midway(t, s)
	if err := p.Client().ConfigSet(ctx, "min-replicas-to-write", "1").Err(); err != nil {
		t.Fatal(err)
	}
	wantRefusedByServer(t, env{client: p.Client(), url: p.URL()}, send, "NOREPLICAS", "too few replicas")
}
