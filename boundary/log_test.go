package boundary_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/fakes"
	"github.com/toolharness/harness/lifecycle"
)

// wantLevel: debug READY, info refusals that the
// model must mend, warn tools and projectors that failed, error trouble with the
// store and unknown outcomes. Codes of both kinds are told apart by the record.
func wantLevel(row leakRow) zapcore.Level {
	switch row.code {
	case lifecycle.StoreUnavailable, lifecycle.StoreConflict, lifecycle.ResultNotStored, lifecycle.RecordExpired,
		lifecycle.OutcomeUnknown, lifecycle.UnresolvedEffect, lifecycle.Orphaned:
		return zapcore.ErrorLevel
	case lifecycle.ToolExecutionFailed, lifecycle.ToolTimeout, lifecycle.ResultTooLarge, lifecycle.ProjectionFailed,
		lifecycle.InvalidEvidenceStatus:
		return zapcore.WarnLevel
	case lifecycle.Cancelled:
		if row.recorded {
			return zapcore.WarnLevel
		}
	}
	return zapcore.InfoLevel
}

// callLines are the lines about calls, without those about retained results.
func callLines(lines *observer.ObservedLogs) []observer.LoggedEntry {
	return slices.DeleteFunc(lines.All(), func(e observer.LoggedEntry) bool { return e.Message == "tool call retained" })
}

// Every row of the leak test is one line at the level of its code.
func TestLog_levels(t *testing.T) {
	t.Parallel()
	for _, row := range leakRows() {
		if row.looked {
			continue // Lookup is no call
		}
		t.Run(fmt.Sprintf("%s_%s", row.code, row.name), func(t *testing.T) {
			t.Parallel()
			p := newProbe(t, row.spec, row.config)
			row.produce(p)
			var found []observer.LoggedEntry
			for _, line := range callLines(p.lines) {
				if line.ContextMap()["code"] == string(row.code) {
					found = append(found, line)
				}
			}
			if len(found) != 1 {
				t.Fatalf("%d lines with this code, want one: %+v", len(found), found)
			}
			if got, want := found[0].Level, wantLevel(row); got != want {
				t.Errorf("level %s, want %s", got, want)
			}
			for _, line := range p.lines.FilterMessage("tool call retained").All() {
				if line.Level != zapcore.ErrorLevel {
					t.Errorf("a retained result at level %s, want error", line.Level)
				}
			}
		})
	}
}

func TestLog(t *testing.T) {
	onFake(t, []scenario{
		{"one_line_a_call_with_these_fields", lineFields},
		{"malformed_names_are_left_out", lineWithoutNames},
		{"lines_below_the_level_are_not_written", quietLogger},
		{"no_logger", silentLogger},
		{"durations_are_those_of_the_configured_clock", lineDurations},
	})
}

