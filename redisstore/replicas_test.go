package redisstore_test

import (
	"context"
	"errors"
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

// What is asked of replicas must be something that can be waited for.
func TestReplicas_options(t *testing.T) {
	t.Parallel()
	single := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "127.0.0.1:1"}})
	cluster := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"127.0.0.1:1"}, ReadTimeout: time.Second})
	patient := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", ReadTimeout: -1})
	for what, c := range map[string]struct {
		client redis.UniversalClient
		o      redisstore.Options
		field  string // of the refusal; empty: accepted
	}{
		"below zero":               {single, redisstore.Options{Replicas: -1}, "Replicas"},
		"a slip":                   {single, redisstore.Options{Replicas: 101}, "Replicas"},
		"wait for nobody":          {single, redisstore.Options{ReplicaTimeout: time.Second}, "ReplicaTimeout"},
		"no wait":                  {single, redisstore.Options{Replicas: 1, ReplicaTimeout: time.Microsecond}, "ReplicaTimeout"},
		"a negative wait":          {single, redisstore.Options{Replicas: 1, ReplicaTimeout: -time.Second}, "ReplicaTimeout"},
		"half of a read":           {cluster, redisstore.Options{Replicas: 1, ReplicaTimeout: 500 * time.Millisecond}, "ReplicaTimeout"},
		"the default, of a second": {cluster, redisstore.Options{Replicas: 1}, "ReplicaTimeout"},
		"less than half":           {cluster, redisstore.Options{Replicas: 1, ReplicaTimeout: 499 * time.Millisecond}, ""},
		"reads without a limit":    {patient, redisstore.Options{Replicas: 1, ReplicaTimeout: time.Minute}, ""},
		"another kind of client":   {ring, redisstore.Options{Replicas: 1}, "Replicas"},
	} {
		_, err := redisstore.New(c.client, &c.o)
		bad, refused := errors.AsType[*redisstore.OptionError](err)
		if refused != (c.field != "") || refused && bad.Field != c.field || !refused && err != nil {
			t.Errorf("%s: %v, want a refusal of %q", what, err, c.field)
		}
	}
	for _, c := range []redis.UniversalClient{single, ring, cluster, patient} {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

// asking is a store that asks one replica of a primary, on a watched client.
func asking(t *testing.T, g *redistest.Group, retries int) (*redisstore.Store, *wire, env) {
	t.Helper()
	e := env{client: g.Primary.Client(), url: g.Primary.URL()}
	w := &wire{}
	s, err := redisstore.New(e.connect(t, retries, nil, w.dialer()), &redisstore.Options{Replicas: 1, ReplicaTimeout: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	e.store = s
	return s, w, e
}

func strengths(t *testing.T, what string, got, want evidence.Strength, err error) {
	t.Helper()
	if err != nil || got != want {
		t.Errorf("%s: strength %q, %v; want %q", what, got, err, want)
	}
}

// Asking costs no trip, whatever the size, for one message and for several.
func TestReplicas_are_asked_in_the_same_trip(t *testing.T) {
	t.Parallel()
	t.Run("redis", func(t *testing.T) {
		t.Run("P31_P35_B61_asking_costs_no_trip", func(t *testing.T) {
			s, w, e := asking(t, redistest.Replicated(t, 1), -1)
			warmed(t, e)
			state := open(t, s, "r")
			for _, size := range []int{10, 64 << 10, 3 << 20} {
				a := admission(state, fmt.Sprintf("c%d", size), canonical.EffectWrite)
				raw := canonical.NewRaw(make([]byte, size))
				var got canonical.Admitted
				w.took(t, "admit", 1, func() (err error) { got, err = s.Admit(ctx, a); return err })
				strengths(t, "admit", got.Strength, "replicas:1", nil)
				save := canonical.Saving{Run: a.Run, Call: a.Call, Claim: a.Claim, Raw: raw, Expires: got.Expires}
				if size == 10 { // makes the script known
					if _, err := s.Save(ctx, save); err != nil {
						t.Fatal(err)
					}
				}
				w.took(t, "save", 1, func() error {
					ended, err := s.Save(ctx, save)
					strengths(t, "save", ended.Strength, "replicas:1", err)
					return err
				})
				w.took(t, "complete", 1, func() error {
					ended, err := s.Complete(ctx, ready(a, got.Expires, raw.Bytes))
					strengths(t, "complete", ended.Strength, "replicas:1", err)
					return err
				})
			}
			admissions, endings := someReads(state, "batch", 10, 64<<10, 3<<20)
			w.took(t, "a batch of admissions", 1, func() error {
				answers := s.AdmitBatch(ctx, admissions)
				for _, got := range answers {
					strengths(t, "admit", got.Admitted.Strength, "replicas:1", got.Err)
				}
				return admittedAll(answers)
			})
			w.took(t, "a batch of endings", 1, func() error {
				answers := s.CompleteBatch(ctx, endings)
				for _, got := range answers {
					strengths(t, "complete", got.Ended.Strength, "replicas:1", got.Err)
				}
				return endedAll(answers)
			})
			duplicate := admissions[0]
			duplicate.Claim = "another"
			w.took(t, "a duplicate", 1, func() error {
				if _, err := s.Admit(ctx, duplicate); !errors.Is(err, canonical.ErrDuplicate) {
					return fmt.Errorf("answered %v, want ErrDuplicate", err)
				}
				return nil
			})
		})
	})
}

// A message that is delivered again writes once more what is there: WAIT asks for
// what its own connection wrote, and the delivery that did the work was another.
func TestReplicas_a_repeat_writes(t *testing.T) {
	t.Parallel()
	t.Run("redis", func(t *testing.T) {
		t.Run("P31_B61_a_repeat_is_waited_for", func(t *testing.T) {
			g := redistest.Replicated(t, 1)
			s, w, e := asking(t, g, 2)
			warmed(t, e)
			state := open(t, s, "r")
			a := admission(state, "c1", canonical.EffectWrite)
			w.lose.Store(1)
			got, err := s.Admit(ctx, a)
			if strengths(t, "admit again", got.Strength, "replicas:1", err); !got.Own {
				t.Error("the admission whose reply was lost is not recognized")
			}
			swept := admission(state, "c2", canonical.EffectRead)
			admit(t, s, swept)
			save := canonical.Saving{Run: a.Run, Call: a.Call, Claim: a.Claim, Raw: canonical.NewRaw([]byte("raw")), Expires: got.Expires}
			if _, err := s.Save(ctx, save); err != nil {
				t.Fatal(err)
			}
			end := ready(a, got.Expires, []byte("raw"))
			complete(t, s, end)
			shift(t, g.Primary.Client(), "*", time.Hour)
			if _, err := s.Sweep(ctx, canonical.Sweeping{Run: state.Run, Max: 9}); err != nil {
				t.Fatal(err)
			}
			late := ready(swept, got.Expires, []byte("late"))
			if _, err := s.Settle(ctx, late); err != nil {
				t.Fatal(err)
			}
			for what, send := range map[string]func() error{
				"admit":    func() error { _, err := s.Admit(ctx, a); return err },
				"save":     func() error { _, err := s.Save(ctx, save); return err },
				"complete": func() error { _, err := s.Complete(ctx, end); return err },
				"settle":   func() error { _, err := s.Settle(ctx, late); return err },
			} {
				before, written := snapshot(t, e), stat(t, e, "replication", "master_repl_offset")
				if err := send(); err != nil {
					t.Errorf("%s again: %v", what, err)
				}
				if now := stat(t, e, "replication", "master_repl_offset"); now == written {
					t.Errorf("%s again wrote nothing, so WAIT has nothing to wait for", what)
				}
				if after := snapshot(t, e); after != before {
					t.Errorf("%s again changed\n%s\nto\n%s", what, before, after)
				}
			}
		})
	})
}

// Too few replicas: every admission of a batch is refused and its record ended;
// what was refused for another reason keeps its own.
func TestReplicas_too_few(t *testing.T) {
	t.Parallel()
	t.Run("redis", func(t *testing.T) {
		t.Run("P31_a_batch_that_reaches_nobody", func(t *testing.T) {
			g := redistest.Replicated(t, 1)
			s, w, e := asking(t, g, -1)
			warmed(t, e)
			state := open(t, s, "r")
			first := admission(state, "first", canonical.EffectRead)
			got := admit(t, s, first)
			g.Replicas[0].Pause()
			admissions, _ := someReads(state, "c", 1, 1, 1)
			duplicate := first
			duplicate.Claim = "another"
			admissions = append(admissions, duplicate)
			var answers []canonical.AdmitAnswer
			w.took(t, "a batch that is refused", 2, func() error { answers = s.AdmitBatch(ctx, admissions); return nil })
			for i, a := range answers[:3] {
				no, ok := errors.AsType[*canonical.RefusedError](a.Err)
				if !ok || !errors.Is(no, canonical.ErrStrength) || no.Wanted != 1 || no.Limit != 0 || no.First != lifecycle.Error || a.Admitted != (canonical.Admitted{}) {
					t.Errorf("admission %d: %+v, %v; want it refused and ended", i, a.Admitted, a.Err)
				}
				rec, err := s.Record(ctx, state.Run, admissions[i].Call)
				if err != nil || rec.State != lifecycle.Error || rec.Code != lifecycle.StoreUnavailable || rec.Execution != lifecycle.NotStarted {
					t.Errorf("record %d: %s %s %s, %v", i, rec.State, rec.Code, rec.Execution, err)
				}
			}
			if !errors.Is(answers[3].Err, canonical.ErrDuplicate) {
				t.Errorf("a duplicate: %v, want ErrDuplicate", answers[3].Err)
			}
			now, err := s.Inspect(ctx, state.Run)
			if err != nil || now.LastSeq != 4 {
				t.Errorf("sequence %d, %v; want 4: the places are used", now.LastSeq, err)
			}
			if out, err := s.Outstanding(ctx, state.Run); err != nil || len(out.Open) != 1 {
				t.Errorf("open %v, %v; want the first alone", out.Open, err)
			}
			ended, err := s.Complete(ctx, ready(first, got.Expires, []byte("raw")))
			strengths(t, "an end that reaches nobody", ended.Strength, evidence.StrengthMemory, err)
			if again, err := s.Admit(ctx, admissions[0]); err != nil || !again.Own || again.State != lifecycle.Error {
				t.Errorf("the refused admission again = %+v, %v; want its ended state", again, err)
			}
		})
		t.Run("P31_an_end_that_does_not_arrive", func(t *testing.T) {
			g := redistest.Replicated(t, 1)
			e := env{client: g.Primary.Client(), url: g.Primary.URL()}
			hook := &deafTo{script: redisstore.CompleteDigest}
			s, err := redisstore.New(e.connect(t, -1, hook, nil), &redisstore.Options{Replicas: 1, ReplicaTimeout: 50 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			state := open(t, s, "r")
			g.Replicas[0].Pause()
			a := admission(state, "c1", canonical.EffectRead)
			_, err = s.Admit(ctx, a)
			no, ok := errors.AsType[*canonical.RefusedError](err)
			if !ok || !errors.Is(no, canonical.ErrStrength) || no.First != "" || hook.met == 0 {
				t.Errorf("admit = %v (%d ends lost), want ErrStrength of a record of which nothing is known", err, hook.met)
			}
		})
	})
}

// deafTo is a hook that loses one script, wherever it stands.
type deafTo struct {
	script string
	met    int
}

// DialHook implements [redis.Hook].
func (d *deafTo) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements [redis.Hook].
func (d *deafTo) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if d.carries(cmd) {
			cmd.SetErr(errKilled)
			return errKilled
		}
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook implements [redis.Hook].
func (d *deafTo) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			if d.carries(cmd) {
				cmd.SetErr(errKilled)
				return errKilled
			}
		}
		return next(ctx, cmds)
	}
}

func (d *deafTo) carries(cmd redis.Cmder) bool {
	args := cmd.Args()
	hit := len(args) > 1 && args[1] == d.script
	if hit {
		d.met++
	}
	return hit
}

// A server without replicas, as the embedded one, reaches nobody.
func TestReplicas_where_there_are_none(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e env) {
		if e.space != nil {
			return // has some
		}
		s := dial(t, e.url, &redisstore.Options{Replicas: 1, ReplicaTimeout: 10 * time.Millisecond})
		state := open(t, s, "r")
		if _, err := s.Admit(ctx, admission(state, "c1", canonical.EffectRead)); !errors.Is(err, canonical.ErrStrength) {
			t.Errorf("admit = %v, want ErrStrength", err)
		}
		if out, err := s.Outstanding(ctx, state.Run); err != nil || len(out.Open) != 0 {
			t.Errorf("open %v, %v; want nothing", out.Open, err)
		}
	})
}

