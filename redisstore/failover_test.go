package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/internal/redistest"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/redisstore"
)

// failovers is how often each kind of failover is made: once, and with FAULTS=full
// so often that there are fifty in all.
func failovers() int {
	if os.Getenv("FAULTS") == "full" {
		return 25
	}
	return 1
}

const nodeTimeout = time.Second

// A primary that dies, or hangs, under load. The target is an outage of the node
// timeout and two seconds; what fails is a client that stays with the dead one.
func TestFailover(t *testing.T) {
	t.Parallel()
	for what, act := range map[string]struct{ stop, back func(*redistest.Process) }{
		"killed": {(*redistest.Process).Kill, (*redistest.Process).Start},
		"paused": {(*redistest.Process).Pause, (*redistest.Process).Resume},
	} {
		t.Run("cluster", func(t *testing.T) {
			t.Parallel()
			t.Run("primary_"+what+"_and_no_acknowledged_admission_lost", func(t *testing.T) {
				c := redistest.Cluster(t, redistest.ClusterOptions{Replicas: 1, NodeTimeout: nodeTimeout})
				plain := dial(t, c.URL(), nil)
				asking := dial(t, c.URL(), &redisstore.Options{Replicas: 1, ReplicaTimeout: 200 * time.Millisecond})
				var outages []time.Duration
				safe, unsafe, lost := 0, 0, 0
				for i := range failovers() {
					l := newLoad(t, plain, fmt.Sprintf("plain-%d", i), false)
					primary := c.Primary(base(l.state.Run) + "run")
					m := newLoad(t, asking, runOn(c, primary, fmt.Sprintf("asking-%d", i)), true)
					until(t, "the load has begun", func() bool { return l.count() >= 20 && m.count() >= 20 })
					at := time.Now()
					act.stop(primary)
					until(t, "an admission after the failover", func() bool { return l.since(at.Add(nodeTimeout / 2)) })
					outages = append(outages, l.outage(at))
					act.back(primary) // the promoted one has no replica before that, and nobody to be asked
					c.Settle()
					back := time.Now()
					until(t, "an admission that a replica has", func() bool { return m.since(back) })
					l.end()
					m.end()
					safe += len(m.acks)
					m.check(t, asking)
					unsafe += len(l.acks)
					lost += l.missing(t, plain)
				}
				slices.Sort(outages)
				t.Logf("primary %s: %d failovers, outage from %v to %v, the target is %v; acknowledged with a replica %d, lost 0; without %d, lost %d",
					what, len(outages), outages[0], outages[len(outages)-1], nodeTimeout+2*time.Second, safe, unsafe, lost)
			})
		})
	}
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		t.Run("sentinel_promotes_a_replica", func(t *testing.T) {
			g := redistest.Replicated(t, 1)
			p := g.Sentinel(t)
			s := dial(t, "redis+sentinel://"+p.Addr()+"/"+redistest.MasterName, nil)
			l := newLoad(t, s, "sentinel", false)
			until(t, "the load has begun", func() bool { return l.count() >= 20 })
			at := time.Now()
			g.Primary.Kill()
			until(t, "an admission after the promotion", func() bool { return l.since(at.Add(200 * time.Millisecond)) })
			t.Logf("outage %v; the sentinel counts a server as down after half a second", l.outage(at))
			l.end()
		})
	})
}

// runOn finds a run, by a name that begins so, whose keys the node serves.
func runOn(c *redistest.ClusterNodes, node *redistest.Process, name string) string {
	for i := 0; ; i++ {
		if try := fmt.Sprintf("%s-%d", name, i); c.Primary(base(runKey(try))+"run") == node {
			return try
		}
	}
}

// load is writers that admit calls of one run, one after the other each.
type load struct {
	state canonical.RunState
	tells bool // what it has seen, so that a loss is noticed
	stop  context.CancelFunc
	done  sync.WaitGroup

	mu   sync.Mutex
	acks []ack
	odd  []error // answers that no failover explains
}

// ack is an admission that was acknowledged: from here on it must not be lost.
type ack struct {
	call canonical.CallName
	at   time.Time
}

const writers = 4

