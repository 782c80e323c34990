package canonical_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/lifecycle"
)

func opening() canonical.Opening {
	return canonical.Opening{Run: someCall().RunKey, Token: "token-1", Duration: time.Hour, Limits: canonical.DefaultLimits(),
		Budget: canonical.Budget{Calls: 16, PerTool: 8, Bytes: 1 << 20}}
}

func admission() canonical.Admission {
	return canonical.Admission{Run: someCall().RunKey, Call: someCall().Call, Claim: "claim-1", EvidenceID: "e-1", Tool: "sql", Effect: canonical.EffectRead,
		Request: canonical.Body(`{}`), ToolBudget: 8, Reserve: 100, Timeout: time.Second, Closing: time.Second, TTL: time.Hour}
}

func ending() canonical.Ending {
	return canonical.Ending{Run: someCall().RunKey, Call: someCall().Call, Claim: "claim-1", Verdict: lifecycle.Succeed(evidence.Found),
		Raw: canonical.NewRaw([]byte("raw")), Agent: canonical.Body("agent")}
}

// badField is the field that an error of any of the package's types names.
func badField(err error) string {
	if e, ok := errors.AsType[*canonical.ArgumentError](err); ok {
		return e.Field
	}
	if e, ok := errors.AsType[*canonical.NameError](err); ok {
		return e.Field
	}
	if e, ok := errors.AsType[*lifecycle.CompletionError](err); ok {
		return e.Field
	}
	if _, ok := errors.AsType[*canonical.LimitsError](err); ok {
		return "limits"
	}
	return fmt.Sprint(err)
}

type refusal[M any] struct {
	name   string
	change func(*M)
	field  string // "<nil>" when it is taken
}

// refusals changes one field of a good message at a time.
func refusals[M interface{ Validate() error }](t *testing.T, good func() M, cases []refusal[M]) {
	t.Helper()
	if err := good().Validate(); err != nil {
		t.Fatalf("a good message: %v", err)
	}
	for _, c := range cases {
		m := good()
		c.change(&m)
		err := m.Validate()
		if got := badField(err); got != c.field {
			t.Errorf("%s: %v names %q, want %q", c.name, err, got, c.field)
		}
		if err != nil && (strings.Contains(err.Error(), marker) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%s: the error repeats what was given: %q", c.name, err)
		}
	}
}

const taken = "<nil>"

func TestOpening_validate(t *testing.T) {
	t.Parallel()
	type o = canonical.Opening
	refusals(t, opening, []refusal[o]{
		{"no scope", func(m *o) { m.Run.Scope = canonical.Scope{} }, "scope"},
		{"no run", func(m *o) { m.Run.Run = "" }, "run_id"},
		{"no token", func(m *o) { m.Token = "" }, "token"},
		{"a token at the limit", func(m *o) { m.Token = canonical.Token(strings.Repeat("x", 128)) }, taken},
		{"a token over the limit", func(m *o) { m.Token = canonical.Token(strings.Repeat("x", 129)) }, "token"},
		{"a token with a space", func(m *o) { m.Token = marker + " " }, "token"},
		{"a principal over the limit", func(m *o) { m.Principal.User = strings.Repeat(marker, 26) }, "principal.user"},
		{"limits with a zero", func(m *o) { m.Limits.RawBytes = 0 }, "limits"},
		{"no limits", func(m *o) { m.Limits = canonical.Limits{} }, "limits"},
		{"no calls at all", func(m *o) { m.Budget.Calls = 0 }, taken},
		{"unlimited", func(m *o) { m.Budget = canonical.Budget{Calls: -1, PerTool: -1, Bytes: -1} }, taken},
		{"calls below", func(m *o) { m.Budget.Calls = -2 }, "budget.calls"},
		{"calls at the limit", func(m *o) { m.Budget.Calls = canonical.MaxBudgetCalls }, taken},
		{"calls over the limit", func(m *o) { m.Budget.Calls = canonical.MaxBudgetCalls + 1 }, "budget.calls"},
		{"calls of a tool over the limit", func(m *o) { m.Budget.PerTool = canonical.MaxBudgetCalls + 1 }, "budget.per_tool"},
		{"bytes at the limit", func(m *o) { m.Budget.Bytes = canonical.MaxBudgetBytes }, taken},
		{"bytes over the limit", func(m *o) { m.Budget.Bytes = canonical.MaxBudgetBytes + 1 }, "budget.bytes"},
		{"earlier runs at the limit", func(m *o) { m.Continues = runs(canonical.MaxContinues) }, taken},
		{"earlier runs over the limit", func(m *o) { m.Continues = runs(canonical.MaxContinues + 1) }, "continues"},
		{"an earlier run that is none", func(m *o) { m.Continues = []canonical.RunID{"good", marker + "{"} }, "run_id"},
		{"no time", func(m *o) { m.Duration = 0 }, "duration"},
		{"less than no time", func(m *o) { m.Duration = -time.Hour }, "duration"},
		{"below a millisecond", func(m *o) { m.Duration = time.Millisecond - 1 }, "duration"},
		{"a millisecond", func(m *o) { m.Duration = time.Millisecond }, taken},
		{"the longest", func(m *o) { m.Duration = m.Limits.MaxDuration() }, taken},
	})
}

