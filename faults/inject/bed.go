package inject

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/faults/proxy"
	"github.com/toolharness/harness/faults/report"
	"github.com/toolharness/harness/redisstore"
)

// Limits of one injection. A fault that strikes once must leave room for what the
// client does about it; one that stays is given up on soon.
const (
	onceIO        = 400 * time.Millisecond // of one read or write
	onceClosing   = 6 * time.Second        // of the writes that end a call
	alwaysIO      = 250 * time.Millisecond
	alwaysClosing = 1200 * time.Millisecond
	stepLimit     = 20 * time.Second // for anything that has no limit of its own
)

// bed is one lane of injections: a proxy of its own in front of the server, and
// a boundary that goes around it.
type bed struct {
	bench   *report.Bench
	server  *server
	scripts *proxy.Scripts
	client  *redis.Client // to the server itself
	proxy   *proxy.Proxy
	store   *redisstore.Store      // around the proxy
	outside *boundary.ToolBoundary // on that store
}

// newBed makes a lane. scripts are shared by all proxies of one server.
func newBed(ctx context.Context, b *report.Bench, server *server, scripts *proxy.Scripts) (*bed, error) {
	addr := server.Addr()
	px, err := proxy.Start(addr, scripts)
	if err != nil {
		return nil, err
	}
	store, err := redisstore.Dial(ctx, "redis://"+addr+"/0", &redisstore.Options{PoolSize: 2})
	if err != nil {
		return nil, errors.Join(err, px.Close())
	}
	outside, err := newBoundary(store, onceClosing, nil)
	if err != nil {
		return nil, errors.Join(err, store.Close(), px.Close())
	}
	client := redis.NewClient(&redis.Options{Addr: addr, PoolSize: 2, ContextTimeoutEnabled: true, DisableIdentity: true})
	return &bed{bench: b, server: server, scripts: scripts, client: client, proxy: px, store: store, outside: outside}, nil
}

func (b *bed) close(ctx context.Context) error {
	return errors.Join(b.outside.Shutdown(ctx), b.store.Close(), b.client.Close(), b.proxy.Close())
}

func newBoundary(store canonical.Store, closing time.Duration, retained func(context.Context, boundary.Retained)) (*boundary.ToolBoundary, error) {
	return boundary.New(boundary.Config{
		Store: store, Authorizer: boundary.AllowAll{}, Effects: boundary.EffectPolicy{Write: true},
		Limits: canonical.Limits{ClosingTimeout: closing}, OnRetained: retained,
	})
}

// try is one injection under way.
type try struct {
	*bed
	line    report.Call
	tool    *tool
	call    canonical.CallName
	name    canonical.RunID
	through *redisstore.Store // through the proxy
	inside  *boundary.ToolBoundary
	run     *boundary.Run // nil where it could not be opened
	dies    bool          // the client does nothing more once the model was told

	mu       sync.Mutex
	retained []boundary.Retained
	broken   []string
}

// begin makes client and boundary of an injection; nothing was sent yet.
func (b *bed) begin(ctx context.Context, at report.Combination, s subject, lasting bool) (*try, error) {
	t := &try{bed: b, tool: &tool{subject: s, file: b.bench.Entries}, call: canonical.CallName{ID: "call_1"}, name: runName(at.Section, s.seed)}
	t.line = report.Call{Combination: at, Seed: s.seed, Effect: string(s.effect), Base: report.Base(canonical.RunKey{Scope: scope(), Run: t.name})}
	options, closing := &redisstore.Options{PoolSize: 2, IOTimeout: onceIO}, onceClosing
	if lasting {
		options.IOTimeout, options.MaxRetries, closing = alwaysIO, 1, alwaysClosing
	}
	var err error
	if t.through, err = redisstore.Dial(ctx, b.proxy.URL(), options); err != nil {
		return nil, disturbed(err.Error())
	}
	if t.inside, err = newBoundary(t.underQuota(), closing, t.keep); err != nil {
		return nil, errors.Join(err, t.through.Close())
	}
	return t, nil
}

