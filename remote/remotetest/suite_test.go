package remotetest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/remote"
	"github.com/toolharness/harness/remote/remotetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var caller = remote.Caller{Scope: canonical.Scope{Tenant: "t"}, Principal: canonical.Principal{User: "u"}}

func peer(l *remotetest.Loopback, t remote.Transport) remotetest.Peer {
	return remotetest.Peer{
		Transport: t, Caller: caller, Secret: "secret-8a2c", Revoke: l.Revoke, Gone: l.Gone,
		DropReply: l.DropNext,
	}
}

func TestLoopback(t *testing.T) {
	t.Parallel()
	remotetest.Run(t, func(_ *testing.T, h remote.Handler) remotetest.Peer {
		l := remotetest.NewLoopback(h, caller, nil)
		return peer(l, l)
	})
}

// broken is a transport that does one thing wrong.
type broken struct {
	remote.Transport
	execute  func(context.Context, remote.ExecuteRequest) (remote.Receipt, error)
	receipt  func(context.Context, remote.ReceiptRequest) (remote.Receipt, error)
	evidence func(context.Context, remote.EvidenceRequest) (remote.EvidenceResponse, error)
	cancel   func(context.Context, remote.CancelRequest) (remote.CancelResponse, error)
}

func (b broken) Execute(ctx context.Context, q remote.ExecuteRequest) (remote.Receipt, error) {
	if b.execute != nil {
		return b.execute(ctx, q)
	}
	return b.Transport.Execute(ctx, q)
}

func (b broken) GetReceipt(ctx context.Context, q remote.ReceiptRequest) (remote.Receipt, error) {
	if b.receipt != nil {
		return b.receipt(ctx, q)
	}
	return b.Transport.GetReceipt(ctx, q)
}

func (b broken) ReadEvidence(ctx context.Context, q remote.EvidenceRequest) (remote.EvidenceResponse, error) {
	if b.evidence != nil {
		return b.evidence(ctx, q)
	}
	return b.Transport.ReadEvidence(ctx, q)
}

func (b broken) Cancel(ctx context.Context, q remote.CancelRequest) (remote.CancelResponse, error) {
	if b.cancel != nil {
		return b.cancel(ctx, q)
	}
	return b.Transport.Cancel(ctx, q)
}

