package remotetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/toolharness/harness/remote"
)

// each calls every method once and gives what each said.
func each(ctx context.Context, t remote.Transport) map[remote.Method]error {
	errs := map[remote.Method]error{}
	_, errs[remote.MethodNegotiate] = t.Negotiate(ctx, oddNegotiate())
	_, errs[remote.MethodExecute] = t.Execute(ctx, oddExecute(oddArguments))
	_, errs[remote.MethodGetReceipt] = t.GetReceipt(ctx, oddAsk("r"))
	_, errs[remote.MethodCancel] = t.Cancel(ctx, oddCancel())
	_, errs[remote.MethodReadEvidence] = t.ReadEvidence(ctx, oddRead())
	return errs
}

func same(what string, got, want any) error {
	if !reflect.DeepEqual(got, want) {
		return fmt.Errorf("%s was changed: got %#v, want %#v", what, got, want)
	}
	return nil
}

func unchanged(ctx context.Context, p Peer, r *Recorder) error {
	var problems []error
	check := func(m remote.Method, sent, got, want any, err error) {
		arrived, _ := r.last(m)
		problems = append(problems, err, same(string(m)+" request", arrived, sent), same(string(m)+" answer", got, want))
	}
	n, err := p.Transport.Negotiate(ctx, oddNegotiate())
	check(remote.MethodNegotiate, oddNegotiate(), n, oddNegotiated(), err)
	e, err := p.Transport.Execute(ctx, oddExecute(oddArguments))
	check(remote.MethodExecute, oddExecute(oddArguments), e, oddReceipt("r:1.2_3-4"), err)
	c, err := p.Transport.Cancel(ctx, oddCancel())
	check(remote.MethodCancel, oddCancel(), c, r.Cancelled, err)
	v, err := p.Transport.ReadEvidence(ctx, oddRead())
	check(remote.MethodReadEvidence, oddRead(), v, r.Evidence, err)
	for _, data := range [][]byte{{}, []byte("null"), []byte("\x00\xff\xfe\r\n{}"), []byte(oddArguments)} {
		want := inlineReceipt("r", data)
		r.Receipt = func(string) remote.Receipt { return want }
		g, err := p.Transport.GetReceipt(ctx, oddAsk("r"))
		check(remote.MethodGetReceipt, oddAsk("r"), g, want, err)
	}
	return errors.Join(problems...)
}

func refusals(ctx context.Context, p Peer, r *Recorder) error {
	for _, code := range remote.Codes() {
		for _, admitted := range []string{remote.AdmittedNo, remote.AdmittedUnknown} {
			want := remote.ProtocolError{Code: code, Message: code.Text(), Admitted: admitted, Session: "s", Epoch: "e", RequestID: "r"}
			made := want
			r.Err = &made
			for m, err := range each(ctx, p.Transport) {
				got, ok := errors.AsType[*remote.ProtocolError](err)
				if !ok {
					return fmt.Errorf("%s: refusal %s came as %v", m, code, err)
				}
				if *got != want {
					return fmt.Errorf("%s: refusal %+v came as %+v", m, want, *got)
				}
			}
		}
	}
	return nil
}

func callers(ctx context.Context, p Peer, r *Recorder) error {
	for m, err := range each(ctx, p.Transport) {
		if err != nil {
			return fmt.Errorf("%s: %w", m, err)
		}
	}
	r.mu.Lock()
	for _, who := range r.callers {
		if who != p.Caller {
			r.mu.Unlock()
			return errors.New("the other end was shown another caller")
		}
	}
	r.mu.Unlock()
	before := r.total()
	p.Revoke()
	for m, err := range each(ctx, p.Transport) {
		if !errors.Is(err, &remote.ProtocolError{Code: remote.Unauthorized}) {
			got, ok := errors.AsType[*remote.ProtocolError](err)
			if !ok || got.Code != remote.Unauthorized {
				return fmt.Errorf("%s: a revoked caller got %v, want a refusal as unauthorized", m, err)
			}
		}
	}
	if r.total() != before {
		return fmt.Errorf("the other end was entered %d times for a revoked caller", r.total()-before)
	}
	return nil
}