// underQuota is the store of the injection, which opens runs under a quota where
// that is what is to be struck.
func (t *try) underQuota() canonical.Store {
	if t.tool.quota {
		return quotaStore{t.through}
	}
	return t.through
}

// quotaStore opens every run under a quota that nothing here reaches.
type quotaStore struct{ *redisstore.Store }

// OpenRun implements [canonical.Runs].
func (s quotaStore) OpenRun(ctx context.Context, o canonical.Opening) (canonical.RunState, error) {
	o.Quota = canonical.Quota{Records: 1 << 40}
	return s.Store.OpenRun(ctx, o)
}

// runName is unique in the whole report, since seeds are.
func runName(section string, seed uint64) canonical.RunID {
	return canonical.RunID(fmt.Sprintf("%s-%016x", section, seed))
}

// keep is the host's hand for results that could not be stored.
func (t *try) keep(_ context.Context, r boundary.Retained) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.retained = append(t.retained, r)
	t.line.Retained, t.line.RetainedSHA256 = string(r.Reason), ""
	if r.Raw.Present() {
		t.line.RetainedSHA256 = report.Digest(r.Raw.Bytes)
	}
}

func (t *try) held() []boundary.Retained {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]boundary.Retained(nil), t.retained...)
}

// broke notes what should not be.
func (t *try) broke(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.broken = append(t.broken, fmt.Sprintf(format, args...))
}

// must notes an error where there should be none.
func (t *try) must(what string, err error) {
	if err != nil {
		t.broke("%s: %v", what, err)
	}
}

// open opens the run. A run that cannot be opened ends the injection.
func (t *try) open(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, stepLimit)
	defer cancel()
	run, err := t.inside.OpenRun(ctx, boundary.RunSpec{Scope: scope(), ID: t.name})
	if err != nil {
		t.line.Told, t.line.Ran = "not opened", "no"
		if failed, ok := errors.AsType[*boundary.Error](err); ok {
			t.line.Told, t.line.Ran = string(failed.Code), failed.Execution.Ran()
		}
		return false
	}
	t.run = run
	return true
}

// invoke makes the call and notes what the model was told.
func (t *try) invoke(ctx context.Context) boundary.Result {
	t.line.Name = t.call.String()
	if !t.tool.fails {
		t.line.SHA256 = report.Digest(t.tool.raw())
	}
	result := t.inside.Invoke(ctx, t.run, t.tool.envelope(t.name, t.call), t.tool.action())
	t.tell(result)
	return result
}

// tell notes what the model is told.
func (t *try) tell(result boundary.Result) {
	t.line.Told, t.line.Ran = "READY", result.Outcome.Execution().Ran()
	if result.Outcome.IsError() {
		t.line.Told = string(result.Outcome.Code())
	} else {
		t.line.Agent = report.Digest([]byte(result.Outcome.Text()))
	}
}

// again makes the call a second time, from another process's point of view.
func (t *try) again(ctx context.Context) {
	if t.line.Gone != "" && t.line.Gone != "deleted" {
		return // the guard may have gone with the rest
	}
	guarded, err := t.client.HExists(ctx, t.line.Base+"run", "c:"+t.call.String()).Result()
	if err != nil {
		t.must("look for the guard", err)
		return
	}
	if !guarded {
		return // never admitted: the name is free
	}
	run, err := t.outside.JoinRun(ctx, t.run.Ticket())
	if err != nil {
		t.must("join the run", err)
		return
	}
	result := t.outside.Invoke(ctx, run, t.tool.envelope(t.name, t.call), t.tool.action())
	t.line.Again = "READY"
	if result.Outcome.IsError() {
		t.line.Again = string(result.Outcome.Code())
	}
}

// settle stores what could not be stored before.
func (t *try) settle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, stepLimit)
	defer cancel()
	for _, r := range t.held() {
		if r.Reason != boundary.NotStored {
			t.inside.Discard(r)
			continue
		}
		t.noteSettled(t.eventually(ctx, func(ctx context.Context) error { return t.inside.Settle(ctx, r) }))
	}
}

