package boundary_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/fakes"
	"github.com/toolharness/harness/internal/redistest"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/redisstore"
)

// What a boundary makes of a redis-server that is stopped, frozen, killed, out of
// memory, or behind a connection that loses answers.
func TestOutage(t *testing.T) {
	t.Parallel()
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		for _, s := range []struct {
			name string
			run  func(*testing.T)
		}{
			{"P35_round_trips_of_a_call", roundTrips},
			{"P47_no_memory_at_the_end", noMemoryAtTheEnd},
			{"T54_server_stopped", serverStopped},
			{"T54_server_frozen", serverFrozen},
			{"T56_killed_between_answer_and_ending", killedBeforeTheEnd},
			{"T57_connection_loses_answers", connectionLosesAnswers},
			{"T59_no_memory_at_admission", noMemoryAtAdmission},
		} {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				s.run(t)
			})
		}
	})
}

// serverBench is a process on a redis-server of its own.
func serverBench(t *testing.T, p *redistest.Process, s setup) *bench {
	t.Helper()
	return newBench(t, &deck{Store: dial(t, p.URL()), now: time.Now, advance: pass, keys: keysOf(p.Client()), soon: time.Second}, s)
}

// wantNoPlace checks that neither face shows where the server is or what its
// driver said.
func wantNoPlace(t *testing.T, got boundary.Result, p *redistest.Process) {
	t.Helper()
	host, port, err := net.SplitHostPort(p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{host, port, "dial", "refused", "OOM", "EOF", redisstore.DefaultPrefix + ":", "EVALSHA"} {
		wantHidden(t, got, text)
	}
}

func serverStopped(t *testing.T) {
	server := redistest.Server(t)
	b := serverBench(t, server, setup{config: boundary.Config{Limits: canonical.Limits{ClosingTimeout: time.Second}}})
	wantReady(t, b.read("before", says("ok")), "seen: ok")
	server.Stop()
	tool := says("no")
	got := b.read("a", tool)
	wantFailed(t, got, lifecycle.StoreUnavailable, lifecycle.NotStarted)
	wantNoPlace(t, got, server)
	wantEntered(t, tool, 0)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := b.run.Facts(ctx)
	wantRunError(t, err, lifecycle.StoreUnavailable, nil)
	server.Start() // it has kept nothing, and says so
	wantFailed(t, b.read("a", tool), lifecycle.RunInactive, lifecycle.NotStarted)
	wantEntered(t, tool, 0)
}

// serverFrozen: the message is on its way and cannot be called back. Whether it
// lands or is too late, nothing is entered and nothing stays open.
func serverFrozen(t *testing.T) {
	server := redistest.Server(t)
	b := serverBench(t, server, setup{config: boundary.Config{Limits: canonical.Limits{ClosingTimeout: time.Second}}})
	wantReady(t, b.read("before", says("ok")), "seen: ok")
	server.Pause()
	tool := says("no")
	start := time.Now()
	got := b.write("a", tool)
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("the refusal took %v, want the closing timeout", took)
	}
	wantFailed(t, got, lifecycle.StoreUnavailable, lifecycle.NotStarted)
	server.Resume()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := b.Shutdown(ctx); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	rec, err := b.deck.Record(t.Context(), b.run.Key(), named("a"))
	if !errors.Is(err, canonical.ErrMissing) && rec.Execution != lifecycle.NotStarted {
		t.Errorf("record %s %s, %v, want none or one that was not started", rec.State, rec.Code, err)
	}
	wantEntered(t, tool, 0)
}

