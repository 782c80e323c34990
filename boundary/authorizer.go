package boundary

import (
	"context"
	"errors"
	"time"

	"github.com/toolharness/harness/canonical"
)

// Authorizer decides whether a call may run. A [Toolset] asks it in preflight,
// after the request was checked and before anything is sent to the store. It
// must be safe for concurrent use. An error or a panic refuses, and so does no
// answer within 30 s or, shortly, after the caller has gone.
type Authorizer interface {
	Authorize(context.Context, AuthorizationRequest) (Grant, error)
}

// AuthorizationRequest is the question. Arguments are the exact bytes, a copy.
type AuthorizationRequest struct {
	Identity  canonical.Identity
	Principal canonical.Principal
	Tool      string
	Effect    canonical.Effect
	Arguments canonical.Body
	SHA256    string // of Arguments, lower-case hex
}

// Grant is permission for exactly one request of one call. The zero value grants
// nothing.
type Grant struct {
	Identity canonical.Identity
	Tool     string
	SHA256   string // of the request that was approved
}

// Grant is the permission that fits this request and no other.
func (q AuthorizationRequest) Grant() Grant {
	return Grant{Identity: q.Identity, Tool: q.Tool, SHA256: q.SHA256}
}

// AllowAll authorizes every call. It exists so that doing so has to be written.
type AllowAll struct{}

// Authorize grants the request.
func (AllowAll) Authorize(_ context.Context, q AuthorizationRequest) (Grant, error) {
	return q.Grant(), nil
}

// AuthorizerFunc lets a function be an [Authorizer].
type AuthorizerFunc func(context.Context, AuthorizationRequest) (Grant, error)

// Authorize calls f.
func (f AuthorizerFunc) Authorize(ctx context.Context, q AuthorizationRequest) (Grant, error) {
	return f(ctx, q)
}

var (
	errGrant              = errors.New("the grant is for another request")
	errAuthorizerPanicked = errors.New("the authorizer panicked")
	errAuthorizerSilent   = errors.New("the authorizer did not answer in time")
)

// authorize asks the host's authorizer and compares its grant with the call.
func (c *call) authorize(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, authorizeLimit)
	defer cancel()
	q := AuthorizationRequest{
		Identity: c.identity, Principal: c.run.who, Tool: c.env.Tool, Effect: c.effect,
		Arguments: c.request.Bytes().Clone(), SHA256: c.request.SHA256(),
	}
	done := make(chan authorization, 1) // room for one, so that a late authorizer can leave
	go ask(ctx, c.b.authorizer, q, done)
	select {
	case a := <-done:
		return a.judge(q)
	case <-ctx.Done():
	}
	timer := time.NewTimer(returnGrace) // one that obeys its context may say so, or be just done
	defer timer.Stop()
	select {
	case a := <-done:
		return a.judge(q)
	case <-timer.C:
		return errors.Join(errAuthorizerSilent, ctx.Err())
	}
}

// authorization is what came out of the authorizer's goroutine.
type authorization struct {
	grant Grant
	err   error
}

// ask always sends one answer, also when the authorizer panics or ends its
// goroutine with runtime.Goexit, as testing.T.FailNow does.
func ask(ctx context.Context, authorizer Authorizer, q AuthorizationRequest, done chan<- authorization) {
	a := authorization{err: errAuthorizerPanicked}
	defer func() {
		_ = recover()
		done <- a
	}()
	grant, err := authorizer.Authorize(ctx, q)
	a = authorization{grant, foreign(err)}
}

func (a authorization) judge(q AuthorizationRequest) error {
	if a.err != nil {
		return a.err
	}
	if a.grant != q.Grant() {
		return errGrant
	}
	return nil
}