// eventually repeats what nothing stands in the way of any more, since a busy
// machine alone can be too slow for the short limits of an injection.
func (t *try) eventually(ctx context.Context, do func(context.Context) error) error {
	err := do(ctx)
	for i := 0; i < 10 && err != nil && (t.line.Gone == "" || t.line.Gone == "deleted") && ctx.Err() == nil; i++ {
		time.Sleep(50 * time.Millisecond)
		err = do(ctx)
	}
	return err
}

func (t *try) noteSettled(err error) {
	t.line.Settled = "ok"
	if err == nil {
		return
	}
	if t.line.Gone == "" {
		t.must("settle once the way was healed", err)
	}
	t.line.Settled = "failed"
	if failed, ok := errors.AsType[*boundary.Error](err); ok {
		t.line.Settled = string(failed.Code)
	}
}

// end heals the way, waits until nothing is under way any more, looks at what is
// there, and writes the line.
func (t *try) end(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stepLimit)
	defer cancel()
	t.proxy.Heal()
	if t.run != nil && !t.dies {
		t.settle(ctx)
	}
	if err := t.leave(ctx); err != nil {
		return err
	}
	if err := t.proxy.Quiet(ctx); err != nil {
		return fmt.Errorf("the proxy does not come to rest: %w", err)
	}
	return t.write(ctx)
}

// leave ends boundary and client, in that order; a client that dies is gone before
// its boundary can do anything more.
func (t *try) leave(ctx context.Context) error {
	if t.dies {
		if err := t.through.Close(); err != nil {
			return err
		}
	}
	if err := t.inside.Shutdown(ctx); err != nil {
		for _, r := range t.held() {
			t.inside.Discard(r) // the host has it, the line says so
		}
		t.must("shut down", t.inside.Shutdown(ctx))
	}
	if t.dies {
		return nil
	}
	return t.through.Close()
}

// write looks at the record and writes the line.
func (t *try) write(ctx context.Context) error {
	if t.line.Name != "" {
		fields, err := t.client.HMGet(ctx, t.line.Base+"call:"+t.line.Name, "st", "cd").Result()
		if err != nil && !redis.HasErrorPrefix(err, "WRONGTYPE") {
			return err
		}
		if len(fields) == 2 {
			t.line.State, _ = fields[0].(string)
			t.line.Code, _ = fields[1].(string)
		}
		if t.run != nil && t.line.Gone == "" {
			t.line.Listed = t.isListed(ctx)
		}
	}
	if t.line.Ran == "no" && t.line.State == "PROJECTING" && t.line.Gone == "" && !t.dies {
		t.broke("a call that was told not to have run was left open")
	}
	if lost := t.tool.lost.Load(); lost != nil {
		return fmt.Errorf("the file of entries: %w", *lost)
	}
	t.line.Entries = int(t.tool.entries.Load())
	for i, text := range t.broken {
		if i > 0 {
			t.line.Broken += "; "
		}
		t.line.Broken += text
	}
	t.bench.Lines.Call(t.line)
	return t.bench.Lines.Err()
}

// isListed asks the library, around the proxy, whether the call is open or its
// effect unknown.
func (t *try) isListed(ctx context.Context) bool {
	out, err := t.store.Outstanding(ctx, t.run.Key())
	if err != nil {
		t.must("list what is open", err)
		return false
	}
	for _, list := range [][]canonical.OpenCall{out.Open, out.Effects} {
		for _, open := range list {
			if open.Call == t.call {
				return true
			}
		}
	}
	return false
}

// overdue makes the call look as if its owner had been gone for long: the clock
// of a real server cannot be moved, so its due time is.
func (t *try) overdue(ctx context.Context) error {
	name := t.call.String()
	_, err := t.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.HSet(ctx, t.line.Base+"call:"+name, "due", "1000")
		p.ZAddXX(ctx, t.line.Base+"open", redis.Z{Score: 1000, Member: name})
		p.ZAddXX(ctx, t.line.Base+"effects", redis.Z{Score: 1000, Member: name})
		return nil
	})
	return err
}
