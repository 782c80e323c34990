package kill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/faults/report"
	"github.com/toolharness/harness/projector"
	"github.com/toolharness/harness/redisstore"
)

// Sizes of results, in bytes. From largeBytes on a message takes several writes,
// and the longest is sent in pieces.
const (
	smallBytes = 300
	largeBytes = 150 << 10
	pieceBytes = 1100 << 10
)

// Order is what a child is told: make these calls, the last of them watched.
type Order struct {
	Addr    string `json:"addr"`
	Ticket  string `json:"ticket"`
	Entries string `json:"entries"` // the file of entries
	Calls   []Spec `json:"calls"`
	Watch   int    `json:"watch"`          // the call in which the child is to be killed; -1 for none
	Hold    Phase  `json:"hold,omitempty"` // the phase in which it waits for that; empty: nowhere
	LookUp  bool   `json:"look_up"`        // ask for the stored answer of every call at the end
}

// Spec is one call.
type Spec struct {
	ID     canonical.ToolCallID `json:"id"`
	Effect canonical.Effect     `json:"effect"`
	Size   int                  `json:"size"`
	Seed   uint64               `json:"seed"`
}

// Word is what a child says: a phase of the watched call, or what became of a
// call.
type Word struct {
	Call  int    `json:"call"`
	Phase Phase  `json:"phase,omitempty"`
	Told  string `json:"told,omitempty"` // READY or the code
	Ran   string `json:"ran,omitempty"`
	Agent string `json:"agent,omitempty"` // digest of the text of a READY

	Looked string `json:"looked,omitempty"` // what Lookup answered: the digest of a text, or a code
	Done   bool   `json:"done,omitempty"`   // nothing more follows
}

// raw is what the tool of the call returns.
func (s Spec) raw() []byte {
	out := make([]byte, s.Size)
	r := rand.NewChaCha8([32]byte{byte(s.Seed), byte(s.Seed >> 8), byte(s.Seed >> 16), byte(s.Seed >> 24)})
	_, _ = r.Read(out) // never fails
	return out
}

// summarize is the projector: what the model reads of the bytes.
func summarize(raw []byte) []byte {
	return fmt.Appendf(nil, `{"bytes":%d,"sha256":%q}`, len(raw), report.Digest(raw))
}

// Work is the role of a child. Its parent ends it, one way or the other.
func Work(orders *json.Decoder, answers *json.Encoder) error {
	var o Order
	if err := orders.Decode(&o); err != nil {
		return err
	}
	go func() { // a parent that is gone cannot kill us
		var end any
		_ = orders.Decode(&end)
		os.Exit(3)
	}()
	c, err := newChild(o, &tap{answers: answers, hold: o.Hold})
	if err != nil {
		return err
	}
	if err := c.makeCalls(context.Background()); err != nil {
		return err
	}
	if err := c.tap.tell(Word{Done: true}); err != nil {
		return err
	}
	select {}
}

// child is the harness as a host would set it up, with a tap on store and wire.
type child struct {
	Order
	tap      *tap
	boundary *boundary.ToolBoundary
	run      *boundary.Run
}

// limits of every run. A call that is killed is overdue after the tool's timeout,
// both closing limits and the margin: eight seconds.
func limits() canonical.Limits {
	return canonical.Limits{ToolTimeout: time.Second, ProjectorTimeout: time.Second, ClosingTimeout: time.Second}
}

func newChild(o Order, t *tap) (*child, error) {
	ticket, err := boundary.ParseRunTicket(o.Ticket)
	if err != nil {
		return nil, err
	}
	client := redis.NewClient(&redis.Options{Addr: o.Addr, PoolSize: 2, ContextTimeoutEnabled: true, DisableIdentity: true, Dialer: t.dial})
	store, err := redisstore.New(client, nil)
	if err != nil {
		return nil, err
	}
	b, err := newBoundary(tapStore{store, t}, nil)
	if err != nil {
		return nil, err
	}
	run, err := b.JoinRun(context.Background(), ticket)
	if err != nil {
		return nil, err
	}
	return &child{Order: o, tap: t, boundary: b, run: run}, nil
}

func newBoundary(store canonical.Store, retained func(context.Context, boundary.Retained)) (*boundary.ToolBoundary, error) {
	return boundary.New(boundary.Config{
		Store: store, Authorizer: boundary.AllowAll{}, Effects: boundary.EffectPolicy{Write: true, Unknown: true},
		Limits: limits(), OnRetained: retained,
	})
}

// makeCalls makes all calls up to the watched one, as a host does that was
// started again and does not know how far it had come.
func (c *child) makeCalls(ctx context.Context) error {
	for i, spec := range c.Calls {
		if i == c.Watch {
			c.tap.watch(i, spec.Size)
			c.tap.at(Joined)
		}
		result := c.boundary.Invoke(ctx, c.run, spec.envelope(c.run.ID()), c.action(spec))
		c.tap.at(Ended)
		if err := c.tap.tell(wordOf(i, result.Outcome)); err != nil {
			return err
		}
		if i == c.Watch {
			return nil
		}
	}
	for i, spec := range c.Calls {
		if !c.LookUp {
			break
		}
		outcome, err := c.run.Lookup(ctx, canonical.CallName{ID: spec.ID})
		if err := c.tap.tell(Word{Call: i, Looked: looked(outcome, err)}); err != nil {
			return err
		}
	}
	return nil
}

func wordOf(call int, o boundary.Outcome) Word {
	w := Word{Call: call, Told: "READY", Ran: o.Execution().Ran()}
	if o.IsError() {
		w.Told = string(o.Code())
	} else {
		w.Agent = report.Digest([]byte(o.Text()))
	}
	return w
}

// looked is what a host learns of a call by looking it up.
func looked(o boundary.Outcome, err error) string {
	switch {
	case errors.Is(err, canonical.ErrStillOpen):
		return "open"
	case errors.Is(err, canonical.ErrMissing):
		return "missing"
	case err != nil:
		return "error: " + err.Error()
	case o.IsError():
		return string(o.Code())
	}
	return report.Digest([]byte(o.Text()))
}

func (s Spec) envelope(run canonical.RunID) boundary.Envelope {
	return boundary.Envelope{
		RunID: run, ToolCallID: s.ID, Tool: s.tool(), Input: fmt.Appendf(nil, `{"seed":"%d"}`, s.Seed),
		Authorized: true, ReadOnly: s.Effect.Read(),
	}
}

// tool has its effect in its name, so that the budgets of several are counted.
func (s Spec) tool() string { return "tool-" + string(s.Effect) }

func (c *child) action(s Spec) boundary.Action {
	return boundary.Action{
		Effect: s.Effect,
		Executor: boundary.ExecutorFunc(func(_ context.Context, in boundary.Input, raw io.Writer) error {
			if err := report.Enter(c.Entries, report.Base(in.Identity.RunKey), in.Identity.Call.String()); err != nil {
				return err
			}
			c.tap.at(Entered)
			body := s.raw()
			if _, err := raw.Write(body[:len(body)/2]); err != nil {
				return err
			}
			c.tap.at(BodyHalf)
			_, err := raw.Write(body[len(body)/2:])
			c.tap.at(BodyDone)
			return err
		}),
		Projector: projector.Func(func(_ context.Context, in projector.Input) (projector.Projection, error) {
			c.tap.at(Projecting)
			return projector.Projection{Result: summarize(in.Raw), Status: evidence.Found}, nil
		}),
	}
}