func runs(n int) []canonical.RunID {
	var out []canonical.RunID
	for i := range n {
		out = append(out, canonical.RunID(fmt.Sprintf("r%d", i)))
	}
	return out
}

// P18: a run that would outlive its first record is refused with both numbers.
func TestP18_run_longer_than_its_first_record(t *testing.T) {
	t.Parallel()
	o := opening()
	o.Duration = o.Limits.MaxDuration() + time.Millisecond
	err := o.Validate()
	no, ok := errors.AsType[*canonical.RefusedError](err)
	if !ok || !errors.Is(err, canonical.ErrRunTooLong) || no.Limit != (24*time.Hour-5*time.Second).Milliseconds() || no.Wanted != no.Limit+1 {
		t.Errorf("%v, want %v with both numbers in milliseconds", err, canonical.ErrRunTooLong)
	}
}

func TestAdmission_validate(t *testing.T) {
	t.Parallel()
	type a = canonical.Admission
	refusals(t, admission, []refusal[a]{
		{"no run", func(m *a) { m.Run.Run = "" }, "run_id"},
		{"no call", func(m *a) { m.Call.ID = "" }, "tool_call_id"},
		{"a turn with a colon", func(m *a) { m.Call.Turn = "a:" }, "turn"},
		{"no claim", func(m *a) { m.Claim = "" }, "claim"},
		{"a claim with a colon", func(m *a) { m.Claim = marker + ":" }, "claim"},
		{"no evidence id", func(m *a) { m.EvidenceID = "" }, "evidence_id"},
		{"an evidence id with a brace", func(m *a) { m.EvidenceID = marker + "{" }, "evidence_id"},
		{"a UUID", func(m *a) { m.EvidenceID = "0192f0c1-2f3b-7a5e-9c5d-3d6f1f2a4b5c" }, taken},
		{"no tool", func(m *a) { m.Tool = "" }, "tool"},
		{"a tool with a line feed", func(m *a) { m.Tool = marker + "\n" }, "tool"},
		{"no effect", func(m *a) { m.Effect = "" }, taken}, // kept, and treated as not read
		{"a request at the limit", func(m *a) { m.Request = make(canonical.Body, canonical.MaxRequestBytes) }, taken},
		{"a request over the limit", func(m *a) { m.Request = make(canonical.Body, canonical.MaxRequestBytes+1) }, "request"},
		{"no life", func(m *a) { m.TTL = 0 }, "ttl"},
		{"no timeout", func(m *a) { m.Timeout = time.Millisecond - 1 }, "timeout"},
		{"no time to close", func(m *a) { m.Closing = -1 }, "closing"},
		{"a millisecond each", func(m *a) { m.TTL, m.Timeout, m.Closing = time.Millisecond, time.Millisecond, time.Millisecond }, taken},
		{"a negative reserve", func(m *a) { m.Reserve = -1 }, "reserve"},
		{"a reserve over the limit", func(m *a) { m.Reserve = canonical.MaxBudgetBytes + 1 }, "reserve"},
		{"a reserve at the limit", func(m *a) { m.Reserve = canonical.MaxBudgetBytes }, taken},
		{"a tool without a budget", func(m *a) { m.ToolBudget = canonical.Unlimited }, taken},
		{"a budget below", func(m *a) { m.ToolBudget = -2 }, "tool_budget"},
		{"a budget over the limit", func(m *a) { m.ToolBudget = canonical.MaxBudgetCalls + 1 }, "tool_budget"},
		{"a principal over the limit", func(m *a) { m.Principal.Agent = strings.Repeat("x", 257) }, "principal.agent"},
	})
}

