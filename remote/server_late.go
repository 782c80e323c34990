package remote

import (
	"context"
	"errors"
	"io"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
)

// retain takes what the store did not: a result that waits for repair, or one that
// came after its call had ended. It is called on the goroutine that has the
// result.
func (s *Server) retain(r boundary.Retained) {
	s.mu.Lock()
	entry := s.requests[requestKey{r.Identity.Scope, string(r.Identity.Call.ID)}]
	s.mu.Unlock()
	if entry == nil || s.identity(entry.key) != r.Identity {
		return
	}
	if r.Reason == boundary.Late {
		go s.takeLate(entry, r)
		return
	}
	entry.mu.Lock()
	entry.retained = &r
	entry.mu.Unlock()
	s.observe(Event{Method: MethodExecute, Session: entry.session, RequestID: entry.key.id, Tool: entry.tool, State: SettledUnstored, Retained: true})
}

// takeLate waits until the end at the deadline has been judged.
func (s *Server) takeLate(entry *request, r boundary.Retained) {
	<-entry.done
	defer s.working.Done() // of expectLate
	if !r.Failed && r.Raw.Present() && entry.is(Unsettled) {
		s.keepLate(entry, r)
	}
	entry.mu.Lock()
	defer entry.mu.Unlock()
	entry.lateDue = false
}

func (s *Server) isRetained(r *request) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.retained != nil
}

// lateIdentity is where a late result is kept: beside the record that it belongs to,
// which never changes.
func (s *Server) lateIdentity(key requestKey) canonical.Identity {
	id := s.identity(key)
	id.Run = "rl" + id.Run[2:]
	return id
}

// lateRequest ties a late result to its request.
type lateRequest struct {
	Schema    string `json:"schema"`
	LateOf    string `json:"late_of"`
	Call      string `json:"tool_call_id"`
	RequestID string `json:"request_id"`
	Tool      string `json:"tool"`
	SHA256    string `json:"sha256"`
}

// keepLate stores a late result under its original identity and notes that the
// effect was applied. Until both are done the outcome stays unknown.
func (s *Server) keepLate(r *request, late boundary.Retained) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*s.limits.ClosingTimeout)
	defer cancel()
	id := s.lateIdentity(r.key)
	note, err := marshal(lateRequest{SourceSchema, string(late.Identity.Run), string(late.Identity.Call.ID), r.key.id, r.tool, late.Raw.SHA256})
	if err != nil {
		return
	}
	head, err := record{s.boundary, s.store}.keep(ctx, id, r.who.Principal, r.tool, note, late.Raw.Bytes)
	if errors.Is(err, canonical.ErrRunTaken) { // an earlier try came as far as this
		head, err = s.headOf(ctx, id)
	}
	if err == nil && head.Raw.SHA256 != late.Raw.SHA256 {
		err = errCorrelation
	}
	if err == nil && !r.effect.Read() {
		err = s.store.Resolve(ctx, canonical.Resolution{
			Run: late.Identity.RunKey, Call: late.Identity.Call, Verdict: canonical.Applied, Evidence: SourceSchema + " late " + late.Raw.SHA256,
		})
	}
	switch {
	case errors.Is(err, canonical.ErrConflict): // the host gave its verdict before, and it stands
		s.adopt(ctx, r)
		return
	case err != nil:
		r.mu.Lock()
		r.retained = &late
		r.mu.Unlock()
		return
	}
	r.store(id, head, s.now())
	r.mu.Lock()
	r.late = true
	r.mu.Unlock()
}

// record keeps bytes that are known already as the result of an ordinary call of a
// run of its own, so that they are stored, verified and found like any other. No
// tool is entered.
type record struct {
	boundary *boundary.ToolBoundary
	store    canonical.Store
}

// keep stores raw under id. The run must be new.
func (k record) keep(ctx context.Context, id canonical.Identity, who canonical.Principal, tool string, request, raw []byte) (canonical.Head, error) {
	result, err := k.invoke(ctx, id, who, boundary.Envelope{Tool: tool, Input: request}, boundary.Action{
		Executor: boundary.ExecutorFunc(func(_ context.Context, _ boundary.Input, w io.Writer) error {
			_, err := w.Write(raw)
			return err
		}),
		Projector: sourceNote{},
	})
	if err != nil {
		return canonical.Head{}, err
	}
	if result.Err != nil {
		return canonical.Head{}, result.Err
	}
	heads, err := k.store.Heads(ctx, id.RunKey, []canonical.CallName{id.Call})
	if err != nil || len(heads) != 1 || !heads[0].Raw.Stored {
		return canonical.Head{}, canonical.ErrMissing
	}
	return heads[0], nil
}

func (k record) invoke(ctx context.Context, id canonical.Identity, who canonical.Principal, env boundary.Envelope, action boundary.Action) (boundary.Result, error) {
	run, err := k.boundary.OpenRun(ctx, boundary.RunSpec{
		ID: id.Run, Scope: id.Scope, Principal: who, MaxDuration: observationRun, Budget: canonical.Budget{Calls: 1, PerTool: 1},
	})
	if err != nil {
		return boundary.Result{}, err
	}
	env.RunID, env.Turn, env.ToolCallID = id.Run, id.Call.Turn, id.Call.ID
	env.Authorized, env.ReadOnly = true, true
	action.Effect = canonical.EffectRead
	result := k.boundary.Invoke(ctx, run, env, action)
	_ = run.Close(ctx) // its deadline ends it otherwise
	return result, nil
}
