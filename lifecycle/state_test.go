package lifecycle_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/lifecycle"
)

// event is one thing that may be brought to a record.
type event struct {
	name string
	c    lifecycle.Completion
	ends lifecycle.State // what it makes of an open record; empty: it is no completion
}

func events() []event {
	ready, failed := lifecycle.Ready, lifecycle.Error
	return []event{
		{"found", lifecycle.Succeed(evidence.Found), ready},
		{"nothing found", lifecycle.Succeed(evidence.None), ready},
		{"tool failed", lifecycle.Fail(lifecycle.ToolExecutionFailed, lifecycle.Completed), failed},
		{"too large", lifecycle.Fail(lifecycle.ResultTooLarge, lifecycle.Completed), failed},
		{"outcome unknown", lifecycle.Fail(lifecycle.OutcomeUnknown, lifecycle.Unknown), failed},
		{"orphaned", lifecycle.Fail(lifecycle.Orphaned, lifecycle.Unknown), failed},
		{"cancelled before it ran", lifecycle.Fail(lifecycle.Cancelled, lifecycle.NotStarted), failed},
		{"a registered code", lifecycle.Fail("ACCOUNT_LOCKED", lifecycle.Completed), failed},

		{"nothing at all", lifecycle.Completion{}, ""},
		{"open again", lifecycle.Completion{State: lifecycle.Projecting}, ""},
		{"a state nobody knows", lifecycle.Completion{State: "DONE", Evidence: evidence.Found, Execution: lifecycle.Completed}, ""},
		{"READY in lower case", lifecycle.Completion{State: "ready", Evidence: evidence.Found, Execution: lifecycle.Completed}, ""},
		{"READY without a status", lifecycle.Succeed(""), ""},
		{"READY with ERROR", lifecycle.Succeed(evidence.Failed), ""},
		{"READY with a status of its own", lifecycle.Succeed("FOUND"), ""},
		{"READY with a status in lower case", lifecycle.Succeed("no_evidence"), ""},
		{"READY with a code", lifecycle.Completion{State: ready, Code: lifecycle.ToolTimeout, Evidence: evidence.Found, Execution: lifecycle.Completed}, ""},
		{"READY that did not run", lifecycle.Completion{State: ready, Evidence: evidence.Found, Execution: lifecycle.NotStarted}, ""},
		{"READY of an unknown execution", lifecycle.Completion{State: ready, Evidence: evidence.Found, Execution: lifecycle.Unknown}, ""},
		{"ERROR without a code", lifecycle.Fail("", lifecycle.Completed), ""},
		{"ERROR with a malformed code", lifecycle.Fail("tool failed\n", lifecycle.Completed), ""},
		{"ERROR with an observed status", lifecycle.Completion{State: failed, Code: lifecycle.ToolTimeout, Evidence: evidence.None, Execution: lifecycle.Completed}, ""},
		{"ERROR without an execution", lifecycle.Fail(lifecycle.ToolTimeout, ""), ""},
		{"ERROR of a tool that did not run", lifecycle.Fail(lifecycle.ToolExecutionFailed, lifecycle.NotStarted), ""},
		{"a refusal as a record", lifecycle.Fail(lifecycle.DuplicateToolCall, lifecycle.NotStarted), ""},
		{"a registered code that did not run", lifecycle.Fail("ACCOUNT_LOCKED", lifecycle.NotStarted), ""},
	}
}

func TestTransition_every_state_and_event(t *testing.T) {
	t.Parallel()
	for _, from := range states() {
		for _, e := range events() {
			got, err := from.Transition(e.c)
			name := "no record"
			if from != "" {
				name = string(from)
			}
			switch {
			case e.ends == "":
				if _, ok := errors.AsType[*lifecycle.CompletionError](err); !ok || got != from {
					t.Errorf("%s, %s: %q, %v; want the state unchanged and a completion error", name, e.name, got, err)
				}
			case from == lifecycle.Projecting:
				if err != nil || got != e.ends {
					t.Errorf("%s, %s: %q, %v; want %s", name, e.name, got, err, e.ends)
				}
			default:
				bad, ok := errors.AsType[*lifecycle.TransitionError](err)
				if !ok || got != from || bad.From != from || bad.To != e.ends {
					t.Errorf("%s, %s: %q, %v; want the state unchanged and both ends named", name, e.name, got, err)
				}
				if ok && !strings.Contains(err.Error(), "no transition from "+name+" to "+string(e.ends)) {
					t.Errorf("%s, %s: error %q does not name both", name, e.name, err)
				}
			}
		}
	}
}

func TestState_kinds(t *testing.T) {
	t.Parallel()
	for s, want := range map[lifecycle.State]struct{ valid, final bool }{
		"": {false, false}, lifecycle.Projecting: {true, false}, lifecycle.Ready: {true, true}, lifecycle.Error: {true, true},
		"DONE": {false, false}, "ready": {false, false}, "READY ": {false, false},
	} {
		if s.Valid() != want.valid || s.Final() != want.final {
			t.Errorf("%q: valid %v, final %v, want %v", s, s.Valid(), s.Final(), want)
		}
	}
}

// A final state has no way out, and nothing leads back into PROJECTING.
func TestState_final_is_final(t *testing.T) {
	t.Parallel()
	for _, from := range states() {
		for _, to := range states() {
			if can := from.CanBecome(to); can && (from.Final() || !from.Valid() || to == lifecycle.Projecting) {
				t.Errorf("%q can become %q", from, to)
			}
		}
	}
}

func TestExecution_words(t *testing.T) {
	t.Parallel()
	for x, want := range map[lifecycle.Execution]struct {
		ran   string
		valid bool
	}{
		lifecycle.NotStarted: {"no", true}, lifecycle.Completed: {"yes", true}, lifecycle.Unknown: {"unknown", true},
		"": {"unknown", false}, "NOT_STARTED": {"unknown", false}, "no": {"unknown", false},
	} {
		if x.Ran() != want.ran || x.Valid() != want.valid {
			t.Errorf("%q: ran %q, valid %v, want %+v", x, x.Ran(), x.Valid(), want)
		}
	}
}

func TestCompletion_error_names_the_field(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		completion lifecycle.Completion
		field      string
	}{
		{lifecycle.Completion{}, "state"},
		{lifecycle.Succeed(""), "evidence_status"},
		{lifecycle.Completion{State: lifecycle.Ready, Code: "X", Evidence: evidence.Found, Execution: lifecycle.Completed}, "code"},
		{lifecycle.Completion{State: lifecycle.Ready, Evidence: evidence.Found}, "execution"},
		{lifecycle.Completion{State: lifecycle.Error, Code: lifecycle.ToolTimeout, Execution: lifecycle.Completed}, "evidence_status"},
		{lifecycle.Fail("marker-4711 with a space", lifecycle.Completed), "code"},
		{lifecycle.Fail(lifecycle.ToolTimeout, "marker-4711"), "execution"},
		{lifecycle.Fail(lifecycle.ToolTimeout, lifecycle.NotStarted), "code"},
		{lifecycle.Fail("OWN", lifecycle.NotStarted), "execution"},
	} {
		err := c.completion.Validate()
		got, ok := errors.AsType[*lifecycle.CompletionError](err)
		if !ok || got.Field != c.field {
			t.Errorf("%+v: %v, want a completion error of %q", c.completion, err, c.field)
			continue
		}
		if strings.Contains(err.Error(), "marker-4711") || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), c.field) {
			t.Errorf("error text %q, want the field and nothing that was given", err)
		}
	}
}