func atMostOnce(ctx context.Context, p Peer, r *Recorder) error {
	const rounds = 5
	for i := range rounds {
		p.DropReply()
		if _, err := p.Transport.Execute(ctx, oddExecute(oddArguments)); err == nil {
			return errors.New("an execute without an answer was answered")
		}
		if n := r.count(remote.MethodExecute); n > i+1 {
			return fmt.Errorf("%d deliveries of %d executes whose answers were lost", n, i+1)
		}
	}
	for _, code := range []remote.ErrorCode{remote.Internal, remote.StorageDegraded, remote.RequestLimitExceeded} {
		before := r.count(remote.MethodExecute)
		r.Err = &remote.ProtocolError{Code: code, Message: code.Text(), Admitted: remote.AdmittedUnknown, RequestID: "r"}
		_, _ = p.Transport.Execute(ctx, oddExecute(oddArguments))
		if n := r.count(remote.MethodExecute) - before; n != 1 {
			return fmt.Errorf("%d deliveries of an execute that was refused as %s", n, code)
		}
	}
	return nil
}

func contextEnds(ctx context.Context, p Peer, r *Recorder) error {
	release := r.holdAll()
	defer release()
	cause := errors.New("enough")
	short, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := make(chan error, 1)
	go func() {
		_, err := p.Transport.Execute(short, oddExecute(oddArguments))
		done <- err
	}()
	for r.count(remote.MethodExecute) == 0 {
		if ctx.Err() != nil {
			return errors.New("the request did not arrive")
		}
		time.Sleep(time.Millisecond)
	}
	cancel(cause)
	select {
	case err := <-done:
		if !errors.Is(err, cause) && !errors.Is(err, context.Canceled) {
			return fmt.Errorf("the end of the context came as %v", err)
		}
	case <-time.After(promptly):
		return fmt.Errorf("still waiting %v after the context ended", promptly)
	}
	release()
	for r.done() == 0 {
		if ctx.Err() != nil {
			return errors.New("the other end's work ended with the caller's context")
		}
		time.Sleep(time.Millisecond)
	}
	return nil
}

// promptly is generous, since machines are busy.
const promptly = 10 * time.Second

func lostAnswers(ctx context.Context, p Peer, r *Recorder) error {
	calls := map[remote.Method]func() error{
		remote.MethodNegotiate:    func() error { _, err := p.Transport.Negotiate(ctx, oddNegotiate()); return err },
		remote.MethodExecute:      func() error { _, err := p.Transport.Execute(ctx, oddExecute(oddArguments)); return err },
		remote.MethodGetReceipt:   func() error { _, err := p.Transport.GetReceipt(ctx, oddAsk("r")); return err },
		remote.MethodCancel:       func() error { _, err := p.Transport.Cancel(ctx, oddCancel()); return err },
		remote.MethodReadEvidence: func() error { _, err := p.Transport.ReadEvidence(ctx, oddRead()); return err },
	}
	for m, call := range calls {
		p.DropReply()
		err := call()
		if err == nil {
			return fmt.Errorf("%s: an answer that was lost was answered", m)
		}
		if _, refused := errors.AsType[*remote.ProtocolError](err); refused {
			return fmt.Errorf("%s: a lost answer became a refusal: %w", m, err)
		}
	}
	r.Receipt = func(string) remote.Receipt { return remote.Receipt{} } // no message of the protocol
	if _, err := p.Transport.Execute(ctx, oddExecute(oddArguments)); err == nil {
		return errors.New("a receipt without a protocol was taken")
	}
	return nil
}

func concurrent(ctx context.Context, p Peer, _ *Recorder) error {
	var wg sync.WaitGroup
	errs := make(chan error, 64)
	for i := range 32 {
		wg.Go(func() {
			id := fmt.Sprintf("r%d", i)
			for range 3 {
				got, err := p.Transport.GetReceipt(ctx, oddAsk(id))
				if err != nil {
					errs <- err
					return
				}
				if got.RequestID != id {
					errs <- fmt.Errorf("the answer for %s came to %s", got.RequestID, id)
					return
				}
			}
		})
	}
	wg.Wait()
	close(errs)
	return <-errs
}

