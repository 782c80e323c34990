package boundary

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/findings"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/runprogress"
)

// DefaultMaxDuration is the duration of a run whose spec has none.
const DefaultMaxDuration = 15 * time.Minute

// RunSpec describes one tool loop of one agent.
type RunSpec struct {
	ID          canonical.RunID     // empty: a new UUIDv7. A run id may be made, a tool_call_id never
	Scope       canonical.Scope     // required; one store serves all tenants
	Principal   canonical.Principal // trusted; kept in every record
	MaxDuration time.Duration       // zero: 15 minutes. The store's clock makes the deadline of it
	Budget      canonical.Budget    // zero fields: 16 calls, 8 a tool; canonical.Unlimited must be written out
	Continues   []canonical.RunID   // earlier runs of the same conversation and scope whose records may be cited
}

// Run is an open run: the context in which calls are made. It is safe for
// concurrent use.
type Run struct {
	boundary *ToolBoundary
	key      canonical.RunKey
	token    canonical.Token
	limits   canonical.Limits
	budget   canonical.Budget
	who      canonical.Principal
	tracker  runprogress.Tracker

	continues []canonical.RunID

	mu     sync.Mutex
	clock  runClock
	active bool
	shared bool  // calls may be in the store that the tracker does not know of
	seen   int64 // highest sequence that this process knows of

	cited     *findings.Ledger
	proposals map[canonical.CallName]*findings.Proposal // of paused calls
}

// RunTicket lets another process join a run. It is a secret: whoever has it may
// make calls in the run and close it. It prints without its token; Reveal gives
// the text to send.
type RunTicket struct {
	Run   canonical.RunKey
	Token canonical.Token
}

// ticketForm begins the text of every ticket, so that another form can follow.
const ticketForm = "1"

// Reveal encodes the ticket, token included, for a channel that the host trusts.
// The text has letters, digits and . _ - alone.
func (t RunTicket) Reveal() string {
	s := t.Run.Scope
	text := ticketForm
	for _, part := range []string{string(t.Run.Run), string(t.Token), s.Tenant, s.Owner, s.Namespace} {
		text += "." + base64.RawURLEncoding.EncodeToString([]byte(part)) // a scope may hold any character
	}
	return text
}

// ParseRunTicket reads what Reveal wrote. Its errors never repeat the text.
func ParseRunTicket(text string) (RunTicket, error) {
	parts := strings.Split(text, ".")
	if len(parts) != 6 || parts[0] != ticketForm || parts[2] == "" {
		return RunTicket{}, errTicket
	}
	for i := range parts {
		plain, err := base64.RawURLEncoding.Strict().DecodeString(parts[i])
		if i > 0 && err != nil {
			return RunTicket{}, errTicket
		}
		parts[i] = string(plain)
	}
	t := RunTicket{
		Run: canonical.RunKey{
			Scope: canonical.Scope{Tenant: parts[3], Owner: parts[4], Namespace: parts[5]}, Run: canonical.RunID(parts[1]),
		},
		Token: canonical.Token(parts[2]),
	}
	if err := t.Run.Validate(); err != nil {
		return RunTicket{}, err
	}
	return t, nil
}

var errTicket = errors.New("boundary: not a run ticket")

// OpenRun opens a run in the store. The error is a [*Error]; its chain has the
// store's refusal, for instance canonical.ErrRunTooLong or canonical.ErrQuota.
func (b *ToolBoundary) OpenRun(ctx context.Context, spec RunSpec) (*Run, error) {
	opening, err := b.opening(spec)
	if err != nil {
		return nil, b.runError("open run", opening.Run, err)
	}
	before := b.now()
	var state canonical.RunState
	err = b.retry(ctx, func(ctx context.Context) (err error) {
		state, err = b.store.OpenRun(ctx, opening)
		return err
	})
	if err != nil {
		return nil, b.runError("open run", opening.Run, err)
	}
	return b.newRun(state, opening.Token, before, false), nil
}

func (b *ToolBoundary) opening(spec RunSpec) (canonical.Opening, error) {
	o := canonical.Opening{
		Run:       canonical.RunKey{Scope: spec.Scope, Run: spec.ID},
		Principal: spec.Principal, Duration: spec.MaxDuration, Limits: b.limits, Continues: spec.Continues,
		Quota: b.quota,
	}
	if b.isClosed() {
		return o, errShutDown
	}
	if o.Run.Run == "" {
		id, err := uuid.NewV7()
		if err != nil {
			return o, err
		}
		o.Run.Run = canonical.RunID(id.String())
	}
	if o.Duration == 0 {
		o.Duration = DefaultMaxDuration
	}
	token, err := newSecret()
	if err != nil {
		return o, err
	}
	o.Token = canonical.Token(token)
	if o.Budget, err = spec.Budget.WithDefaults(b.limits); err != nil {
		return o, err
	}
	return o, o.Validate()
}

// JoinRun joins a run that another process opened. Budgets, duplicates and the
// deadline are shared; limits are those the run was opened with.
func (b *ToolBoundary) JoinRun(ctx context.Context, ticket RunTicket) (*Run, error) {
	if b.isClosed() {
		return nil, b.runError("join run", ticket.Run, errShutDown)
	}
	before := b.now()
	var state canonical.RunState
	err := b.retry(ctx, func(ctx context.Context) (err error) {
		state, err = b.store.JoinRun(ctx, ticket.Run, ticket.Token)
		return err
	})
	if err != nil {
		return nil, b.runError("join run", ticket.Run, err)
	}
	return b.newRun(state, ticket.Token, before, true), nil
}

