package retrieval_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/fakes"
	"github.com/toolharness/harness/projector"
	"github.com/toolharness/harness/retrieval"
)

// A host reads what a call returned, asks whether its own copy may go, and keeps
// the run as a file.
func Example() {
	ctx := context.Background()
	store, ref := oneCall(ctx)
	reader, err := retrieval.New(retrieval.Config{Scope: canonical.Scope{Tenant: "acme"}, Store: store})
	if err != nil {
		log.Fatal(err)
	}
	view := ""
	for at := int64(0); at != retrieval.LastChunk; {
		c, err := reader.Read(ctx, ref, retrieval.Part{Offset: at, Max: 24, View: view})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%q\n", c.Text)
		at, view = c.Next, c.ViewSHA256
	}
	protected, err := reader.Protected(ctx, retrieval.Pair{Run: "run-1", Call: canonical.CallName{ID: "call_1"}, Tool: "accounts"})
	fmt.Println("keep the copy:", protected, err)

	var file bytes.Buffer
	if _, err := reader.Export(ctx, &file, "run-1"); err != nil {
		log.Fatal(err)
	}
	altered := bytes.Replace(file.Bytes(), []byte("Grüße"), []byte("Gruße"), 1)
	_, err = retrieval.Verify(bytes.NewReader(altered))
	fmt.Println(err)
	// Output:
	// "{\"greeting\":\"Grüße\",\"p"
	// "assword\":\"[REDACTED]\"}"
	// keep the copy: false <nil>
	// retrieval: verify: line 2 (call :call_1): the raw result does not match its digest
}

// oneCall is a store in memory with one call, and the reference of its result.
func oneCall(ctx context.Context) (canonical.Store, evidence.Reference) {
	clock := fakes.NewClock()
	store := fakes.NewStore(clock)
	b, err := boundary.New(boundary.Config{Store: store, Authorizer: boundary.AllowAll{}, Now: clock.Now})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = b.Shutdown(ctx) }()
	run, err := b.OpenRun(ctx, boundary.RunSpec{ID: "run-1", Scope: canonical.Scope{Tenant: "acme"}})
	if err != nil {
		log.Fatal(err)
	}
	got := b.Invoke(ctx, run, boundary.Envelope{
		RunID: "run-1", ToolCallID: "call_1", Tool: "accounts", Input: []byte(`{}`), Authorized: true, ReadOnly: true,
	}, boundary.Action{
		Executor: boundary.ExecutorFunc(func(_ context.Context, _ boundary.Input, raw io.Writer) error {
			_, err := io.WriteString(raw, `{"greeting":"Grüße","password":"hunter2"}`)
			return err
		}),
		Projector: projector.Func(func(context.Context, projector.Input) (projector.Projection, error) {
			return projector.Projection{Result: []byte("one account"), Status: evidence.Found}, nil
		}),
	})
	ref, ok := got.Outcome.Reference()
	if !ok {
		log.Fatal(got.Err)
	}
	return store, ref
}