func TestReplicas_health(t *testing.T) {
	t.Parallel()
	g := redistest.Replicated(t, 1)
	o := &redisstore.Options{Replicas: 1}
	if r, err := dial(t, g.Primary.URL(), o).Health(ctx); err != nil || len(r.Findings) != 0 || r.Replicas != 1 {
		t.Errorf("with the replica that is asked for: %+v, %v; want no findings", r, err)
	}
	if r, err := dial(t, g.Primary.URL(), &redisstore.Options{Replicas: 2}).Health(ctx); err != nil || !has(r, redisstore.Fault, "replicas") {
		t.Errorf("with one of two replicas: %+v, %v; want a fault", r, err)
	}
	if err := g.Primary.Client().Do(ctx, fewRights()...).Err(); err != nil {
		t.Fatal(err)
	}
	s := dial(t, "redis://few:s3cr%40t%2F%3A@"+g.Primary.Addr(), o)
	if r, err := s.Health(ctx); err != nil || !has(r, redisstore.Fault, "replicas") {
		t.Errorf("with a user who may not ask: %+v, %v; want a fault", r, err)
	}
	if _, err := s.Admit(ctx, admission(open(t, s, "r"), "c1", canonical.EffectRead)); !errors.Is(err, canonical.ErrStrength) {
		t.Errorf("admit of a user who may not ask = %v, want ErrStrength", err)
	}
}
