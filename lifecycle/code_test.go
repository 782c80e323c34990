package lifecycle_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/lifecycle"
)

// The closed list, written out a second time: a code that is added, renamed or
// moved has to be changed here too, with the executions it may stand beside.
// N, C and U are not started, completed and unknown.
const closedList = `
	INVALID_TOOL_CALL_ID    refused N
	RUN_MISMATCH            refused N
	REQUEST_TOO_LARGE       refused N
	INVALID_INPUT           refused N
	REFERENCE_REFUSED       refused N
	UNAUTHORIZED            refused N
	NOT_READ_ONLY           refused N
	RUN_INACTIVE            refused N
	RUN_DEADLINE_EXCEEDED   refused N
	UNKNOWN_TOOL            refused N
	DUPLICATE_TOOL_CALL     refused N
	RUN_BUDGET_EXHAUSTED    refused N
	TOOL_BUDGET_EXHAUSTED   refused N
	CAPACITY_EXHAUSTED      refused N
	UNRESOLVED_EFFECT       refused N
	SUSPENDED               recorded N
	TOOL_EXECUTION_FAILED   recorded C
	TOOL_TIMEOUT            recorded CU
	CANCELLED               refused N recorded NCU
	OUTCOME_UNKNOWN         refused U recorded U
	RESULT_TOO_LARGE        recorded C
	RESULT_NOT_STORED       refused C
	PROJECTION_FAILED       recorded C
	INVALID_EVIDENCE_STATUS recorded C
	STORE_UNAVAILABLE       refused N recorded N
	STORE_CONFLICT          refused CU
	RECORD_EXPIRED          refused C
	ORPHANED                recorded U
`

type expectation struct {
	code              lifecycle.Code
	refused, recorded string // letters
}

func closed(t *testing.T) []expectation {
	t.Helper()
	var out []expectation
	for line := range strings.Lines(strings.TrimSpace(closedList)) {
		fields := strings.Fields(line)
		e := expectation{code: lifecycle.Code(fields[0])}
		for i := 1; i+1 < len(fields); i += 2 {
			switch fields[i] {
			case "refused":
				e.refused = fields[i+1]
			case "recorded":
				e.recorded = fields[i+1]
			default:
				t.Fatalf("line %q", line)
			}
		}
		out = append(out, e)
	}
	return out
}

func letters(list []lifecycle.Execution) string {
	text := ""
	for _, x := range list {
		text += map[lifecycle.Execution]string{lifecycle.NotStarted: "N", lifecycle.Completed: "C", lifecycle.Unknown: "U"}[x]
	}
	return text
}

func executions() []lifecycle.Execution {
	return []lifecycle.Execution{lifecycle.NotStarted, lifecycle.Completed, lifecycle.Unknown, "", "done"}
}

func TestCodes_are_the_closed_list(t *testing.T) {
	t.Parallel()
	var want []lifecycle.Code
	for _, e := range closed(t) {
		want = append(want, e.code)
	}
	got := lifecycle.Codes()
	if !slices.Equal(got, want) {
		t.Fatalf("codes\n%q\nwant\n%q", got, want)
	}
	got[0] = "CHANGED"
	if again := lifecycle.Codes(); again[0] == "CHANGED" {
		t.Error("a caller's change reached the table")
	}
	for i, code := range want {
		if slices.Contains(want[:i], code) {
			t.Errorf("%s stands twice", code)
		}
	}
}

func TestCodes_executions(t *testing.T) {
	t.Parallel()
	for _, e := range closed(t) {
		info, ok := e.code.Info()
		if !ok || info.Code != e.code {
			t.Errorf("%s: no row, or another's: %s", e.code, info.Code)
			continue
		}
		if got := letters(info.Refused); got != e.refused || len(info.Refused) != len(e.refused) {
			t.Errorf("%s: refused with %v, want %q", e.code, info.Refused, e.refused)
		}
		if got := letters(info.Recorded); got != e.recorded || len(info.Recorded) != len(e.recorded) {
			t.Errorf("%s: recorded with %v, want %q", e.code, info.Recorded, e.recorded)
		}
		if info.HasRecord() != (e.recorded != "") {
			t.Errorf("%s: has a record %v", e.code, info.HasRecord())
		}
		for _, x := range executions() {
			letter := letters([]lifecycle.Execution{x})
			inRecord := letter != "" && strings.Contains(e.recorded, letter)
			anywhere := inRecord || letter != "" && strings.Contains(e.refused, letter)
			if info.AllowsRecord(x) != inRecord || info.Allows(x) != anywhere {
				t.Errorf("%s with %q: record %v, at all %v; want %v, %v", e.code, x, info.AllowsRecord(x), info.Allows(x), inRecord, anywhere)
			}
			if err := lifecycle.Fail(e.code, x).Validate(); (err == nil) != inRecord {
				t.Errorf("a record that ends as %s with %q: %v, want valid %v", e.code, x, err, inRecord)
			}
		}
		if e.refused == "" && e.recorded == "" {
			t.Errorf("%s can never be reported", e.code)
		}
	}
}

