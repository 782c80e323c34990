package boundary

import (
	"context"
	"errors"

	"github.com/toolharness/harness/canonical"
)

// Authorizer decides whether a call may run. A [Toolset] asks it in preflight,
// after the request was checked and before anything is sent to the store. It
// must be safe for concurrent use; an error or a panic refuses.
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
)

// authorize asks the host's authorizer and compares its grant with the call.
func (c *call) authorize(ctx context.Context) (err error) {
	defer func() {
		if recover() != nil {
			err = errAuthorizerPanicked
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, authorizeLimit)
	defer cancel()
	q := AuthorizationRequest{
		Identity: c.identity, Principal: c.run.who, Tool: c.env.Tool, Effect: c.effect,
		Arguments: c.request.Bytes().Clone(), SHA256: c.request.SHA256(),
	}
	want := q.Grant()
	grant, err := c.b.authorizer.Authorize(ctx, q)
	if err != nil {
		return err
	}
	if grant != want {
		return errGrant
	}
	return nil
}