var breakages = []struct {
	clause, name string
	make         func(l *remotetest.Loopback, h remote.Handler) remote.Transport
}{
	{"N01", "arguments_trimmed", func(l *remotetest.Loopback, _ remote.Handler) remote.Transport {
		return broken{Transport: l, execute: func(ctx context.Context, q remote.ExecuteRequest) (remote.Receipt, error) {
			q.Arguments = strings.TrimSpace(q.Arguments)
			return l.Execute(ctx, q)
		}}
	}},
	{"N01", "empty_result_lost", func(l *remotetest.Loopback, _ remote.Handler) remote.Transport {
		return broken{Transport: l, receipt: func(ctx context.Context, q remote.ReceiptRequest) (remote.Receipt, error) {
			r, err := l.GetReceipt(ctx, q)
			if r.Content != nil && r.Content.Bytes == 0 {
				r.HasResult, r.Content = false, nil
			}
			return r, err
		}}
	}},
	{"N02", "refusal_without_admission", func(l *remotetest.Loopback, _ remote.Handler) remote.Transport {
		return broken{Transport: l, execute: func(ctx context.Context, q remote.ExecuteRequest) (remote.Receipt, error) {
			r, err := l.Execute(ctx, q)
			if refused, ok := errors.AsType[*remote.ProtocolError](err); ok {
				refused.Admitted = remote.AdmittedNo
			}
			return r, err
		}}
	}},
	{"N02", "refusal_as_text", func(l *remotetest.Loopback, _ remote.Handler) remote.Transport {
		return broken{Transport: l, cancel: func(ctx context.Context, q remote.CancelRequest) (remote.CancelResponse, error) {
			r, err := l.Cancel(ctx, q)
			if err != nil {
				err = errors.New("refused")
			}
			return r, err
		}}
	}},
	{"N03", "caller_kept_from_the_first_call", func(l *remotetest.Loopback, h remote.Handler) remote.Transport {
		other := remotetest.NewLoopback(h, caller, nil)
		return broken{Transport: l, evidence: other.ReadEvidence}
	}},
	{"N03", "another_caller", func(l *remotetest.Loopback, h remote.Handler) remote.Transport {
		who := caller
		who.Principal.User = "somebody"
		return broken{Transport: l, cancel: remotetest.NewLoopback(h, who, nil).Cancel}
	}},
	{"N04", "execute_sent_again", func(l *remotetest.Loopback, _ remote.Handler) remote.Transport {
		return broken{Transport: l, execute: func(ctx context.Context, q remote.ExecuteRequest) (remote.Receipt, error) {
			r, err := l.Execute(ctx, q)
			if errors.Is(err, remotetest.ErrLost) {
				return l.Execute(ctx, q)
			}
			return r, err
		}}
	}},
	{"N04", "execute_sent_again_when_busy", func(l *remotetest.Loopback, _ remote.Handler) remote.Transport {
		return broken{Transport: l, execute: func(ctx context.Context, q remote.ExecuteRequest) (remote.Receipt, error) {
			r, err := l.Execute(ctx, q)
			if refused, ok := errors.AsType[*remote.ProtocolError](err); ok && refused.Code == remote.StorageDegraded {
				return l.Execute(ctx, q)
			}
			return r, err
		}}
	}},
	{"N05", "end_of_context_as_another_error", func(l *remotetest.Loopback, _ remote.Handler) remote.Transport {
		return broken{Transport: l, execute: func(ctx context.Context, q remote.ExecuteRequest) (remote.Receipt, error) {
			r, err := l.Execute(ctx, q)
			if err != nil {
				err = errors.New("failed")
			}
			return r, err
		}}
	}},
	{"N06", "lost_answer_made_up", func(l *remotetest.Loopback, _ remote.Handler) remote.Transport {
		return broken{Transport: l, receipt: func(ctx context.Context, q remote.ReceiptRequest) (remote.Receipt, error) {
			r, err := l.GetReceipt(ctx, q)
			if errors.Is(err, remotetest.ErrLost) {
				return remote.Receipt{Protocol: remote.Protocol, RequestID: q.RequestID, State: remote.Unsettled}, nil
			}
			return r, err
		}}
	}},
	{"N06", "lost_answer_as_refusal", func(l *remotetest.Loopback, _ remote.Handler) remote.Transport {
		return broken{Transport: l, execute: func(ctx context.Context, q remote.ExecuteRequest) (remote.Receipt, error) {
			r, err := l.Execute(ctx, q)
			if errors.Is(err, remotetest.ErrLost) {
				err = &remote.ProtocolError{Code: remote.Internal, RequestID: q.RequestID}
			}
			return r, err
		}}
	}},
	{"N07", "answers_exchanged", func(l *remotetest.Loopback, _ remote.Handler) remote.Transport {
		var mu sync.Mutex
		var kept remote.Receipt
		return broken{Transport: l, receipt: func(ctx context.Context, q remote.ReceiptRequest) (remote.Receipt, error) {
			r, err := l.GetReceipt(ctx, q)
			mu.Lock()
			defer mu.Unlock()
			if kept.RequestID == "" {
				kept = r
				return r, err
			}
			kept, r = r, kept
			return r, err
		}}
	}},
	{"N08", "large_results_cut", func(l *remotetest.Loopback, _ remote.Handler) remote.Transport {
		return broken{Transport: l, receipt: func(ctx context.Context, q remote.ReceiptRequest) (remote.Receipt, error) {
			r, err := l.GetReceipt(ctx, q)
			if r.Content != nil && r.Content.Inline != nil && len(*r.Content.Inline) > 1<<16 {
				r.Content = remote.InlineContent((*r.Content.Inline)[:1<<16])
			}
			return r, err
		}}
	}},
	{"N08", "large_arguments_refused", func(l *remotetest.Loopback, _ remote.Handler) remote.Transport {
		return broken{Transport: l, execute: func(ctx context.Context, q remote.ExecuteRequest) (remote.Receipt, error) {
			if len(q.Arguments) > 1<<16 {
				return remote.Receipt{}, errors.New("too large")
			}
			return l.Execute(ctx, q)
		}}
	}},
	{"N09", "arguments_in_the_error", func(l *remotetest.Loopback, _ remote.Handler) remote.Transport {
		return broken{Transport: l, execute: func(ctx context.Context, q remote.ExecuteRequest) (remote.Receipt, error) {
			r, err := l.Execute(ctx, q)
			if err != nil {
				err = fmt.Errorf("sending %s: %w", q.Arguments, err)
			}
			return r, err
		}}
	}},
	{"N09", "credential_in_the_error", func(l *remotetest.Loopback, _ remote.Handler) remote.Transport {
		return broken{Transport: l, cancel: func(ctx context.Context, q remote.CancelRequest) (remote.CancelResponse, error) {
			r, err := l.Cancel(ctx, q)
			if err != nil {
				err = fmt.Errorf("with bearer secret-8a2c: %w", err)
			}
			return r, err
		}}
	}},
	{"N10", "answers_alone", func(l *remotetest.Loopback, _ remote.Handler) remote.Transport {
		return broken{Transport: l, cancel: func(ctx context.Context, q remote.CancelRequest) (remote.CancelResponse, error) {
			r, err := l.Cancel(ctx, q)
			if errors.Is(err, remotetest.ErrLost) {
				return remote.CancelResponse{Protocol: remote.Protocol, RequestID: q.RequestID}, nil
			}
			return r, err
		}}
	}},
	{"N11", "receipts_cached", func(l *remotetest.Loopback, _ remote.Handler) remote.Transport {
		var mu sync.Mutex
		kept := map[string]remote.Receipt{}
		return broken{Transport: l, receipt: func(ctx context.Context, q remote.ReceiptRequest) (remote.Receipt, error) {
			mu.Lock()
			defer mu.Unlock()
			if r, ok := kept[q.RequestID]; ok {
				return r, nil
			}
			r, err := l.GetReceipt(ctx, q)
			kept[q.RequestID] = r
			return r, err
		}}
	}},
}

// Every clause rejects a transport that breaks it.
func TestSuite_rejects_broken_transports(t *testing.T) {
	t.Parallel()
	for _, b := range breakages {
		t.Run(b.clause+"_"+b.name, func(t *testing.T) {
			t.Parallel()
			for _, c := range remotetest.Clauses() {
				if c.Number != b.clause {
					continue
				}
				err := c.Check(t.Context(), func(h remote.Handler) remotetest.Peer {
					l := remotetest.NewLoopback(h, caller, nil)
					return peer(l, b.make(l, h))
				})
				if err == nil {
					t.Error("the suite accepts it")
				}
				return
			}
			t.Error("no such clause")
		})
	}
	seen := map[string]bool{}
	for _, b := range breakages {
		seen[b.clause] = true
	}
	for _, c := range remotetest.Clauses() {
		if !seen[c.Number] {
			t.Errorf("no transport breaks %s", c.Number)
		}
	}
}