func newLoad(t *testing.T, s *redisstore.Store, name string, tells bool) *load {
	t.Helper()
	o := opening(t, runKey(name))
	o.Budget = canonical.Budget{Calls: canonical.Unlimited, PerTool: canonical.Unlimited, Bytes: canonical.Unlimited}
	state, err := s.OpenRun(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	// The ledger has no acknowledgement of its own; that of the first admission covers it.
	if _, err := s.Admit(ctx, admission(state, "first", canonical.EffectRead)); err != nil {
		t.Fatal(err)
	}
	going, stop := context.WithCancel(context.Background())
	l := &load{state: state, tells: tells, stop: stop}
	t.Cleanup(l.end)
	for w := range writers {
		l.done.Go(func() { l.write(going, s, w) })
	}
	return l
}

// write admits until it is told to stop, as a boundary does: each message for three
// seconds at most.
func (l *load) write(going context.Context, s *redisstore.Store, writer int) {
	seen := int64(0)
	for i := 0; going.Err() == nil; i++ {
		a := admission(l.state, fmt.Sprintf("w%d-%d", writer, i), canonical.EffectRead)
		if l.tells {
			a.Seen = seen
		}
		limited, cancel := context.WithTimeout(ctx, 3*time.Second)
		got, err := s.Admit(limited, a)
		cancel()
		l.mu.Lock()
		no, refused := errors.AsType[*canonical.RefusedError](err)
		switch {
		case err == nil:
			seen = max(seen, got.Seq)
			l.acks = append(l.acks, ack{a.Call, time.Now()})
		case refused && !errors.Is(no, canonical.ErrStrength):
			l.odd = append(l.odd, err)
		}
		l.mu.Unlock()
		time.Sleep(10 * time.Millisecond) // a load, not a flood: the machine has other tests
	}
}

func (l *load) end() { l.stop(); l.done.Wait() }

func (l *load) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.acks)
}

// since reports whether an admission was acknowledged after at.
func (l *load) since(at time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.acks, func(a ack) bool { return a.at.After(at) })
}

// outage is the longest time without an acknowledgement from at on.
func (l *load) outage(at time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	longest, last := time.Duration(0), at
	for _, a := range l.acks {
		if a.at.After(at) {
			longest, last = max(longest, a.at.Sub(last)), a.at
		}
	}
	return longest
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for limit := time.Now().Add(30 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("not within 30 s: %s", what)
		}
	}
}

// check looks for every acknowledged admission, and for answers that say that some
// were lost. A call whose sequence another has would have been lost, too.
func (l *load) check(t *testing.T, s *redisstore.Store) {
	t.Helper()
	for _, err := range l.odd {
		t.Errorf("an admission was answered %v", err)
	}
	sequences := map[int64]bool{}
	for i, h := range l.heads(t, s) {
		if !h.Exists() || h.State != lifecycle.Projecting || sequences[h.Seq] {
			t.Errorf("acknowledged admission %s: there %v, state %s, number %d", l.acks[i].call, h.Exists(), h.State, h.Seq)
		}
		sequences[h.Seq] = true
	}
	now, err := s.Inspect(ctx, l.state.Run)
	if err != nil || now.Phase != canonical.RunOpen || now.LastSeq < int64(len(l.acks)) {
		t.Errorf("run %s with %d admissions, %v; want it open with at least %d", now.Phase, now.LastSeq, err, len(l.acks))
	}
}

// missing counts acknowledged admissions that are not there any more.
func (l *load) missing(t *testing.T, s *redisstore.Store) int {
	t.Helper()
	n := 0
	for _, h := range l.heads(t, s) {
		if !h.Exists() {
			n++
		}
	}
	return n
}

func (l *load) heads(t *testing.T, s *redisstore.Store) []canonical.Head {
	t.Helper()
	calls := make([]canonical.CallName, len(l.acks))
	for i, a := range l.acks {
		calls[i] = a.call
	}
	heads, err := s.Heads(ctx, l.state.Run, calls)
	if err != nil {
		t.Fatal(err)
	}
	return heads
}

// Scripts are not on a replica that was promoted. A transaction that meets it leaves
// its fields and is repaired, at every size, with and without a question to replicas.
func TestFailover_scripts_are_unknown_to_the_new_primary(t *testing.T) {
	t.Parallel()
	t.Run("cluster", func(t *testing.T) {
		c := redistest.Cluster(t, redistest.ClusterOptions{Replicas: 1, NodeTimeout: 10 * time.Second})
		plain, asking := dial(t, c.URL(), nil), dial(t, c.URL(), &redisstore.Options{Replicas: 1})
		for n, size := range []int{10, 64 << 10, 3 << 20} {
			afterPromotion(t, c, plain, c.Nodes()[n], size, evidence.StrengthMemory, func() {})
		}
		c.Settle()
		afterPromotion(t, c, asking, c.Nodes()[3], 64<<10, "replicas:1", c.Settle) // there has to be a replica again
	})
}