func lineFields(t *testing.T, _ *deck) {
	p := newProbe(t, boundary.RunSpec{}, nil)
	env := p.envelope("c1")
	env.Turn = "t1"
	p.Invoke(t.Context(), p.run, env, reading(says("12345")))
	p.read("c2", fails(errors.New("x")))
	p.Invoke(t.Context(), p.run, env, reading(says("12345")))
	p.faulty.Script(fakes.MethodComplete, fakes.Every, fakes.FailBefore)
	p.read("c4", says("123"))
	message := func(code lifecycle.Code) int64 {
		info, _ := code.Info()
		return int64(len(`{"error":{"code":"","message":"","ran":"yes"}}`) + len(code) + len(info.Message))
	}
	call := map[string]any{
		"run_id": string(p.run.ID()), "turn": "", "tool": someTool, "effect": "read", "ran": "yes", "evidence_status": "ERROR",
		"input_bytes": int64(len(someArgs)), "raw_bytes": int64(0),
		"admit": time.Duration(0), "execute": time.Duration(0), "project": time.Duration(0), "complete": time.Duration(0),
	}
	want := []struct {
		message string
		level   zapcore.Level
		fields  map[string]any
	}{
		{"tool call ready", zapcore.DebugLevel, map[string]any{"turn": "t1", "tool_call_id": "c1", "seq": int64(1),
			"evidence_status": "EVIDENCE_FOUND", "raw_bytes": int64(5), "text_bytes": int64(len("seen: 12345"))}},
		{"tool call failed", zapcore.WarnLevel, map[string]any{"tool_call_id": "c2", "seq": int64(2),
			"text_bytes": message(lifecycle.ToolExecutionFailed), "code": "TOOL_EXECUTION_FAILED", "op": "execute", "detail": ""}},
		{"tool call refused", zapcore.InfoLevel, map[string]any{"turn": "t1", "tool_call_id": "c1", "seq": int64(0), "ran": "no",
			"text_bytes": message(lifecycle.DuplicateToolCall) - 1, "code": "DUPLICATE_TOOL_CALL", "op": "admit",
			"detail": `store: admit "t1:c1": the call name was used before`}},
		{"tool call retained", zapcore.ErrorLevel, map[string]any{"tool_call_id": "c4", "seq": int64(3), "effect": "",
			"evidence_status": "", "input_bytes": int64(0), "raw_bytes": int64(3), "text_bytes": int64(0), "reason": "not_stored"}},
		{"tool call failed", zapcore.ErrorLevel, map[string]any{"tool_call_id": "c4", "seq": int64(3), "raw_bytes": int64(3),
			"text_bytes": message(lifecycle.ResultNotStored), "code": "RESULT_NOT_STORED", "op": "complete", "detail": ""}},
	}
	got := p.lines.All()
	if len(got) != len(want) {
		t.Fatalf("%d lines, want %d: %+v", len(got), len(want), got)
	}
	for i, w := range want {
		fields := maps.Clone(call)
		maps.Copy(fields, w.fields)
		if got[i].Message != w.message || got[i].Level != w.level {
			t.Errorf("line %d is %s %q, want %s %q", i, got[i].Level, got[i].Message, w.level, w.message)
		}
		if have := got[i].ContextMap(); !maps.Equal(have, fields) {
			t.Errorf("line %d has\n%v, want\n%v", i, have, fields)
		}
	}
}

func lineWithoutNames(t *testing.T, _ *deck) {
	p := newProbe(t, boundary.RunSpec{}, nil)
	env := p.envelope("c1\nlevel=error")
	p.Invoke(t.Context(), p.run, env, reading(says("1")))
	env = p.envelope("c1")
	env.Tool = "a tool"
	p.Invoke(t.Context(), p.run, env, reading(says("1")))
	lines := p.lines.All()
	if len(lines) != 2 {
		t.Fatalf("%d lines, want 2", len(lines))
	}
	for i, want := range []map[string]any{
		{"tool_call_id": "", "turn": "", "tool": someTool, "detail": "canonical: tool_call_id: has a byte that is not allowed at byte 2"},
		{"tool_call_id": "c1", "turn": "", "tool": "", "detail": "canonical: tool: has a byte that is not allowed at byte 1"},
	} {
		for field, value := range want {
			if got := lines[i].ContextMap()[field]; got != value {
				t.Errorf("line %d: %s is %q, want %q", i, field, got, value)
			}
		}
	}
}

func quietLogger(t *testing.T, d *deck) {
	core, lines := observer.New(zapcore.WarnLevel)
	b := newBench(t, d, setup{config: boundary.Config{Logger: zap.New(core)}})
	b.read("c1", says("1"))
	b.read("c1", says("1"))
	b.read("c2", fails(errors.New("x")))
	if lines.Len() != 1 || lines.All()[0].Level != zapcore.WarnLevel {
		t.Errorf("lines %+v, want the warning alone", lines.All())
	}
}

func silentLogger(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	wantReady(t, b.read("c1", says("1")), "seen: 1")
	wantFailed(t, b.read("c1", says("1")), lifecycle.DuplicateToolCall, lifecycle.NotStarted)
}

func lineDurations(t *testing.T, _ *deck) {
	p := newProbe(t, boundary.RunSpec{}, nil)
	slow := &body{do: func(_ context.Context, _ boundary.Input, raw io.Writer) error {
		p.deck.advance(t, 250*time.Millisecond)
		_, err := io.WriteString(raw, "1")
		return err
	}}
	wantReady(t, p.read("c1", slow), "seen: 1")
	fields := p.lines.All()[0].ContextMap()
	for field, want := range map[string]time.Duration{"admit": 0, "execute": 250 * time.Millisecond, "project": 0, "complete": 0} {
		if fields[field] != want {
			t.Errorf("%s took %v, want %v", field, fields[field], want)
		}
	}
}
