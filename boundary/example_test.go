package boundary_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"strings"
	"time"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/fakes"
	"github.com/toolharness/harness/projector"
)

// words counts the words of a text that its tool returned.
func words(_ context.Context, in projector.Input) (projector.Projection, error) {
	n := len(strings.Fields(string(in.Raw)))
	if n == 0 {
		return projector.Projection{}, errors.New("nothing that could be counted")
	}
	return projector.Projection{
		Result: fmt.Appendf(nil, `{"words":%d}`, n), Status: evidence.Found,
		Facts: []evidence.Fact{evidence.NewFact(evidence.Subject{Kind: "page", ID: in.Tool}, "words", fmt.Sprint(n))},
	}, nil
}

type pageQuery struct {
	Page string `json:"page"`
}

func readPage(_ context.Context, q pageQuery, raw io.Writer) error {
	pages := map[string]string{"home": "welcome to the shop", "terms": "no refunds"}
	text, ok := pages[q.Page]
	if !ok {
		return errors.New("no such page: " + q.Page) // the host sees this, the model does not
	}
	_, err := io.WriteString(raw, text)
	return err
}

// newBoundary is a boundary on a store in memory, with a clock that stands still.
func newBoundary(config boundary.Config) *boundary.ToolBoundary {
	clock := fakes.NewClock()
	if config.Store == nil {
		config.Store = fakes.NewStore(clock)
	}
	config.Now = clock.Now
	config.Authorizer = boundary.AllowAll{}
	b, err := boundary.New(config)
	if err != nil {
		log.Fatal(err)
	}
	return b
}

func openExample(b *boundary.ToolBoundary) *boundary.Run {
	run, err := b.OpenRun(context.Background(), boundary.RunSpec{
		ID: "run-1", Scope: boundary.Scope{Tenant: "acme"}, Budget: boundary.Budget{Calls: 5},
	})
	if err != nil {
		log.Fatal(err)
	}
	return run
}