// afterPromotion ends a call of a run on this primary once its replica has taken
// over. Each primary is replaced once only: nodes do not vote for it sooner again.
func afterPromotion(t *testing.T, c *redistest.ClusterNodes, s *redisstore.Store, primary *redistest.Process, size int, want evidence.Strength, settle func()) {
	t.Helper()
	state := open(t, s, runOn(c, primary, string(want[:3])))
	a := admission(state, "c1", canonical.EffectWrite)
	admit(t, s, a)
	key := base(state.Run) + "run"
	replica := c.Replicas(key)[0]
	if err := errors.Join(replica.Client().ScriptFlush(ctx).Err(), replica.Client().ClusterFailover(ctx).Err()); err != nil {
		t.Fatal(err)
	}
	until(t, "the replica is promoted", func() bool { return c.Primary(key) == replica })
	settle()
	ended, err := s.Complete(ctx, ready(a, state.Expires, make([]byte, size)))
	if err != nil || ended.Strength != want {
		t.Errorf("%d bytes after the failover: %+v, %v; want strength %s", size, ended, err, want)
	}
	if rec, err := s.Record(ctx, state.Run, a.Call); err != nil || rec.State != lifecycle.Ready || len(rec.Raw.Bytes) != size {
		t.Errorf("%d bytes after the failover: record %s, %v", size, rec.State, err)
	}
}

// A slot on its way: some of its keys are here, some there. Every message is either
// carried out or answered with trouble, and sent again once the slot has arrived.
func TestResharding(t *testing.T) {
	t.Parallel()
	t.Run("cluster", func(t *testing.T) {
		c := redistest.Cluster(t, redistest.ClusterOptions{Replicas: 1, NodeTimeout: 30 * time.Second})
		for i, o := range []*redisstore.Options{nil, {Replicas: 1}} {
			for _, part := range []string{"nothing", "run", "call::saving", "everything"} {
				name := fmt.Sprintf("r%d-%s", i, part[:3])
				plain := dial(t, c.URL(), nil)
				state := open(t, plain, name)
				s := dial(t, c.URL(), o)
				t.Run(part+"_has_gone_ahead", func(t *testing.T) { reshard(t, c, plain, s, state, part) })
			}
		}
	})
}

func reshard(t *testing.T, c *redistest.ClusterNodes, plain, s *redisstore.Store, state canonical.RunState, part string) {
	key := base(state.Run)
	sizes := map[string]int{"small": 10, "middle": 64 << 10, "large": 3 << 20}
	calls := map[string]canonical.Admission{}
	for _, id := range []string{"small", "middle", "large", "saving"} {
		calls[id] = admission(state, id, canonical.EffectWrite)
		admit(t, plain, calls[id])
	}
	move := c.Move(key+"run", another(c, key+"run"))
	switch part {
	case "nothing":
	case "everything":
		move.Carry()
	default:
		move.Carry(key + part)
	}
	messages := map[string]func() error{
		"admit": func() error { _, err := s.Admit(ctx, admission(state, "new", canonical.EffectRead)); return err },
		"save": func() error {
			_, err := s.Save(ctx, canonical.Saving{Run: state.Run, Call: calls["saving"].Call, Claim: calls["saving"].Claim, Raw: canonical.NewRaw(make([]byte, 64<<10)), Expires: state.Expires})
			return err
		},
	}
	for id, size := range sizes {
		messages["complete "+id] = func() error {
			_, err := s.Complete(ctx, ready(calls[id], state.Expires, make([]byte, size)))
			return err
		}
	}
	through := 0
	for what, send := range messages {
		err := send()
		if err == nil {
			through++
		} else if !errors.As(err, new(*redisstore.Error)) {
			t.Errorf("%s while the slot moves = %v, want success or trouble", what, err)
		}
	}
	move.Finish()
	c.Settle()
	for what, send := range messages {
		if err := send(); err != nil {
			t.Errorf("%s once the slot has moved = %v", what, err)
		}
	}
	t.Logf("%d of %d messages were carried out while the slot was on its way", through, len(messages))
	wantWhole(t, plain, c, state, sizes)
}

// wantWhole checks that each call is there once, ended with its bytes, and that no
// key has lost its expiry.
func wantWhole(t *testing.T, s *redisstore.Store, c *redistest.ClusterNodes, state canonical.RunState, sizes map[string]int) {
	t.Helper()
	for id, size := range sizes {
		if rec, err := s.Record(ctx, state.Run, callName(id)); err != nil || rec.State != lifecycle.Ready || len(rec.Raw.Bytes) != size {
			t.Errorf("%s: record %s with %d bytes, %v; want READY with %d", id, rec.State, len(rec.Raw.Bytes), err, size)
		}
	}
	order, err := s.Order(ctx, state.Run, 0, 100)
	if err != nil || len(order) != 5 {
		t.Errorf("order %v, %v; want five calls", order, err)
	}
	key := base(state.Run) + "run"
	primary := c.Primary(key).Client()
	keys, err := primary.ClusterGetKeysInSlot(ctx, c.Slot(key), 1000).Result()
	if err != nil || len(keys) < 7 {
		t.Errorf("keys %v, %v; want ledger, order, open and records", keys, err)
	}
	for _, k := range keys {
		if life := primary.PTTL(ctx, k).Val(); life < 0 {
			t.Errorf("%s has no expiry", k)
		}
	}
}