// killedBeforeTheEnd: the server loses power while the tool runs and comes back
// with all that it acknowledged.
func killedBeforeTheEnd(t *testing.T) {
	for _, write := range []bool{false, true} {
		server := redistest.Server(t, "--appendonly", "yes", "--appendfsync", "always")
		b := serverBench(t, server, setup{config: boundary.Config{Limits: canonical.Limits{ClosingTimeout: time.Second}}})
		tool := &body{do: func(_ context.Context, _ boundary.Input, raw io.Writer) error {
			server.Kill()
			_, err := io.WriteString(raw, "ok")
			return err
		}}
		env, action := b.envelope("a"), reading(tool)
		if write {
			env, action = b.writeEnvelope("a"), writing(tool)
		}
		got := b.Invoke(t.Context(), b.run, env, action)
		wantFailed(t, got, lifecycle.ResultNotStored, lifecycle.Completed)
		wantNoPlace(t, got, server)
		wantEntered(t, tool, 1)
		server.Start()
		if rec := b.record("a"); rec.State != lifecycle.Projecting {
			t.Errorf("record %s, want PROJECTING", rec.State)
		}
		report, err := b.run.Facts(t.Context())
		if err != nil || len(report.Facts) != 0 || report.Totals.Ready != 0 || report.Complete {
			t.Errorf("report %+v, %v, want no fact", report, err)
		}
		kept := b.taken()
		if len(kept) != 1 || string(kept[0].Raw.Bytes) != "ok" {
			t.Fatalf("retained %v, want the result", kept)
		}
		if err := b.Settle(t.Context(), kept[0]); err != nil {
			t.Fatalf("Settle: %v", err)
		}
		if o, err := b.run.Lookup(t.Context(), named("a")); err != nil || o.Text() != "seen: ok" {
			t.Errorf("lookup %q, %v, want the result", o.Text(), err)
		}
		wantEntered(t, tool, 1)
	}
}

// lossy passes bytes between a client and a server. Armed, it waits for the
// server's next answer and drops it together with the connection.
type lossy struct {
	addr string
	loss atomic.Int64 // answers still to lose
	lost atomic.Int64
}

func loseAnswers(t *testing.T, server string) *lossy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	l := &lossy{addr: listener.Addr().String()}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go l.serve(client, server)
		}
	}()
	return l
}

func (l *lossy) serve(client net.Conn, server string) {
	defer func() { _ = client.Close() }()
	upstream, err := net.Dial("tcp", server)
	if err != nil {
		return
	}
	defer func() { _ = upstream.Close() }()
	go func() {
		_, _ = io.Copy(upstream, client)
		_ = upstream.Close()
	}()
	buffer := make([]byte, 64<<10)
	for {
		n, err := upstream.Read(buffer)
		if err != nil {
			return
		}
		if left := l.loss.Load(); left > 0 && l.loss.CompareAndSwap(left, left-1) {
			l.lost.Add(1)
			return
		}
		if _, err := client.Write(buffer[:n]); err != nil {
			return
		}
	}
}

func connectionLosesAnswers(t *testing.T) {
	server := redistest.Server(t)
	for _, retries := range []int{3, -1} { // the driver's own; ours come on top
		wire := loseAnswers(t, server.Addr())
		store, err := redisstore.Dial(t.Context(), "redis://"+wire.addr, &redisstore.Options{MaxRetries: retries, PoolSize: 1})
		if err != nil {
			t.Fatalf("Dial: %v", err)
		}
		t.Cleanup(func() { _ = store.Close() })
		b := newBench(t, &deck{Store: store, now: time.Now, advance: pass, keys: keysOf(server.Client()), soon: time.Second}, setup{spec: anyBudget()})
		wantReady(t, b.write("warm", says("ok")), "seen: ok")
		for _, step := range []fakes.Method{fakes.MethodAdmit, fakes.MethodSave, fakes.MethodComplete} {
			losing := &arming{Store: store, step: step, wire: wire}
			p := b.joined(boundary.Config{Store: losing})
			tool, id := says("ok"), string(step)
			wantReady(t, p.write(id, tool), "seen: ok")
			wantEntered(t, tool, 1)
			if rec := b.record(id); rec.State != lifecycle.Ready || string(rec.Raw.Bytes) != "ok" {
				t.Errorf("%s: record %s, raw %q, want READY and ok", id, rec.State, string(rec.Raw.Bytes))
			}
		}
		if wire.lost.Load() != 3 {
			t.Errorf("%d answers were lost, want 3", wire.lost.Load())
		}
		if got := b.state().LastSeq; got != 4 {
			t.Errorf("%d admissions, want 4", got)
		}
	}
}

// arming makes the connection lose one answer, to the first message of a step.
type arming struct {
	canonical.Store
	step fakes.Method
	wire *lossy
	done bool
}

func (s *arming) arm(step fakes.Method) {
	if s.step == step && !s.done {
		s.done = true
		s.wire.loss.Store(1)
	}
}

// Admit implements [canonical.Calls].
func (s *arming) Admit(ctx context.Context, a canonical.Admission) (canonical.Admitted, error) {
	s.arm(fakes.MethodAdmit)
	return s.Store.Admit(ctx, a)
}

