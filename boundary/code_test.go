package boundary_test

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/fakes"
	"github.com/toolharness/harness/internal/vectors"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/projector"
)

// sentinel is one "no" of a store, and the code that it becomes when an
// admission, and when the ending of a call that ran, is answered with it.
type sentinel struct {
	name            string
	err             error
	admit, complete lifecycle.Code
}

func sentinels() []sentinel {
	const notStored = lifecycle.ResultNotStored
	return []sentinel{
		{"ErrRunMissing", canonical.ErrRunMissing, lifecycle.RunInactive, notStored},
		{"ErrRunTaken", canonical.ErrRunTaken, lifecycle.RunInactive, notStored},
		{"ErrRunConflict", canonical.ErrRunConflict, lifecycle.RunInactive, notStored},
		{"ErrQuota", canonical.ErrQuota, lifecycle.CapacityExhausted, notStored},
		{"ErrRunTooLong", canonical.ErrRunTooLong, lifecycle.RunInactive, notStored},
		{"ErrRunClosed", canonical.ErrRunClosed, lifecycle.RunInactive, notStored},
		{"ErrRunDamaged", canonical.ErrRunDamaged, lifecycle.RunInactive, notStored},
		{"ErrDuplicate", canonical.ErrDuplicate, lifecycle.DuplicateToolCall, notStored},
		{"ErrTooLate", canonical.ErrTooLate, lifecycle.StoreUnavailable, notStored},
		{"ErrDeadline", canonical.ErrDeadline, lifecycle.RunDeadlineExceeded, notStored},
		{"ErrUnresolvedEffect", canonical.ErrUnresolvedEffect, lifecycle.UnresolvedEffect, notStored},
		{"ErrCapacity", canonical.ErrCapacity, lifecycle.CapacityExhausted, notStored},
		{"ErrRunBudget", canonical.ErrRunBudget, lifecycle.RunBudgetExhausted, notStored},
		{"ErrToolBudget", canonical.ErrToolBudget, lifecycle.ToolBudgetExhausted, notStored},
		{"ErrMissing", canonical.ErrMissing, lifecycle.StoreUnavailable, lifecycle.RecordExpired},
		{"ErrConflict", canonical.ErrConflict, lifecycle.StoreUnavailable, lifecycle.StoreConflict},
		{"ErrStillOpen", canonical.ErrStillOpen, lifecycle.StoreUnavailable, notStored},
		{"ErrNewerVersion", canonical.ErrNewerVersion, lifecycle.StoreUnavailable, lifecycle.StoreConflict},
		{"ErrForeign", canonical.ErrForeign, lifecycle.StoreUnavailable, lifecycle.StoreConflict},
		{"ErrStrength", canonical.ErrStrength, lifecycle.StoreUnavailable, notStored},
		{"ErrCorrupt", canonical.ErrCorrupt, lifecycle.StoreUnavailable, notStored},
	}
}

// The list above is the list of package canonical, name by name.
func TestSentinels_are_all_of_them(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(vectors.Root(t), "canonical", "errors.go"), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, d := range file.Decls {
		group, ok := d.(*ast.GenDecl)
		if !ok || group.Tok != token.VAR {
			continue
		}
		for _, spec := range group.Specs {
			for _, name := range spec.(*ast.ValueSpec).Names {
				want = append(want, name.Name)
			}
		}
	}
	var got []string
	for _, s := range sentinels() {
		got = append(got, s.name)
	}
	slices.Sort(want)
	slices.Sort(got)
	if len(want) == 0 || !slices.Equal(got, want) {
		t.Errorf("sentinels\n%v, want those of canonical\n%v", got, want)
	}
}

func TestSentinels(t *testing.T) {
	t.Parallel()
	for _, s := range sentinels() {
		for _, wrap := range []struct {
			name string
			do   func(error) error
		}{
			{"refused", func(err error) error { return &canonical.RefusedError{Op: "test", Err: err} }},
			{"refused_and_wrapped", func(err error) error {
				return fmt.Errorf("store: %w", &canonical.RefusedError{Op: "test", Err: err})
			}},
		} {
			t.Run(s.name+"_"+wrap.name, func(t *testing.T) {
				t.Parallel()
				s.atAdmission(t, wrap.do(s.err))
				s.atEnding(t, wrap.do(s.err))
			})
		}
	}
}

