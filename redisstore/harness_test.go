package redisstore_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/internal/redistest"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/redisstore"
)

// env is a store, the servers below it, and their clock.
type env struct {
	store   *redisstore.Store
	client  redis.UniversalClient // of the same database, with retries off
	url     string
	prefix  string           // of the store's keys; empty for the usual one
	space   *redistest.Space // on a cluster, else nil
	advance func(time.Duration)
}

// each runs a test on miniredis, on a redis-server and on a cluster, as subtests
// whose names are those of docs/scenarios.md.
func each(t *testing.T, test func(t *testing.T, e env)) {
	t.Helper()
	t.Run("embedded", func(t *testing.T) { t.Parallel(); test(t, mini(t)) })
	t.Run("redis", func(t *testing.T) { t.Parallel(); test(t, shared(t)) })
	t.Run("cluster", func(t *testing.T) { t.Parallel(); test(t, clustered(t)) })
}

func mini(t testing.TB) env {
	t.Helper()
	m := redistest.Mini(t)
	return env{store: dial(t, m.URL(), nil), client: m.Client(), url: m.URL(), advance: m.Advance}
}

func shared(t testing.TB) env {
	t.Helper()
	db := redistest.Shared(t)
	return env{store: dial(t, db.URL(), nil), client: db.Client(), url: db.URL(), advance: func(d time.Duration) { shift(t, db.Client(), "*", d) }}
}

func clustered(t testing.TB) env {
	t.Helper()
	space := redistest.SharedCluster(t)
	e := env{client: space.Client(), url: space.URL(), prefix: space.Prefix(), space: space, advance: func(d time.Duration) { shiftCluster(t, space, d) }}
	e.store = dial(t, e.url, e.options())
	return e
}

// options are those under which a store sees the keys of this one.
func (e env) options() *redisstore.Options { return &redisstore.Options{Prefix: e.prefix} }

// base is how the keys of a run begin.
func (e env) base(run canonical.RunKey) string { return baseOf(e.prefix, run) }

func (e env) record(a canonical.Admission) string { return e.base(a.Run) + "call:" + a.Call.String() }

// keys are all keys of the test.
func (e env) keys(t testing.TB) []string {
	t.Helper()
	var keys []string
	var err error
	if e.space != nil {
		keys, err = e.space.Keys(ctx)
	} else {
		keys, err = e.client.Keys(ctx, "*").Result()
	}
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// flushScripts empties the script cache of every server.
func (e env) flushScripts(t testing.TB) {
	t.Helper()
	var err error
	if cluster, ok := e.client.(*redis.ClusterClient); ok {
		err = cluster.ForEachMaster(ctx, func(ctx context.Context, c *redis.Client) error { return c.ScriptFlush(ctx).Err() })
	} else {
		err = e.client.ScriptFlush(ctx).Err()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// connect makes a client of its own for the same servers, with a hook and a dialer
// where they are not nil, which retries as often as it is told.
func (e env) connect(t testing.TB, retries int, hook redis.Hook, dialer dialer) redis.UniversalClient {
	t.Helper()
	var client redis.UniversalClient
	if e.space != nil {
		c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: e.space.Addrs(), MaxRedirects: retries, // as often as it follows slots
			Dialer: dialer, PoolSize: 1, ContextTimeoutEnabled: true, DisableIdentity: true, ClusterStateReloadInterval: time.Hour}) // or trips are counted that no message caused
		if hook != nil {
			c.OnNewNode(func(node *redis.Client) { node.AddHook(hook) })
		}
		client = c
	} else {
		o := e.client.(*redis.Client).Options()
		c := redis.NewClient(&redis.Options{Addr: o.Addr, DB: o.DB, MaxRetries: retries, Dialer: dialer, PoolSize: 1, ContextTimeoutEnabled: true, DisableIdentity: true})
		if hook != nil {
			c.AddHook(hook)
		}
		client = c
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func dial(t testing.TB, url string, o *redisstore.Options) *redisstore.Store {
	t.Helper()
	s, err := redisstore.Dial(context.Background(), url, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("closing the store: %v", err)
		}
	})
	return s
}

var ctx = context.Background()

const token = canonical.Token("0123456789abcdef0123456789abcdef")

func runKey(name string) canonical.RunKey {
	return canonical.RunKey{Scope: canonical.Scope{Tenant: "acme", Owner: "u1", Namespace: "n"}, Run: canonical.RunID(name)}
}

func limits(t testing.TB) canonical.Limits {
	t.Helper()
	l, err := canonical.Limits{}.WithDefaults()
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func opening(t testing.TB, run canonical.RunKey) canonical.Opening {
	t.Helper()
	l := limits(t)
	b, err := canonical.Budget{}.WithDefaults(l)
	if err != nil {
		t.Fatal(err)
	}
	return canonical.Opening{Run: run, Token: token, Duration: 15 * time.Minute, Limits: l, Budget: b,
		Principal: canonical.Principal{User: "u", Agent: "a"}}
}

func open(t testing.TB, s *redisstore.Store, name string) canonical.RunState {
	t.Helper()
	state, err := s.OpenRun(ctx, opening(t, runKey(name)))
	if err != nil {
		t.Fatal(err)
	}
	return state
}

func callName(id string) canonical.CallName { return canonical.CallName{ID: canonical.ToolCallID(id)} }

func claimOf(id string) canonical.Claim {
	return canonical.Claim("claim-" + canonical.Body(id).SHA256()[:24])
}

func admission(state canonical.RunState, id string, effect canonical.Effect) canonical.Admission {
	request := canonical.Body(fmt.Sprintf(`{"q":%q}`, id))
	call := callName(id)
	return canonical.Admission{
		Run: state.Run, Call: call, Claim: claimOf(id), EvidenceID: canonical.EvidenceID("ev-" + canonical.Body(id).SHA256()[:24]),
		OperationKey: canonical.Identity{RunKey: state.Run, Call: call}.OperationKey(request), Principal: state.Principal,
		Tool: "search", Effect: effect, Request: request, ToolBudget: canonical.Unlimited,
		Reserve: state.Limits.Reserve(len(request)), NotAfter: state.Now.Add(time.Hour),
		Timeout: state.Limits.ToolTimeout, Closing: state.Limits.Closing() + canonical.DueMargin, TTL: state.Limits.RecordTTL,
	}
}

func admit(t testing.TB, s *redisstore.Store, a canonical.Admission) canonical.Admitted {
	t.Helper()
	got, err := s.Admit(ctx, a)
	if err != nil {
		t.Fatal(err)
	}
	if got.Own || got.State != lifecycle.Projecting {
		t.Fatalf("admission: %+v", got)
	}
	return got
}

func ready(a canonical.Admission, expires time.Time, raw []byte) canonical.Ending {
	return canonical.Ending{
		Run: a.Run, Call: a.Call, Claim: a.Claim, Verdict: lifecycle.Succeed(evidence.Found), Raw: canonical.NewRaw(raw),
		Agent: canonical.Body("agent result of " + string(a.Call.ID)), Facts: canonical.Body(`[{"f":1}]`),
		Coverage: canonical.Body(`{"checked":["x"]}`), Expires: expires,
	}
}

func complete(t testing.TB, s *redisstore.Store, e canonical.Ending) {
	t.Helper()
	if got, err := s.Complete(ctx, e); err != nil || got.Repeat {
		t.Fatalf("complete: %+v, %v", got, err)
	}
}
