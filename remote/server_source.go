package remote

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/projector"
)

// settle judges how a call of the server's boundary ended. What the tool did and
// what could be stored of it are two questions: a result over a limit, or one that
// the server's own projector could not show, is a result all the same.
func (s *Server) settle(r *request, id canonical.Identity, arguments []byte, result boundary.Result) {
	if leftBehind(result.Err) {
		s.expectLate(r)
	}
	ref, kept := result.Outcome.Reference()
	switch x := result.Outcome.Execution(); {
	case x == boundary.NotStarted:
		r.notStarted(string(result.Outcome.Code()))
	case x == boundary.Unknown:
		r.end(Unsettled, executionUnknown, "", s.now())
	case kept:
		s.acknowledge(r, id, arguments, ref)
	case s.isRetained(r):
		r.end(SettledUnstored, executionCompleted, "", s.now())
	default:
		s.withoutResult(r, result.Outcome.Code())
	}
}

func (r *request) end(state ReceiptState, execution, code string, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state, r.execution, r.code, r.finished = state, execution, code, now
}

// withoutResult settles a call that ran to its end and left no bytes.
func (s *Server) withoutResult(r *request, code lifecycle.Code) {
	r.end(Settled, executionCompleted, string(code), s.now())
	r.mu.Lock()
	defer r.mu.Unlock()
	r.acked = true
	switch {
	case r.effect.Read():
	case code == lifecycle.ResultTooLarge:
		r.applied = appliedYes // a tool that may change something is let to its end before it is judged
	default:
		r.applied = appliedNo // the boundary reports nothing else of such a tool unless it declared that
	}
}

// readTries is how often a record that was just stored is asked for.
const readTries = 3

var errCorrelation = errors.New("remote: the stored record is not that of the request")

// acknowledge reads the record back and compares everything that ties it to the
// request. A store, or something in front of it, that does not keep that leaves
// the source unacknowledged, and the server says so.
func (s *Server) acknowledge(r *request, id canonical.Identity, arguments []byte, ref evidence.Reference) {
	ctx, cancel := context.WithTimeout(context.Background(), s.limits.ClosingTimeout)
	defer cancel()
	var head canonical.Head
	var err error
	for range readTries {
		if head, err = s.headOf(ctx, id); err == nil {
			break
		}
	}
	if err == nil && !s.correlates(head, r, id, arguments, ref) {
		err = errCorrelation
	}
	if err != nil {
		r.end(SettledUnstored, executionCompleted, "", s.now())
		s.observe(Event{Method: MethodExecute, Session: r.session, RequestID: r.key.id, Tool: r.tool, State: SettledUnstored, Retained: true})
		return
	}
	r.store(id, head, s.now())
}

func (s *Server) headOf(ctx context.Context, id canonical.Identity) (canonical.Head, error) {
	heads, err := s.store.Heads(ctx, id.RunKey, []canonical.CallName{id.Call})
	switch {
	case err != nil:
		return canonical.Head{}, err
	case len(heads) != 1 || !heads[0].Exists():
		return canonical.Head{}, canonical.ErrMissing
	}
	return heads[0], nil
}

func (s *Server) correlates(h canonical.Head, r *request, id canonical.Identity, arguments []byte, ref evidence.Reference) bool {
	return h.Identity == id && h.Tool == r.tool && h.Principal == r.who.Principal && h.Effect == r.effect &&
		h.OperationKey == id.OperationKey(arguments) && (h.RequestSHA256 == sha256Hex(arguments) || h.Redacted != "") &&
		string(h.EvidenceID) == ref.EvidenceID && h.Raw.Stored && h.Raw.SHA256 == ref.SHA256 && h.Raw.Size == ref.Bytes
}

// store settles a request whose result is in a record.
func (r *request) store(at canonical.Identity, head canonical.Head, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state, r.execution, r.code, r.acked = Settled, executionCompleted, "", true
	r.content = &source{run: at.RunKey, call: at.Call, raw: head.Raw, head: head}
	if r.finished.IsZero() {
		r.finished = now
	}
	if !r.effect.Read() {
		r.applied = appliedYes
	}
}

// expectLate notes that a body still runs whose call has ended, so that Close waits
// for what it returns.
func (s *Server) expectLate(r *request) {
	r.mu.Lock()
	r.lateDue = true
	r.mu.Unlock()
	s.working.Add(1)
}

// leftBehind reports whether the boundary itself said that the body still runs. It
// looks no deeper: a tool's own error may hold another boundary's.
func leftBehind(err error) bool {
	cause := errors.Unwrap(err)
	if joined, ok := cause.(interface{ Unwrap() []error }); ok {
		return slices.Contains(joined.Unwrap(), boundary.ErrLeftBehind)
	}
	return cause == boundary.ErrLeftBehind
}

// sourceNote stands in for a projector that the host did not give. What a client
// gets is the result itself.
type sourceNote struct{}

// Project notes schema, size and digest.
func (sourceNote) Project(_ context.Context, in projector.Input) (projector.Projection, error) {
	note, err := marshal(struct {
		Schema string `json:"schema"`
		Bytes  int    `json:"bytes"`
		SHA256 string `json:"sha256"`
	}{SourceSchema, len(in.Raw), sha256Hex(in.Raw)})
	return projector.Projection{Result: note, Status: evidence.Found}, err
}