// A message is all that a model reads of a failure. It must be constant text, fit
// the bound of registered ones, and not contradict what is known of the run.
func TestCodes_messages(t *testing.T) {
	t.Parallel()
	plain := regexp.MustCompile(`^[A-Z][A-Za-z ,;.]*\.$`) // no digits, no verbs of fmt, no quotes, one line
	seen := map[string]lifecycle.Code{}
	for _, e := range closed(t) {
		info, _ := e.code.Info()
		if !plain.MatchString(info.Message) || len(info.Message) > lifecycle.MaxMessage {
			t.Errorf("%s: message %q, want plain sentences of at most %d bytes", e.code, info.Message, lifecycle.MaxMessage)
		}
		if other, twice := seen[info.Message]; twice {
			t.Errorf("%s and %s have one message", e.code, other)
		}
		seen[info.Message] = e.code
		says := regexp.MustCompile(`was not run|has not run|Nothing was run|Nothing runs`).MatchString(info.Message)
		never := !strings.ContainsAny(e.refused+e.recorded, "CU")
		if says && !never {
			t.Errorf("%s: %q says that nothing ran, but it may have", e.code, info.Message)
		}
		if never && !says {
			t.Errorf("%s: %q does not say that nothing ran", e.code, info.Message)
		}
		if strings.Contains(info.Message, "tool ran") && (e.refused+e.recorded) != "C" {
			t.Errorf("%s: %q says that the tool ran, but it need not have", e.code, info.Message)
		}
		if strings.Contains(info.Message, "Do not repeat") && info.NewCallHelps {
			t.Errorf("%s: %q, and yet a new call is said to help", e.code, info.Message)
		}
	}
}

func TestCodes_actors_and_new_calls(t *testing.T) {
	t.Parallel()
	actors := []lifecycle.Actor{lifecycle.ByModel, lifecycle.ByHost, lifecycle.ByOperator, lifecycle.ByNobody}
	var unsure []lifecycle.Code
	for _, code := range lifecycle.Codes() {
		info, _ := code.Info()
		if !slices.Contains(actors, info.Actor) {
			t.Errorf("%s: actor %q", code, info.Actor)
		}
		if info.NewCallHelps && (info.Actor == lifecycle.ByHost || info.Actor == lifecycle.ByNobody) {
			t.Errorf("%s: a new call helps, but %s must act", code, info.Actor)
		}
		if info.NewCallHelps && info.Allows(lifecycle.Unknown) {
			unsure = append(unsure, code)
		}
	}
	// Both end calls that only read; any other effect that is not known to have
	// ended becomes OUTCOME_UNKNOWN, which no new call helps.
	if want := []lifecycle.Code{lifecycle.ToolTimeout, lifecycle.Orphaned}; !slices.Equal(unsure, want) {
		t.Errorf("a new call helps though the tool may have run: %v, want only %v", unsure, want)
	}
	if info, _ := lifecycle.OutcomeUnknown.Info(); info.NewCallHelps || info.Allows(lifecycle.Completed) || info.Allows(lifecycle.NotStarted) {
		t.Errorf("OUTCOME_UNKNOWN: %+v", info)
	}
}

func TestCode_form(t *testing.T) {
	t.Parallel()
	for code, want := range map[lifecycle.Code]bool{
		"A": true, "A1_": true, lifecycle.Code(strings.Repeat("A", 64)): true,
		"": false, "_A": false, "1A": false, "a": false, "A b": false, "A-B": false, "A\n": false, "Ä": false,
		lifecycle.Code(strings.Repeat("A", 65)): false,
	} {
		if got := code.WellFormed(); got != want {
			t.Errorf("%q: well formed %v, want %v", code, got, want)
		}
		if _, builtin := code.Info(); builtin {
			t.Errorf("%q is said to be built in", code)
		}
	}
	for _, code := range lifecycle.Codes() {
		if !code.WellFormed() {
			t.Errorf("%q is not well formed", code)
		}
	}
}

func TestCompletion_constructors(t *testing.T) {
	t.Parallel()
	if got, want := lifecycle.Succeed(evidence.None), (lifecycle.Completion{State: lifecycle.Ready, Evidence: evidence.None, Execution: lifecycle.Completed}); got != want {
		t.Errorf("Succeed = %+v, want %+v", got, want)
	}
	if got, want := lifecycle.Fail(lifecycle.Orphaned, lifecycle.Unknown), (lifecycle.Completion{State: lifecycle.Error, Code: lifecycle.Orphaned, Evidence: evidence.Failed, Execution: lifecycle.Unknown}); got != want {
		t.Errorf("Fail = %+v, want %+v", got, want)
	}
}