func TestSaving_validate(t *testing.T) {
	t.Parallel()
	type s = canonical.Saving
	good := func() s {
		return s{Run: someCall().RunKey, Call: someCall().Call, Claim: "c", Raw: canonical.NewRaw([]byte("x"))}
	}
	refusals(t, good, []refusal[s]{
		{"no run", func(m *s) { m.Run.Run = "" }, "run_id"},
		{"no call", func(m *s) { m.Call = canonical.CallName{} }, "tool_call_id"},
		{"no claim", func(m *s) { m.Claim = "" }, "claim"},
		{"no raw", func(m *s) { m.Raw = canonical.Raw{} }, "raw"},
		{"raw without its bytes", func(m *s) { m.Raw.Bytes = nil }, "raw"},
		{"an empty result", func(m *s) { m.Raw = canonical.NewRaw(nil) }, taken},
	})
}

func TestEnding_validate(t *testing.T) {
	t.Parallel()
	type e = canonical.Ending
	refusals(t, ending, []refusal[e]{
		{"no run", func(m *e) { m.Run.Scope = canonical.Scope{} }, "scope"},
		{"no call", func(m *e) { m.Call.ID = "" }, "tool_call_id"},
		{"no claim", func(m *e) { m.Claim = "" }, "claim"},
		{"no verdict", func(m *e) { m.Verdict = lifecycle.Completion{} }, "state"},
		{"READY without a status", func(m *e) { m.Verdict.Evidence = "" }, "evidence_status"},
		{"READY without an agent result", func(m *e) { m.Agent = nil }, "agent"},
		{"ERROR with an agent result", func(m *e) { m.Verdict = lifecycle.Fail(lifecycle.ToolExecutionFailed, lifecycle.Completed) }, "agent"},
		{"ERROR", func(m *e) {
			m.Verdict, m.Agent = lifecycle.Fail(lifecycle.ToolExecutionFailed, lifecycle.Completed), nil
		}, taken},
		{"ERROR with a refusal's code", func(m *e) {
			m.Verdict, m.Agent = lifecycle.Fail(lifecycle.DuplicateToolCall, lifecycle.NotStarted), nil
		}, "code"},
	})
}

func TestSweeping_validate(t *testing.T) {
	t.Parallel()
	type s = canonical.Sweeping
	refusals(t, func() s { return s{Run: someCall().RunKey, Max: 10} }, []refusal[s]{
		{"no run", func(m *s) { m.Run.Run = "" }, "run_id"},
		{"none at a time", func(m *s) { m.Max = 0 }, "max"},
		{"the most", func(m *s) { m.Max = canonical.MaxSweep }, taken},
		{"more", func(m *s) { m.Max = canonical.MaxSweep + 1 }, "max"},
		{"negative grace", func(m *s) { m.Grace = -1 }, "grace"},
		{"no grace", func(m *s) { m.Grace = 0 }, taken},
	})
}

