package boundary

import (
	"context"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
)

// report tells log and observer of one call, once. Nothing else in the package
// logs calls.
func (c *call) report(ctx context.Context, o Outcome, failed *Error) {
	e := Event{
		Kind: EventReady, Time: c.b.now(), Identity: c.identityForHost(), Seq: c.admitted.Seq, Tool: c.toolForHost(),
		Code: o.Code(), Execution: o.Execution(), Effect: c.effect, Evidence: o.Evidence(),
		InputBytes: len(c.env.Input), RawBytes: max(c.rawBytes, o.reference.Bytes), TextBytes: len(o.Text()), Took: c.took, Findings: c.cited,
	}
	switch {
	case failed != nil && c.admitted.Seq == 0:
		e.Kind = EventRefused
	case failed != nil:
		e.Kind = EventFailed
	}
	c.b.events.put(ctx, e)
	c.b.logEvent(e, failed)
}

// toolForHost leaves a malformed name out.
func (c *call) toolForHost() string {
	if canonical.CheckToolName(c.env.Tool) != nil {
		return ""
	}
	return c.env.Tool
}

// logEvent writes one line. Its fields are those of the event; of an error only
// the operation and what our own errors say, see [Error].
func (b *ToolBoundary) logEvent(e Event, failed *Error) {
	entry := b.log.Check(levelOf(e), "tool call "+string(e.Kind))
	if entry == nil {
		return
	}
	fields := []zap.Field{
		zap.String("run_id", string(e.Identity.Run)),
		zap.String("turn", string(e.Identity.Call.Turn)),
		zap.String("tool_call_id", string(e.Identity.Call.ID)),
		zap.Int64("seq", e.Seq),
		zap.String("tool", e.Tool),
		zap.String("effect", string(e.Effect)),
		zap.String("ran", e.Execution.Ran()),
		zap.String("evidence_status", string(e.Evidence)),
		zap.Int("input_bytes", e.InputBytes),
		zap.Int64("raw_bytes", e.RawBytes),
		zap.Int("text_bytes", e.TextBytes),
		zap.Duration("admit", e.Took.Admit),
		zap.Duration("execute", e.Took.Execute),
		zap.Duration("project", e.Took.Project),
		zap.Duration("complete", e.Took.Complete),
	}
	if e.Reason != "" {
		fields = append(fields, zap.String("reason", string(e.Reason)))
	}
	if failed != nil {
		fields = append(fields, zap.String("code", string(e.Code)), zap.String("op", failed.Op), zap.String("detail", ownText(failed.cause)))
	}
	entry.Write(fields...)
}

// levelOf: debug for READY; info for what the model must mend; warn for tools and
// projectors that failed; error for trouble with the store and unknown outcomes.
func levelOf(e Event) zapcore.Level {
	switch e.Kind {
	case EventReady:
		return zapcore.DebugLevel
	case EventRetained:
		return zapcore.ErrorLevel
	}
	switch e.Code {
	case lifecycle.StoreUnavailable, lifecycle.StoreConflict, lifecycle.ResultNotStored, lifecycle.RecordExpired,
		lifecycle.OutcomeUnknown, lifecycle.UnresolvedEffect, lifecycle.Orphaned:
		return zapcore.ErrorLevel
	}
	if e.Kind == EventFailed {
		return zapcore.WarnLevel
	}
	return zapcore.InfoLevel
}