// atAdmission: whatever the store answers, the tool was not entered, and the
// host finds the sentinel.
func (s sentinel) atAdmission(t *testing.T, answer error) {
	b := newBench(t, fakeBackend().start(t), setup{})
	b.faulty.Answer(fakes.MethodAdmit, fakes.Every, answer)
	tool := says("1")
	got := b.read("c1", tool)
	wantFailed(t, got, s.admit, lifecycle.NotStarted)
	wantEntered(t, tool, 0)
	if !errors.Is(got.Err, s.err) || !strings.Contains(got.Err.Error(), s.err.Error()) {
		t.Errorf("error %v, want %s in reach and its words in the text", got.Err, s.name)
	}
	most := 1
	if s.err == canonical.ErrTooLate { // the clock is asked for again, and one more message sent
		most = 2
	}
	if calls := b.faulty.Calls(fakes.MethodAdmit); calls != most {
		t.Errorf("%d admissions sent, want %d: an answer is no reason to try again", calls, most)
	}
	if _, err := b.OpenRun(t.Context(), boundary.RunSpec{Scope: testScope()}); err != nil {
		t.Errorf("another run: %v", err)
	}
	// what is true of the whole run is remembered; anything else is asked again
	b.faulty.Heal(fakes.MethodAdmit)
	over := s.err == canonical.ErrRunClosed || s.err == canonical.ErrRunDamaged || s.err == canonical.ErrRunMissing
	if again := b.read("c2", tool); again.Outcome.IsError() != over {
		t.Errorf("the next call: %v, want refused: %t", again.Outcome, over)
	}
}

// atEnding: the tool ran, which every code says, and the host has the result.
func (s sentinel) atEnding(t *testing.T, answer error) {
	b := newBench(t, fakeBackend().start(t), setup{})
	b.faulty.Answer(fakes.MethodComplete, fakes.Every, answer)
	tool := says("1")
	got := b.read("c1", tool)
	wantFailed(t, got, s.complete, lifecycle.Completed)
	wantEntered(t, tool, 1)
	if !errors.Is(got.Err, s.err) {
		t.Errorf("error %v, want %s in reach", got.Err, s.name)
	}
	if calls := b.faulty.Calls(fakes.MethodComplete); calls != 1 {
		t.Errorf("%d endings sent, want 1", calls)
	}
	reason := map[lifecycle.Code]boundary.RetainedReason{
		lifecycle.ResultNotStored: boundary.NotStored, lifecycle.StoreConflict: boundary.Conflicted, lifecycle.RecordExpired: boundary.Expired,
	}[s.complete]
	kept := b.taken()
	if len(kept) != 1 || kept[0].Reason != reason || string(kept[0].Raw.Bytes) != "1" || kept[0].Verdict().State != lifecycle.Ready {
		t.Errorf("the host was handed %v, want the result as %s", kept, reason)
	}
}

// The other direction: every code that a store's answer can mean is the meaning
// of a sentinel, and none of them says of a tool that was not entered that it ran.
func TestSentinels_make_every_code_of_a_store(t *testing.T) {
	t.Parallel()
	made := map[lifecycle.Code]bool{}
	for _, s := range sentinels() {
		for code, x := range map[lifecycle.Code]lifecycle.Execution{s.admit: lifecycle.NotStarted, s.complete: lifecycle.Completed} {
			made[code] = true
			if info, ok := code.Info(); !ok || !slices.Contains(info.Refused, x) {
				t.Errorf("%s becomes %s, which is not told with %s", s.name, code, x)
			}
		}
	}
	for _, code := range []lifecycle.Code{
		lifecycle.RunInactive, lifecycle.RunDeadlineExceeded, lifecycle.DuplicateToolCall, lifecycle.RunBudgetExhausted,
		lifecycle.ToolBudgetExhausted, lifecycle.CapacityExhausted, lifecycle.UnresolvedEffect, lifecycle.StoreUnavailable,
		lifecycle.StoreConflict, lifecycle.RecordExpired, lifecycle.ResultNotStored,
	} {
		if !made[code] {
			t.Errorf("no answer of a store becomes %s", code)
		}
		delete(made, code)
	}
	for code := range made {
		t.Errorf("an answer of a store becomes %s, which is not the store's to say", code)
	}
}

// Of trouble on the way nothing is known but that the message may be sent again.
func TestSentinels_trouble_is_no_answer(t *testing.T) {
	t.Parallel()
	b := newBench(t, fakeBackend().start(t), setup{})
	b.faulty.Answer(fakes.MethodAdmit, 1, io.ErrUnexpectedEOF)
	b.faulty.Answer(fakes.MethodComplete, 1, context.DeadlineExceeded)
	wantReady(t, b.read("c1", says("1")), "seen: 1")
	if admits, completes := b.faulty.Calls(fakes.MethodAdmit), b.faulty.Calls(fakes.MethodComplete); admits != 2 || completes != 2 {
		t.Errorf("%d admissions and %d endings sent, want both twice", admits, completes)
	}
}

func TestRegisteredCodes(t *testing.T) {
	onFake(t, []scenario{
		{"P40_a_registered_code_is_kept", codeKept},
		{"P40_any_other_code_is_a_plain_failure", codeNotRegistered},
		{"P40_of_a_write_the_outcome_stays_unknown", codeOfWrite},
		{"P40_of_a_projector", codeOfProjector},
		{"a_record_with_a_code_of_another_host", codeOfAnotherHost},
	})
	t.Run("registered_wrongly", registeredWrongly)
}

const (
	ownCode = "TABLE_MISSING"
	ownText = "There is no such table. <Look> & ask again."
)