func TestResolution_validate(t *testing.T) {
	t.Parallel()
	type r = canonical.Resolution
	good := func() r {
		return r{Run: someCall().RunKey, Call: someCall().Call, Verdict: canonical.Applied, Evidence: "receipt 7"}
	}
	refusals(t, good, []refusal[r]{
		{"not applied", func(m *r) { m.Verdict = canonical.NotApplied }, taken},
		{"no run", func(m *r) { m.Run.Run = "" }, "run_id"},
		{"no call", func(m *r) { m.Call.ID = "" }, "tool_call_id"},
		{"no verdict", func(m *r) { m.Verdict = "" }, "verdict"},
		{"another verdict", func(m *r) { m.Verdict = marker }, "verdict"},
		{"no grounds", func(m *r) { m.Evidence = "" }, "evidence"},
		{"grounds at the limit", func(m *r) { m.Evidence = strings.Repeat("x", 512) }, taken},
		{"grounds over the limit", func(m *r) { m.Evidence = strings.Repeat("x", 513) }, "evidence"},
		{"grounds that are not UTF-8", func(m *r) { m.Evidence = marker + "\xff" }, "evidence"},
	})
}

// P33: a completion that is sent again a second later is the same outcome.
func TestEnding_digest(t *testing.T) {
	t.Parallel()
	same := ending().Digest()
	for name, change := range map[string]func(*canonical.Ending){
		"P33_later":       func(m *canonical.Ending) { m.Expires = time.Unix(1, 0) },
		"seen":            func(m *canonical.Ending) { m.Seen = 9 },
		"stage":           func(m *canonical.Ending) { m.Stage = canonical.StageStore },
		"another claim":   func(m *canonical.Ending) { m.Claim = "other" },
		"raw saved":       func(m *canonical.Ending) { m.RawSaved = true },
		"the same bodies": func(m *canonical.Ending) { m.Agent = m.Agent.Clone(); m.Raw.Bytes = m.Raw.Bytes.Clone() },
	} {
		m := ending()
		change(&m)
		if m.Digest() != same {
			t.Errorf("%s: another outcome", name)
		}
	}
	seen := map[string]string{same: "the outcome itself"}
	for name, change := range map[string]func(*canonical.Ending){
		"status":              func(m *canonical.Ending) { m.Verdict = lifecycle.Succeed(evidence.None) },
		"ERROR":               func(m *canonical.Ending) { m.Verdict = lifecycle.Fail(lifecycle.ToolTimeout, lifecycle.Completed) },
		"execution":           func(m *canonical.Ending) { m.Verdict = lifecycle.Fail(lifecycle.ToolTimeout, lifecycle.Unknown) },
		"code":                func(m *canonical.Ending) { m.Verdict = lifecycle.Fail(lifecycle.ProjectionFailed, lifecycle.Completed) },
		"raw":                 func(m *canonical.Ending) { m.Raw = canonical.NewRaw([]byte("raw ")) },
		"no raw":              func(m *canonical.Ending) { m.Raw = canonical.Raw{} },
		"empty raw":           func(m *canonical.Ending) { m.Raw = canonical.NewRaw(nil) },
		"agent":               func(m *canonical.Ending) { m.Agent = canonical.Body("agent ") },
		"no agent":            func(m *canonical.Ending) { m.Agent = nil },
		"empty agent":         func(m *canonical.Ending) { m.Agent = canonical.Body{} },
		"facts":               func(m *canonical.Ending) { m.Facts = canonical.Body("x") },
		"coverage":            func(m *canonical.Ending) { m.Coverage = canonical.Body("x") },
		"facts and coverage":  func(m *canonical.Ending) { m.Facts, m.Coverage = canonical.Body("x"), canonical.Body("x") },
		"empty facts":         func(m *canonical.Ending) { m.Facts = canonical.Body{} },
		"agent in the facts":  func(m *canonical.Ending) { m.Facts, m.Agent = m.Agent, nil },
		"raw in agent's room": func(m *canonical.Ending) { m.Agent, m.Raw = m.Raw.Bytes, canonical.Raw{} },
	} {
		m := ending()
		change(&m)
		digest := m.Digest()
		if other, twice := seen[digest]; twice {
			t.Errorf("%s: the digest of %s", name, other)
		}
		seen[digest] = name
	}
}