func sizes(ctx context.Context, p Peer, r *Recorder) error {
	large := `{"a":"` + strings.Repeat("\u2028", (remote.MaxArguments-8)/3) + `"}`
	if _, err := p.Transport.Execute(ctx, oddExecute(large)); err != nil {
		return fmt.Errorf("arguments of %d bytes: %w", len(large), err)
	}
	got, _ := r.last(remote.MethodExecute)
	if q, ok := got.(remote.ExecuteRequest); !ok || q.Arguments != large {
		return errors.New("large arguments were changed")
	}
	data := bytes.Repeat([]byte{0, 255}, remote.MaxInlineBytes/2)
	r.Receipt = func(id string) remote.Receipt { return inlineReceipt(id, data) }
	receipt, err := p.Transport.GetReceipt(ctx, oddAsk("r"))
	if err != nil || !reflect.DeepEqual(receipt, inlineReceipt("r", data)) {
		return fmt.Errorf("an inline result of %d bytes: changed, or %w", len(data), err)
	}
	r.Evidence = oddEvidence(bytes.Repeat([]byte{7}, remote.MaxChunkBytes))
	if part, err := p.Transport.ReadEvidence(ctx, oddRead()); err != nil || !reflect.DeepEqual(part, r.Evidence) {
		return fmt.Errorf("a chunk of %d bytes: changed, or %w", remote.MaxChunkBytes, err)
	}
	before := r.count(remote.MethodExecute)
	if _, err := p.Transport.Execute(ctx, oddExecute(`{"a":"`+strings.Repeat("x", remote.MaxArguments)+`"}`)); err == nil {
		return errors.New("arguments over the limit passed")
	}
	if r.count(remote.MethodExecute) != before {
		return errors.New("arguments over the limit reached the other end")
	}
	r.Evidence = oddEvidence(bytes.Repeat([]byte{7}, remote.MaxChunkBytes+1))
	if _, err := p.Transport.ReadEvidence(ctx, oddRead()); err == nil {
		return errors.New("a chunk over the limit passed")
	}
	return nil
}

func quietErrors(ctx context.Context, p Peer, r *Recorder) error {
	var all []error
	take := func(more map[remote.Method]error) {
		for m, err := range more {
			if err == nil {
				all = append(all, fmt.Errorf("%s succeeded where it cannot", m))
			}
			all = append(all, err)
		}
	}
	r.Err = errors.New("marker-5d1f of the other end's own")
	take(each(ctx, p.Transport))
	r.Err = nil
	p.DropReply()
	_, err := p.Transport.Execute(ctx, oddExecute(oddArguments))
	all = append(all, err)
	p.Revoke()
	take(each(ctx, p.Transport))
	p.Gone()
	take(each(ctx, p.Transport))
	for _, err := range all {
		text := fmt.Sprintf("%v %+v", err, err)
		switch {
		case strings.Contains(text, "succeeded where"):
			return err
		case p.Secret != "" && strings.Contains(text, p.Secret):
			return errors.New("an error has the credential")
		case strings.Contains(text, "9007199254740993") || strings.Contains(text, "marker-5d1f"):
			return errors.New("an error has a body or the other end's text")
		}
	}
	return nil
}

func noPeer(ctx context.Context, p Peer, r *Recorder) error {
	p.Gone()
	for m, err := range each(ctx, p.Transport) {
		if err == nil {
			return fmt.Errorf("%s: answered without a peer", m)
		}
	}
	if n := r.total(); n != 0 {
		return fmt.Errorf("the other end was entered %d times though there is none", n)
	}
	return nil
}

func notCached(ctx context.Context, p Peer, r *Recorder) error {
	for i := 1; i <= 3; i++ {
		for m, err := range each(ctx, p.Transport) {
			if err != nil {
				return fmt.Errorf("%s: %w", m, err)
			}
			if n := r.count(m); n != i {
				return fmt.Errorf("%s: entered %d times by %d calls", m, n, i)
			}
		}
	}
	return nil
}