func ownCodes() setup {
	return setup{config: boundary.Config{Codes: map[lifecycle.Code]string{ownCode: ownText}}}
}

// wantOwn checks an ending with the registered code, stored and told.
func (b *bench) wantOwn(id string, got boundary.Result) {
	b.t.Helper()
	wantFailed(b.t, got, ownCode, lifecycle.Completed)
	want := `{"error":{"code":"TABLE_MISSING","message":"There is no such table. \u003cLook\u003e \u0026 ask again.","ran":"yes"}}`
	if got.Outcome.Text() != want {
		b.t.Errorf("text %s, want %s", got.Outcome.Text(), want)
	}
	if rec := b.record(id); rec.Code != ownCode || rec.Execution != lifecycle.Completed || rec.State != lifecycle.Error {
		b.t.Errorf("record %s %s %s, want ERROR with the code, completed", rec.State, rec.Code, rec.Execution)
	}
	again, err := b.run.Lookup(b.t.Context(), named(id))
	if err != nil || again.Text() != want {
		b.t.Errorf("looked up %s, %v; want %s", again.Text(), err, want)
	}
}

func codeKept(t *testing.T, d *deck) {
	b := newBench(t, d, ownCodes())
	b.wantOwn("c1", b.read("c1", fails(boundary.Coded(ownCode, nil))))
	b.wantOwn("c2", b.read("c2", fails(fmt.Errorf("host: %w", boundary.Coded(ownCode, errors.New("x"))))))
	b.wantOwn("c3", b.read("c3", fails(errors.Join(errors.New("x"), boundary.Coded(ownCode, nil)))))
	b.wantOwn("c4", b.read("c4", fails(boundary.NotApplied(ownCode, nil))))
	b.wantOwn("c5", b.write("c5", fails(boundary.NotApplied(ownCode, nil))))
}

func codeNotRegistered(t *testing.T, d *deck) {
	b := newBench(t, d, ownCodes())
	for i, code := range []lifecycle.Code{"", "OTHER", "table_missing", "TABLE_MISSING ", lifecycle.StoreUnavailable, lifecycle.Unauthorized, lifecycle.Suspended, marker} {
		wantFailed(t, b.read(fmt.Sprintf("c%d", i), fails(boundary.Coded(code, nil))), lifecycle.ToolExecutionFailed, lifecycle.Completed)
	}
}

func codeOfWrite(t *testing.T, d *deck) {
	b := newBench(t, d, ownCodes())
	wantFailed(t, b.write("c1", fails(boundary.Coded(ownCode, nil))), lifecycle.OutcomeUnknown, lifecycle.Unknown)
}

func codeOfProjector(t *testing.T, d *deck) {
	b := newBench(t, d, ownCodes())
	project := func(id string, err error) boundary.Result {
		return b.Invoke(t.Context(), b.run, b.envelope(id), boundary.Action{Executor: says("1"),
			Projector: projector.Func(func(context.Context, projector.Input) (projector.Projection, error) {
				return projector.Projection{}, err
			})})
	}
	b.wantOwn("c1", project("c1", projector.Coded(ownCode, errors.New("x"))))
	if raw := b.record("c1").Raw; string(raw.Bytes) != "1" {
		t.Errorf("raw %v, want it kept", raw)
	}
	for i, code := range []string{"", "OTHER", string(lifecycle.StoreUnavailable), marker} {
		wantFailed(t, project(fmt.Sprintf("d%d", i), projector.Coded(code, nil)), lifecycle.ProjectionFailed, lifecycle.Completed)
	}
}

// codeOfAnotherHost: a process without the code reads the record's code and says
// the plain failure's text.
func codeOfAnotherHost(t *testing.T, d *deck) {
	b := newBench(t, d, ownCodes())
	b.read("c1", fails(boundary.Coded(ownCode, nil)))
	other := b.joined(boundary.Config{})
	got, err := other.run.Lookup(t.Context(), named("c1"))
	info, _ := lifecycle.ToolExecutionFailed.Info()
	if want := `{"error":{"code":"TABLE_MISSING","message":"` + info.Message + `","ran":"yes"}}`; err != nil || got.Text() != want {
		t.Errorf("looked up %s, %v; want %s", got.Text(), err, want)
	}
}

func registeredWrongly(t *testing.T) {
	t.Parallel()
	for name, codes := range map[string]map[lifecycle.Code]string{
		"built_in": {lifecycle.Unauthorized: "x"}, "lower_case": {"table": "x"}, "empty": {"": "x"}, "no_text": {"TABLE": ""},
		"long_text": {"TABLE": strings.Repeat("x", lifecycle.MaxMessage+1)}, "long": {lifecycle.Code(strings.Repeat("A", 65)): "x"},
	} {
		_, err := boundary.New(boundary.Config{Store: fakes.NewStore(fakes.NewClock()), Authorizer: boundary.AllowAll{}, Codes: codes})
		var config *boundary.ConfigError
		if !errors.As(err, &config) {
			t.Errorf("%s: %v, want a *ConfigError", name, err)
		}
	}
}
