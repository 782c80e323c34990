package demo

import (
	"slices"
	"testing"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/cmd/harness/internal/demo/data"
	"github.com/toolharness/harness/cmd/harness/internal/recording"
	"github.com/toolharness/harness/cmd/harness/internal/sqlagent"
	"github.com/toolharness/harness/cmd/harness/internal/sqlread"
	"github.com/toolharness/harness/lifecycle"
)

func agentTools(t *testing.T) []boundary.Tool {
	t.Helper()
	db, err := sqlread.OpenImage(data.Chinook(), sqlread.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	agent := sqlagent.New(databaseName, db)
	return append(agent.ForBoundary(), addArtist(agent))
}

func TestScriptTakesTheConversationsOfTheAgent(t *testing.T) {
	t.Parallel()
	s, err := readScript(agentTools(t))
	if err != nil {
		t.Fatal(err)
	}
	var lines, counts []int
	for _, c := range s.conversations {
		lines, counts = append(lines, c.Line), append(counts, len(c.Calls))
	}
	if !slices.Equal(lines, []int{1, 2, 3}) || !slices.Equal(counts, []int{4, 2, 5}) || s.calls != 11 || s.admitted() != 24 || s.ready() != 22 || len(s.recorded()) != 11 {
		t.Errorf("got lines %v with %v calls, %d in all", lines, counts, s.calls)
	}
	for tool, want := range map[string]int{
		sqlagent.NameListTables: 3, sqlagent.NameSchema: 3, sqlagent.NameQueryChecker: 1, sqlagent.NameQuery: 2, sqlagent.NameProperNouns: 2,
	} {
		if got := s.perTool[tool]; got != want {
			t.Errorf("%s: got %d calls, want %d", tool, got, want)
		}
	}
	if got := s.lastOf(sqlagent.NameQuery).ID; got != "call_WkHRiPcBoGN9bc58MIupRHKP" {
		t.Errorf("the last query: got %s", got)
	}
	// With a tool missing, conversations that call it are left out whole.
	without := slices.DeleteFunc(agentTools(t), func(tool boundary.Tool) bool { return tool.Name == sqlagent.NameProperNouns })
	if s, err := readScript(without); err != nil || len(s.conversations) != 2 || s.calls != 6 {
		t.Errorf("got %d conversations, %d calls, %v", len(s.conversations), s.calls, err)
	}
	if s, err := readScript(nil); err != nil || len(s.conversations) != 0 {
		t.Errorf("without tools: got %d conversations, %v", len(s.conversations), err)
	}
}

func TestTurnsAreTheMessagesOfTheAgent(t *testing.T) {
	t.Parallel()
	c := recording.Conversation{Calls: []recording.Call{
		{ID: "a", Tool: "t", Arguments: ` { "x" : 1 } `, Message: 1}, {ID: "b", Tool: "t", Message: 3}, {ID: "c", Tool: "t", Message: 3}, {ID: "d", Tool: "t", Message: 6},
	}}
	var ids [][]canonical.ToolCallID
	for _, turn := range turns(c) {
		var of []canonical.ToolCallID
		for _, call := range turn {
			of = append(of, call.ID)
		}
		ids = append(ids, of)
	}
	want := [][]canonical.ToolCallID{{"a"}, {"b", "c"}, {"d"}}
	if !slices.EqualFunc(ids, want, slices.Equal[[]canonical.ToolCallID]) {
		t.Errorf("got %v, want %v", ids, want)
	}
	if got := string(turns(c)[0][0].Arguments); got != ` { "x" : 1 } ` {
		t.Errorf("arguments: got %q, want them as they are", got)
	}
	if got := turns(recording.Conversation{}); len(got) != 0 {
		t.Errorf("no calls: got %v", got)
	}
}

// Every kind of refusal that the demo promises is in the script, each under an id of its own but the one that repeats.
func TestAttempts(t *testing.T) {
	t.Parallel()
	s, err := readScript(agentTools(t))
	if err != nil {
		t.Fatal(err)
	}
	var codes []boundary.Code
	ids := map[canonical.ToolCallID]int{}
	for _, call := range s.recorded() {
		ids[canonical.ToolCallID(call.ID)]++
	}
	for _, a := range s.attempts() {
		codes = append(codes, a.code)
		ids[a.call.ID]++
		r := a.refusal()
		if r.What == "" || r.ID != a.call.ID || r.Tool != a.call.Name || r.WantCode != a.code || r.WantRan != a.ran.Ran() || r.AsItMust() {
			t.Errorf("got %+v", r)
		}
		if lawful := (canonical.CallName{ID: a.call.ID}).Validate() == nil; lawful == (a.code == lifecycle.InvalidToolCallID) {
			t.Errorf("%q: a lawful id %t", a.call.ID, lawful)
		}
		if ran := a.ran == lifecycle.Completed; ran != (a.code == sqlagent.CodeRefused) {
			t.Errorf("%s: ran %t", a.code, ran)
		}
	}
	want := []boundary.Code{
		lifecycle.ToolBudgetExhausted, sqlagent.CodeRefused, lifecycle.NotReadOnly, lifecycle.InvalidToolCallID, lifecycle.RunMismatch,
		lifecycle.DuplicateToolCall, lifecycle.DuplicateToolCall, lifecycle.RunBudgetExhausted, lifecycle.RunDeadlineExceeded,
	}
	if !slices.Equal(codes, want) {
		t.Errorf("got %v, want %v", codes, want)
	}
	for id, times := range ids {
		if twice := id == "call_WkHRiPcBoGN9bc58MIupRHKP"; twice != (times == 2) || times > 2 {
			t.Errorf("%s stands %d times in the script", id, times)
		}
	}
}

// Were the tool that writes ever let through, the database would still refuse it.
func TestTheToolThatWritesCannot(t *testing.T) {
	t.Parallel()
	tools := agentTools(t)
	writer := tools[len(tools)-1]
	if writer.Name != nameAddArtist || writer.Effect.Read() {
		t.Fatalf("got %s, effect %s", writer.Name, writer.Effect)
	}
	err := writer.Executor.Execute(t.Context(), boundary.Input{Arguments: []byte(`{"name":"Nobody"}`)}, &shortWriter{room: 1})
	refused, ok := err.(*sqlread.RefusedError)
	if !ok || refused.Action != "INSERT" {
		t.Errorf("got %v, want the refusal of an INSERT", err)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for want, calls := range map[string][]boundary.Call{
		"": nil, "a": {{Name: "a"}}, "a and b": {{Name: "a"}, {Name: "b"}}, "a and a and b": {{Name: "a"}, {Name: "a"}, {Name: "b"}},
	} {
		if got := names(calls); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