// A whole agent loop. The model is a script here; a real one gets the
// definitions and the messages, and answers with calls or with text.
func Example() {
	ctx := context.Background()
	b := newBoundary(boundary.Config{})
	run := openExample(b)
	tools, err := boundary.NewToolset(b, boundary.Tool{
		Name: "page", Description: "Counts the words of a page.", Effect: boundary.EffectRead,
		Executor: boundary.Args(readPage), Projector: projector.Func(words),
		Schema: []byte(`{"type":"object","properties":{"page":{"type":"string"}},"required":["page"]}`),
	})
	if err != nil {
		log.Fatal(err)
	}
	call := func(id boundary.ToolCallID, arguments string) boundary.Call {
		return boundary.Call{ID: id, Name: "page", Arguments: []byte(arguments)}
	}
	for _, message := range [][]boundary.Call{
		{call("call_1", `{"page":"home"}`), call("call_2", `{"page":"terms"}`)},
		{call("call_3", `{"page":"imprint"}`), call("call_4", `{"site":"home"}`)},
		{call("call_1", `{"page":"home"}`)},
	} {
		for i, result := range tools.Dispatch(ctx, run, message...) {
			fmt.Println(message[i].ID, result.Outcome.Text())
		}
	}
	if err := run.Close(ctx); err != nil {
		log.Fatal(err)
	}
	report, err := run.Facts(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(report.Text())
	// Output:
	// call_1 {"words":4}
	// call_2 {"words":2}
	// call_3 {"error":{"code":"TOOL_EXECUTION_FAILED","message":"The tool failed.","ran":"yes"}}
	// call_4 {"error":{"code":"INVALID_INPUT","message":"The arguments are not one valid JSON object as this tool expects it. The call was not run.","ran":"no"}}
	// call_1 {"error":{"code":"DUPLICATE_TOOL_CALL","message":"This tool call id was used before. The call was not run again.","ran":"no"}}
	// run run-1, closed: 3 calls admitted, 3 looked at, 2 ready, 2 facts, 0 absences; complete
	// 1 page call_1: page page words = 4
	// 2 page call_2: page page words = 2
	// excluded: 1 error TOOL_EXECUTION_FAILED, ran yes: 3 page call_3
}

// The primitive that adapters of frameworks use. A zero Envelope refuses.
func ExampleToolBoundary_Invoke() {
	b := newBoundary(boundary.Config{})
	run := openExample(b)
	envelope := boundary.Envelope{
		RunID: run.ID(), ToolCallID: "toolu_01A", Tool: "page", Input: []byte(`{"page":"home"}`),
		Authorized: true, ReadOnly: true,
	}
	action := boundary.Action{Executor: boundary.Args(readPage), Projector: projector.Func(words)}
	result := b.Invoke(context.Background(), run, envelope, action)
	fmt.Println(result.Outcome.Text())
	ref, _ := result.Outcome.Reference()
	fmt.Println(ref.ToolCallID, ref.Bytes, "bytes of raw,", result.Outcome.Evidence())

	envelope.ToolCallID, envelope.Authorized = "toolu_01B", false
	result = b.Invoke(context.Background(), run, envelope, action)
	fmt.Println(result.Outcome.Code(), "ran:", result.Outcome.Execution().Ran())
	fmt.Println(result.Err)
	// Output:
	// {"words":4}
	// toolu_01A 19 bytes of raw, EVIDENCE_FOUND
	// UNAUTHORIZED ran: no
	// boundary: authorize run "run-1" call ":toolu_01B": UNAUTHORIZED, ran: no
}

// A framework that lost an answer asks for it again; nothing runs.
func ExampleRun_Lookup() {
	ctx := context.Background()
	b := newBoundary(boundary.Config{})
	run := openExample(b)
	b.Invoke(ctx, run, boundary.Envelope{
		RunID: run.ID(), ToolCallID: "call_1", Tool: "page", Input: []byte(`{"page":"terms"}`), Authorized: true, ReadOnly: true,
	}, boundary.Action{Executor: boundary.Args(readPage), Projector: projector.Func(words)})

	outcome, err := run.Lookup(ctx, canonical.CallName{ID: "call_1"})
	fmt.Println(outcome.Text(), err)
	_, err = run.Lookup(ctx, canonical.CallName{ID: "call_2"})
	fmt.Println(errors.Is(err, canonical.ErrMissing))
	// Output:
	// {"words":2} <nil>
	// true
}

// A write whose outcome nobody knows stops its run until the host has found out.
func ExampleRun_Resolve() {
	ctx := context.Background()
	b := newBoundary(boundary.Config{Effects: boundary.EffectPolicy{Write: true}})
	run := openExample(b)
	tools, err := boundary.NewToolset(b, boundary.Tool{
		Name: "order", Effect: boundary.EffectWrite, Projector: projector.Func(words),
		Executor: boundary.ExecutorFunc(func(context.Context, boundary.Input, io.Writer) error {
			return errors.New("connection reset") // before or after the order was placed?
		}),
	})
	if err != nil {
		log.Fatal(err)
	}
	order := func(id boundary.ToolCallID) boundary.Outcome {
		return tools.Dispatch(ctx, run, boundary.Call{ID: id, Name: "order", Arguments: []byte(`{}`)})[0].Outcome
	}
	fmt.Println(order("call_1"))
	fmt.Println(order("call_2"))
	unresolved, err := run.Unresolved(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, id := range unresolved {
		fmt.Println("unresolved:", id.Call.ID)
		if err := run.Resolve(ctx, id.Call, canonical.NotApplied, "no order in the shop's list at 12:04"); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(order("call_3").Code() != "UNRESOLVED_EFFECT")
	// Output:
	// ERROR OUTCOME_UNKNOWN, ran: unknown
	// ERROR UNRESOLVED_EFFECT, ran: no
	// unresolved: call_1
	// true
}

// A tool's result outlives an outage of the store: the host is handed what could
// not be stored, and settles it later without running anything.
func ExampleToolBoundary_Settle() {
	ctx := context.Background()
	store := fakes.NewFaulty(fakes.NewStore(fakes.NewClock()), "outage")
	var kept boundary.Retained
	b := newBoundary(boundary.Config{Store: store, OnRetained: func(_ context.Context, r boundary.Retained) { kept = r }})
	run := openExample(b)

	store.Script(fakes.MethodComplete, fakes.Every, fakes.FailBefore)
	result := b.Invoke(ctx, run, boundary.Envelope{
		RunID: run.ID(), ToolCallID: "call_1", Tool: "page", Input: []byte(`{"page":"home"}`), Authorized: true, ReadOnly: true,
	}, boundary.Action{Executor: boundary.Args(readPage), Projector: projector.Func(words)})
	fmt.Println(result.Outcome)
	fmt.Println(kept.Reason, string(kept.Raw.Bytes))

	store.Heal(fakes.MethodComplete)
	fmt.Println(b.Settle(ctx, kept))
	outcome, err := run.Lookup(ctx, kept.Identity.Call)
	fmt.Println(outcome.Text(), err)
	// Output:
	// ERROR RESULT_NOT_STORED, ran: yes
	// not_stored welcome to the shop
	// <nil>
	// {"words":4} <nil>
}

// Another process joins a run; budget, deadline and duplicates are shared.
func ExampleToolBoundary_JoinRun() {
	ctx := context.Background()
	store := fakes.NewStore(fakes.NewClock())
	first, second := newBoundary(boundary.Config{Store: store}), newBoundary(boundary.Config{Store: store})
	secret := openExample(first).Ticket().Reveal() // over a channel that the host trusts

	ticket, err := boundary.ParseRunTicket(secret)
	if err != nil {
		log.Fatal(err)
	}
	run, err := second.JoinRun(ctx, ticket)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(run.ID())
	fmt.Println(ticket)
	// Output:
	// run-1
	// {{{acme  } run-1} token(hidden)}
}

// Shutdown waits for running calls, stores what was retained, and says what it
// could not do.
func ExampleToolBoundary_Shutdown() {
	b := newBoundary(boundary.Config{})
	run := openExample(b)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	fmt.Println(b.Shutdown(ctx))
	result := b.Invoke(ctx, run, boundary.Envelope{
		RunID: run.ID(), ToolCallID: "call_1", Tool: "page", Input: []byte(`{"page":"home"}`), Authorized: true, ReadOnly: true,
	}, boundary.Action{Executor: boundary.Args(readPage), Projector: projector.Func(words)})
	fmt.Println(result.Outcome)
	// Output:
	// <nil>
	// ERROR RUN_INACTIVE, ran: no
}

// What a tool may say of its failure: a code that the host has registered, and
// that nothing was changed.
func ExampleNotApplied() {
	b := newBoundary(boundary.Config{
		Effects: boundary.EffectPolicy{Write: true},
		Codes:   map[boundary.Code]string{"OUT_OF_STOCK": "The shop has none left. Nothing was ordered."},
	})
	run := openExample(b)
	result := b.Invoke(context.Background(), run, boundary.Envelope{
		RunID: run.ID(), ToolCallID: "call_1", Tool: "order", Input: []byte(`{"item":"lamp"}`), Authorized: true,
	}, boundary.Action{
		Effect: boundary.EffectWrite, Projector: projector.Func(words),
		Executor: boundary.ExecutorFunc(func(context.Context, boundary.Input, io.Writer) error {
			return boundary.NotApplied("OUT_OF_STOCK", errors.New("warehouse 7: 0 lamps"))
		}),
	})
	fmt.Println(result.Outcome.Text())
	// Output:
	// {"error":{"code":"OUT_OF_STOCK","message":"The shop has none left. Nothing was ordered.","ran":"yes"}}
}
