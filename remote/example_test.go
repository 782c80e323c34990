package remote_test

import (
	"context"
	"fmt"
	"io"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/redisstore/embedded"
	"github.com/toolharness/harness/remote"
	"github.com/toolharness/harness/remote/remotetest"
)

// A write whose reply is lost: unknown, held up, settled by its receipt, done once.
func Example() {
	ctx := context.Background()
	here, err := embedded.Start()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer here.Close()
	there, err := embedded.Start()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer there.Close()

	done := 0
	pay := boundary.Tool{Name: "pay", Effect: boundary.EffectWrite, Executor: boundary.ExecutorFunc(
		func(_ context.Context, _ boundary.Input, w io.Writer) error {
			done++
			_, err := io.WriteString(w, `{"paid":true}`)
			return err
		})}
	server, err := remote.NewServer(remote.ServerConfig{
		PackageID: "billing", Tools: []boundary.Tool{pay},
		Boundary:  boundary.Config{Store: there.Store(), Authorizer: boundary.AllowAll{}, Effects: boundary.EffectPolicy{Write: true}},
		Authorize: func(context.Context, remote.Caller, remote.Operation) error { return nil },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	wire := remotetest.NewLoopback(server, remote.Caller{Scope: canonical.Scope{Tenant: "acme"}}, nil)

	b, err := boundary.New(boundary.Config{Store: here.Store(), Authorizer: boundary.AllowAll{}, Effects: boundary.EffectPolicy{Write: true}, Codes: remote.OutcomeCodes()})
	if err != nil {
		fmt.Println(err)
		return
	}
	mine := canonical.Scope{Tenant: "acme", Owner: "agent"}
	session, err := remote.NewSession(ctx, remote.SessionConfig{
		Transport: wire, Boundary: b, Store: here.Store(), Scope: mine, Package: server.Package(), Projector: echoed{},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	tools, err := session.Tools(b)
	if err != nil {
		fmt.Println(err)
		return
	}
	set, err := boundary.NewToolset(b, tools...)
	if err != nil {
		fmt.Println(err)
		return
	}
	run, err := b.OpenRun(ctx, boundary.RunSpec{Scope: mine})
	if err != nil {
		fmt.Println(err)
		return
	}

	wire.DropReplies(remote.MethodExecute, 1)
	call := func(id canonical.ToolCallID) boundary.Outcome {
		return session.Dispatch(ctx, set, run, boundary.Call{ID: id, Name: "pay", Arguments: []byte(`{}`)})[0].Outcome
	}
	fmt.Println(call("c1"))
	fmt.Println(call("c2"))
	open, err := run.Unresolved(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	settled, err := session.Reconcile(ctx, run.ID(), open[0].Call)
	fmt.Println(settled.Text, settled.Lifted, err)
	fmt.Println(call("c3"))
	fmt.Println(done, "executions of two payments")
	if err := server.Close(ctx); err != nil {
		fmt.Println(err)
	}
	// Output:
	// ERROR OUTCOME_UNKNOWN, ran: unknown
	// ERROR UNRESOLVED_EFFECT, ran: no
	// "{\"paid\":true}" true <nil>
	// READY EVIDENCE_FOUND, 17 bytes
	// 2 executions of two payments
}
