package runprogress_test

import (
	"context"
	"fmt"
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/fakes"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/runprogress"
)

// A host notes each call that has ended and puts the report into its next
// prompt. Here the calls are written straight into a store; a boundary does it
// otherwise.
func Example() {
	ctx := context.Background()
	store := fakes.NewStore(fakes.NewClock())
	run := canonical.RunKey{Scope: canonical.Scope{Tenant: "acme"}, Run: "r1"}
	open(ctx, store, run)

	var done runprogress.Tracker
	facts, _ := evidence.EncodeFacts([]evidence.Fact{
		evidence.NewFact(evidence.Subject{Kind: "table", ID: "Artist"}, "rows", "275"),
		evidence.NewFact(evidence.Subject{Kind: "column", ID: "Name"}, "type", "NVARCHAR(120)"),
	})
	where, _ := evidence.EncodeCoverage(evidence.Searched("AC/DC", "docs"))
	done.Completed(once(ctx, store, run, "call_a", "query", canonical.Ending{
		Verdict: lifecycle.Succeed(evidence.Found), Agent: canonical.Body("275 rows"), Facts: facts}))
	done.Completed(once(ctx, store, run, "call_b", "search", canonical.Ending{
		Verdict: lifecycle.Succeed(evidence.None), Agent: canonical.Body("nothing"), Coverage: where}))
	done.Completed(once(ctx, store, run, "call_c", "query", canonical.Ending{
		Verdict: lifecycle.Fail(lifecycle.ToolTimeout, lifecycle.Unknown)}))
	if _, err := store.CloseRun(ctx, canonical.Closing{Run: run, Token: "token"}); err != nil {
		fmt.Println(err)
	}

	report, err := runprogress.Project(ctx, store, run, done.Calls())
	if err != nil {
		fmt.Println("the store could not be asked:", err)
		return
	}
	fmt.Print(report.Text())
	// Output:
	// run r1, closed: 3 calls admitted, 3 looked at, 2 ready, 2 facts, 1 absence; complete
	// 1 query call_a: table Artist rows = 275
	// 1 query call_a: column Name type = "NVARCHAR(120)"
	// 2 search call_b: found nothing: "searched docs for AC/DC"
	// excluded: 1 error TOOL_TIMEOUT, ran unknown: 3 query call_c
}

// A process that watches a run of others keeps a cursor. It stands before the
// lowest call that is still open.
func ExampleContinue() {
	ctx := context.Background()
	store := fakes.NewStore(fakes.NewClock())
	run := canonical.RunKey{Scope: canonical.Scope{Tenant: "acme"}, Run: "r1"}
	open(ctx, store, run)
	admit(ctx, store, run, "slow", "query")
	once(ctx, store, run, "fast", "query", canonical.Ending{Verdict: lifecycle.Succeed(evidence.Found), Agent: canonical.Body("ok")})

	var cursor runprogress.Cursor
	for range 2 {
		report, next, err := runprogress.Continue(ctx, store, run, cursor)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%d ready, go on behind call %d\n", report.Totals.Ready, next.After)
		cursor = next
		end(ctx, store, run, "slow", canonical.Ending{Verdict: lifecycle.Succeed(evidence.Found), Agent: canonical.Body("ok")})
	}
	// Output:
	// 1 ready, go on behind call 0
	// 2 ready, go on behind call 2
}

func open(ctx context.Context, store canonical.Store, run canonical.RunKey) {
	_, err := store.OpenRun(ctx, canonical.Opening{Run: run, Token: "token", Duration: time.Minute,
		Limits: canonical.DefaultLimits(), Budget: canonical.Budget{Calls: 16, PerTool: 8, Bytes: canonical.Unlimited}})
	if err != nil {
		fmt.Println(err)
	}
}

func admit(ctx context.Context, store canonical.Store, run canonical.RunKey, id canonical.ToolCallID, tool string) int64 {
	admitted, err := store.Admit(ctx, canonical.Admission{Run: run, Call: canonical.CallName{ID: id}, Claim: "claim", EvidenceID: "e-" + canonical.EvidenceID(id[:1]),
		Tool: tool, Effect: canonical.EffectRead, Request: canonical.Body("{}"), ToolBudget: canonical.Unlimited,
		NotAfter: fakes.Epoch().Add(time.Minute), Timeout: time.Second, Closing: time.Second, TTL: time.Hour})
	if err != nil {
		fmt.Println(err)
	}
	return admitted.Seq
}

func end(ctx context.Context, store canonical.Store, run canonical.RunKey, id canonical.ToolCallID, e canonical.Ending) {
	e.Run, e.Call, e.Claim = run, canonical.CallName{ID: id}, "claim"
	if _, err := store.Complete(ctx, e); err != nil {
		fmt.Println(err)
	}
}

func once(ctx context.Context, store canonical.Store, run canonical.RunKey, id canonical.ToolCallID, tool string, e canonical.Ending) (canonical.CallName, int64) {
	seq := admit(ctx, store, run, id, tool)
	end(ctx, store, run, id, e)
	return canonical.CallName{ID: id}, seq
}