// Save implements [canonical.Calls].
func (s *arming) Save(ctx context.Context, m canonical.Saving) (canonical.Ended, error) {
	s.arm(fakes.MethodSave)
	return s.Store.Save(ctx, m)
}

// Complete implements [canonical.Calls].
func (s *arming) Complete(ctx context.Context, e canonical.Ending) (canonical.Ended, error) {
	s.arm(fakes.MethodComplete)
	return s.Store.Complete(ctx, e)
}

// memory gives the server all the memory it wants, or none for anything new.
func memory(t *testing.T, server *redistest.Process, enough bool) {
	t.Helper()
	limit := "1"
	if enough {
		limit = "0"
	}
	if err := server.Client().ConfigSet(context.WithoutCancel(t.Context()), "maxmemory", limit).Err(); err != nil {
		t.Errorf("CONFIG SET: %v", err)
	}
}

func noMemoryAtAdmission(t *testing.T) {
	server := redistest.Server(t)
	b := serverBench(t, server, setup{})
	wantReady(t, b.read("before", says("ok")), "seen: ok")
	memory(t, server, false)
	tool := says("ok")
	got := b.read("a", tool)
	wantFailed(t, got, lifecycle.StoreUnavailable, lifecycle.NotStarted)
	wantNoPlace(t, got, server)
	wantEntered(t, tool, 0)
	memory(t, server, true)
	b.noRecord("a", 1)
	wantReady(t, b.read("a", tool), "seen: ok")
}

func noMemoryAtTheEnd(t *testing.T) {
	server := redistest.Server(t)
	b := serverBench(t, server, setup{})
	raw := strings.Repeat("raw ", 512<<10) // 2 MiB, in pieces
	for _, write := range []bool{false, true} {
		id := "call_" + strconv.FormatBool(write)
		tool := &body{do: func(_ context.Context, _ boundary.Input, w io.Writer) error {
			memory(t, server, false)
			_, err := io.WriteString(w, raw)
			return err
		}}
		env, action := b.envelope(id), boundary.Action{Executor: tool, Projector: fakes.NewProjector(fakes.Found("much"))}
		if write {
			env.ReadOnly, action.Effect = false, canonical.EffectWrite
		}
		got := b.Invoke(t.Context(), b.run, env, action)
		wantFailed(t, got, lifecycle.ResultNotStored, lifecycle.Completed)
		wantNoPlace(t, got, server)
		memory(t, server, true)
		if rec := b.record(id); rec.State != lifecycle.Projecting || rec.Raw.Present() || rec.Agent != nil {
			t.Errorf("record %s with %d bytes of raw, want PROJECTING without", rec.State, rec.Raw.Size)
		}
		kept := b.taken()
		if err := b.Settle(t.Context(), kept[len(kept)-1]); err != nil {
			t.Fatalf("Settle: %v", err)
		}
		if rec := b.record(id); rec.State != lifecycle.Ready || string(rec.Raw.Bytes) != raw || rec.Evidence != evidence.Found {
			t.Errorf("record %s with %d bytes of raw, want READY and all of it", rec.State, len(rec.Raw.Bytes))
		}
		wantEntered(t, tool, 1)
	}
}

// roundTrips counts what the server reads: a trip for a refusal or a duplicate,
// two for a read, three for another effect, none for what preflight refuses.
func roundTrips(t *testing.T) {
	server := redistest.Server(t)
	b := serverBench(t, server, setup{spec: boundary.RunSpec{Budget: canonical.Budget{Calls: 4}}})
	wantReady(t, b.write("warm", says("ok")), "seen: ok") // the scripts are known afterwards
	readsOf(t, server)
	for _, c := range []struct {
		what  string
		call  func() boundary.Result
		trips int64
	}{
		{"a read", func() boundary.Result { return b.read("r", says("ok")) }, 2},
		{"a write", func() boundary.Result { return b.write("w", says("ok")) }, 3},
		{"a duplicate", func() boundary.Result { return b.read("r", says("ok")) }, 1},
		{"a tool that fails", func() boundary.Result { return b.read("f", fails(errLost)) }, 2},
		{"a refusal", func() boundary.Result { return b.read("over", says("ok")) }, 1},
		{"a refusal in preflight", func() boundary.Result { return b.read("not an id", says("ok")) }, 0},
	} {
		before := readsOf(t, server)
		c.call()
		if got := readsOf(t, server) - before - 1; got != c.trips { // one is the question itself
			t.Errorf("%s: the server read %d times, want %d", c.what, got, c.trips)
		}
	}
}