func (b *ToolBoundary) newRun(state canonical.RunState, token canonical.Token, before time.Time, shared bool) *Run {
	return &Run{
		boundary: b, key: state.Run, token: token, limits: state.Limits, budget: state.Budget, who: state.Principal,
		clock:  newRunClock(before, state.Now, state.Left),
		active: state.Phase == canonical.RunOpen, shared: shared || state.LastSeq > 0, seen: state.LastSeq,
		continues: state.Continues, cited: &findings.Ledger{},
	}
}

// runError leaves a malformed run id out, as a call's is.
func (b *ToolBoundary) runError(op string, run canonical.RunKey, err error) error {
	if run.Validate() != nil {
		run = canonical.RunKey{}
	}
	code, x := codeOf(err)
	if badInput(err) {
		code = lifecycle.InvalidInput
	}
	return &Error{Code: code, Op: op, Identity: canonical.Identity{RunKey: run}, Execution: x, cause: err}
}

// Format prints the run's id for every verb; the token is in no format.
func (r *Run) Format(f fmt.State, _ rune) { fmt.Fprintf(f, "{run %q}", string(r.key.Run)) }

// ID is the run's id.
func (r *Run) ID() canonical.RunID { return r.key.Run }

// Key is the run's id with its scope.
func (r *Run) Key() canonical.RunKey { return r.key }

// Ticket lets another process join. From then on Facts asks the store for the
// run's order, since calls may be made elsewhere.
func (r *Run) Ticket() RunTicket {
	r.share()
	return RunTicket{Run: r.key, Token: r.token}
}

// share notes that the run may have calls that this process's tracker lacks.
func (r *Run) share() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shared = true
}

// Close ends the run for good, here and in every process. Calls in flight may
// finish. Closing twice is fine.
func (r *Run) Close(ctx context.Context) error {
	r.mu.Lock()
	r.active = false
	closing := canonical.Closing{Run: r.key, Token: r.token, Seen: r.seen}
	r.mu.Unlock()
	err := r.boundary.retry(ctx, func(ctx context.Context) error {
		_, err := r.boundary.store.CloseRun(ctx, closing)
		return err
	})
	if err != nil {
		return r.boundary.runError("close run", r.key, err)
	}
	return nil
}

// isActive reports whether this process still believes the run to be open.
func (r *Run) isActive() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.active
}

func (r *Run) deactivate() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.active = false
}

// left is the time to the run's deadline by this process's clock.
func (r *Run) left() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.clock.left(r.boundary.now())
}

// storeTime is an estimate of the store's clock, at or a little after it.
func (r *Run) storeTime() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.clock.storeTime(r.boundary.now())
}

// observe takes over what a reply of the store said of time and order. before is
// the time just before the request was sent.
func (r *Run) observe(before, storeNow time.Time, left time.Duration, seq int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.clock = newRunClock(before, storeNow, left)
	r.seen = max(r.seen, seq)
}

func (r *Run) seenSeq() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.seen
}

// refusedAs remembers a refusal that is true of the whole run.
func (r *Run) refusedAs(err error) {
	if errors.Is(err, canonical.ErrRunClosed) || errors.Is(err, canonical.ErrRunDamaged) || errors.Is(err, canonical.ErrRunMissing) {
		r.deactivate()
	}
}

var errShutDown = errors.New("the boundary was shut down")

// codeOf is the one place where what went wrong below becomes a code, for
// everything that happens before a tool is entered. What happens afterwards is
// judged in ending.go.
func codeOf(err error) (lifecycle.Code, lifecycle.Execution) {
	for _, row := range storeCodes {
		if errors.Is(err, row.err) {
			return row.code, lifecycle.NotStarted
		}
	}
	return lifecycle.StoreUnavailable, lifecycle.NotStarted
}

var storeCodes = []struct {
	err  error
	code lifecycle.Code
}{
	{canonical.ErrDuplicate, lifecycle.DuplicateToolCall},
	{canonical.ErrRunClosed, lifecycle.RunInactive},
	{canonical.ErrRunMissing, lifecycle.RunInactive},
	{canonical.ErrRunDamaged, lifecycle.RunInactive},
	{canonical.ErrRunTaken, lifecycle.RunInactive},
	{canonical.ErrRunConflict, lifecycle.RunInactive},
	{canonical.ErrRunTooLong, lifecycle.RunInactive},
	{errShutDown, lifecycle.RunInactive},
	{canonical.ErrDeadline, lifecycle.RunDeadlineExceeded},
	{canonical.ErrUnresolvedEffect, lifecycle.UnresolvedEffect},
	{canonical.ErrCapacity, lifecycle.CapacityExhausted},
	{canonical.ErrQuota, lifecycle.CapacityExhausted},
	{canonical.ErrRunBudget, lifecycle.RunBudgetExhausted},
	{canonical.ErrToolBudget, lifecycle.ToolBudgetExhausted},
	{canonical.ErrTooLate, lifecycle.StoreUnavailable},
	{canonical.ErrStrength, lifecycle.StoreUnavailable},
	{canonical.ErrForeign, lifecycle.StoreUnavailable},
	{canonical.ErrNewerVersion, lifecycle.StoreUnavailable},
}
