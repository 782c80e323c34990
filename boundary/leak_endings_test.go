package boundary_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/fakes"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/projector"
)

func executionRows() []leakRow {
	failed := reported{lifecycle.ToolExecutionFailed, lifecycle.Completed, true}
	row := func(name string, r reported, f boundary.ExecutorFunc, changes ...func(*boundary.Envelope, *boundary.Action)) leakRow {
		return leakRow{name: name, reported: r, produce: func(p *probe) (boundary.Result, *body) {
			b := &body{do: f}
			return p.invoke(b, changes...), b
		}}
	}
	returns := func(err error) boundary.ExecutorFunc {
		return func(_ context.Context, in boundary.Input, raw io.Writer) error {
			_, _ = raw.Write(in.Arguments)
			return err
		}
	}
	tooLarge := reported{lifecycle.ResultTooLarge, lifecycle.Completed, true}
	small := func(_ *boundary.Envelope, a *boundary.Action) { a.MaxRawBytes = 8 }
	rows := []leakRow{
		also("T28_", row("error", failed, returns(driverError()))),
		row("hostile error", failed, returns(hostile{})),
		row("nil pointer as an error", failed, returns((*boundary.ToolError)(nil))),
		also("T29_", row("panic", failed, func(context.Context, boundary.Input, io.Writer) error { panic(marker) })),
		row("panic with an error", failed, func(context.Context, boundary.Input, io.Writer) error { panic(driverError()) }),
		row("runtime panic", failed, func(_ context.Context, in boundary.Input, _ io.Writer) error {
			return errors.New(string(in.Arguments[len(in.Arguments)])) // out of range
		}),
		row("not applied", failed, returns(boundary.NotApplied("", driverError())), asWrite),
		row("joined", failed, returns(errors.Join(ownTypes()...))),
		row("too much", tooLarge, leaking().do, small),
		row("too much and an error", tooLarge, func(_ context.Context, _ boundary.Input, raw io.Writer) error {
			_, err := io.WriteString(raw, dsn)
			return errors.Join(err, driverError())
		}, small),
		row("a write of too much", tooLarge, func(_ context.Context, _ boundary.Input, raw io.Writer) error {
			_, _ = io.WriteString(raw, dsn)
			return nil
		}, small, asWrite),
		row("timeout obeyed", reported{lifecycle.ToolTimeout, lifecycle.Completed, true},
			func(ctx context.Context, _ boundary.Input, _ io.Writer) error {
				<-ctx.Done()
				return errors.Join(ctx.Err(), driverError())
			}, shortly),
	}
	for i, own := range ownTypes() {
		rows = append(rows, row(fmt.Sprintf("own type %d", i), failed, returns(own)))
	}
	return append(rows, leakRow{name: "timeout ignored", reported: reported{lifecycle.ToolTimeout, lifecycle.Unknown, true},
		produce: func(p *probe) (boundary.Result, *body) {
			h := holds(p.t, dsn)
			return p.leftBehind(h, p.invoke(h, shortly)), &h.body
		}})
}

func also(scenarios string, row leakRow) leakRow {
	row.proves = scenarios
	return row
}

func shortly(_ *boundary.Envelope, a *boundary.Action) { a.Timeout = time.Millisecond }

// leftBehind lets a body go whose call is over, and waits for what it brings.
func (p *probe) leftBehind(h *held, r boundary.Result) boundary.Result {
	h.release()
	<-p.handed
	return r
}

func cancelRows() []leakRow {
	gone := func(p *probe) (context.Context, func()) {
		ctx, cancel := context.WithCancelCause(p.t.Context())
		return ctx, func() { cancel(driverError()) }
	}
	return []leakRow{
		{name: "before", reported: reported{lifecycle.Cancelled, lifecycle.NotStarted, false},
			produce: func(p *probe) (boundary.Result, *body) {
				ctx, cancel := gone(p)
				cancel()
				b := leaking()
				return p.invokeIn(ctx, b), b
			}},
		{name: "while admitted", reported: reported{lifecycle.Cancelled, lifecycle.NotStarted, true},
			produce: func(p *probe) (boundary.Result, *body) {
				b := leaking()
				return p.leave(b), b
			}},
		{name: "obeyed", reported: reported{lifecycle.Cancelled, lifecycle.Completed, true},
			produce: func(p *probe) (boundary.Result, *body) {
				ctx, cancel := gone(p)
				b := &body{do: func(ctx context.Context, _ boundary.Input, _ io.Writer) error {
					cancel()
					<-ctx.Done()
					return context.Cause(ctx)
				}}
				return p.invokeIn(ctx, b), b
			}},
		{name: "ignored", reported: reported{lifecycle.Cancelled, lifecycle.Unknown, true},
			produce: func(p *probe) (boundary.Result, *body) {
				ctx, cancel := gone(p)
				h := holds(p.t, dsn)
				go func() { <-h.in; cancel() }()
				return p.leftBehind(h, p.invokeIn(ctx, h)), &h.body
			}},
	}
}

// unknownRows are writes of which nobody knows.
func unknownRows() []leakRow {
	stored := reported{lifecycle.OutcomeUnknown, lifecycle.Unknown, true}
	row := func(name string, r reported, f boundary.ExecutorFunc, faults ...func(*fakes.Faulty)) leakRow {
		return leakRow{name: name, reported: r, produce: func(p *probe) (boundary.Result, *body) {
			for _, fault := range faults {
				fault(p.faulty)
			}
			b := &body{do: f}
			return p.invoke(b, asWrite), b
		}}
	}
	return []leakRow{
		row("error", stored, func(context.Context, boundary.Input, io.Writer) error { return driverError() }),
		row("hostile error", stored, func(context.Context, boundary.Input, io.Writer) error { return hostile{} }),
		row("own types", stored, func(context.Context, boundary.Input, io.Writer) error { return errors.Join(ownTypes()[:10]...) }),
		row("panic", stored, func(context.Context, boundary.Input, io.Writer) error { panic(driverError()) }),
		row("and not stored", reported{lifecycle.OutcomeUnknown, lifecycle.Unknown, false},
			func(context.Context, boundary.Input, io.Writer) error { return driverError() },
			func(f *fakes.Faulty) { f.Script(fakes.MethodComplete, fakes.Every, fakes.FailBefore) },
			func(f *fakes.Faulty) { f.Script(fakes.MethodSettle, fakes.Every, fakes.FailBefore) }),
		{name: "left behind", reported: stored, produce: func(p *probe) (boundary.Result, *body) {
			h := holds(p.t, dsn)
			return p.leftBehind(h, p.invoke(h, asWrite, shortly)), &h.body
		}},
	}
}

func projectionRows() []leakRow {
	failed := reported{lifecycle.ProjectionFailed, lifecycle.Completed, true}
	status := reported{lifecycle.InvalidEvidenceStatus, lifecycle.Completed, true}
	row := func(name string, r reported, f projector.Func) leakRow {
		return leakRow{name: name, reported: r, produce: func(p *probe) (boundary.Result, *body) {
			b := leaking()
			return p.invoke(b, projectedBy(f)), b
		}}
	}
	gives := func(out projector.Projection, err error) projector.Func {
		return func(context.Context, projector.Input) (projector.Projection, error) { return out, err }
	}
	found := func(result string) projector.Projection {
		return projector.Projection{Result: []byte(result), Status: evidence.Found}
	}
	fact := evidence.Fact{Subject: evidence.Subject{Kind: marker}, Predicate: marker, Value: strings.Repeat(marker, 99)}
	tooMany := found(marker)
	for range 99 {
		tooMany.Facts = append(tooMany.Facts, evidence.NewFact(evidence.Subject{Kind: marker}, marker, strings.Repeat(marker, 9)))
	}
	badFact, absence := found(marker), found(marker)
	badFact.Facts = []evidence.Fact{fact}
	absence.Status, absence.Coverage.LookedFor = evidence.None, marker
	rows := []leakRow{
		row("error", failed, gives(found(marker), driverError())),
		row("hostile error", failed, gives(found(marker), hostile{})),
		row("panic", failed, func(context.Context, projector.Input) (projector.Projection, error) { panic(marker) }),
		row("coded", failed, gives(found(marker), projector.Coded("NOT_REGISTERED", driverError()))),
		row("not UTF-8", failed, gives(found(marker+"\xff"), nil)),
		row("nothing to show", failed, gives(found(" \n"), nil)),
		row("bad fact", failed, gives(badFact, nil)),
		row("too many facts", failed, gives(tooMany, nil)),
		row("another word", status, gives(projector.Projection{Result: []byte(marker), Status: marker}, nil)),
		row("absence without a place", status, gives(absence, nil)),
		row("agent result too large", reported{lifecycle.ResultTooLarge, lifecycle.Completed, true},
			gives(found(strings.Repeat(marker, 9000)), nil)),
	}
	for i, own := range ownTypes() {
		rows = append(rows, row(fmt.Sprintf("own type %d", i), failed, gives(found(marker), own)))
	}
	return rows
}

// storedRows are endings that the store does not take as they are.
func storedRows() []leakRow {
	row := func(name string, r reported, f func(*probe), e boundary.ExecutorFunc, changes ...func(*boundary.Envelope, *boundary.Action)) leakRow {
		return leakRow{name: name, reported: r, produce: func(p *probe) (boundary.Result, *body) {
			b := &body{do: func(ctx context.Context, in boundary.Input, raw io.Writer) error {
				f(p)
				return e(ctx, in, raw)
			}}
			return p.invoke(b, changes...), b
		}}
	}
	not := reported{lifecycle.ResultNotStored, lifecycle.Completed, false}
	down := func(m fakes.Method, fault fakes.Fault) func(*probe) {
		return func(p *probe) { p.faulty.Script(m, fakes.Every, fault) }
	}
	failing := func(context.Context, boundary.Input, io.Writer) error { return driverError() }
	return []leakRow{
		row("down", not, func(p *probe) {
			down(fakes.MethodComplete, fakes.FailBefore)(p)
			down(fakes.MethodSettle, fakes.FailBefore)(p)
		}, leaking().do),
		row("answer lost", not, down(fakes.MethodComplete, fakes.FailAfter), leaking().do),
		row("driver error", not, func(p *probe) { p.faulty.Answer(fakes.MethodComplete, fakes.Every, driverError()) }, leaking().do),
		row("a write, down", not, func(p *probe) {
			down(fakes.MethodSave, fakes.FailBefore)(p)
			down(fakes.MethodComplete, fakes.FailBefore)(p)
		}, leaking().do, asWrite),
		row("failed and down", not, down(fakes.MethodComplete, fakes.FailBefore), failing),
		row("swept", reported{lifecycle.StoreConflict, lifecycle.Completed, false}, sweeping, leaking().do),
		row("swept before save", reported{lifecycle.StoreConflict, lifecycle.Completed, false}, sweeping, leaking().do, asWrite),
		row("unknown and swept", reported{lifecycle.StoreConflict, lifecycle.Unknown, false}, sweeping, failing, asWrite),
		row("expired", reported{lifecycle.RecordExpired, lifecycle.Completed, false},
			func(p *probe) { p.deck.advance(p.t, 25*time.Hour) }, leaking().do),
		row("expired before save", reported{lifecycle.RecordExpired, lifecycle.Completed, false},
			func(p *probe) { p.deck.advance(p.t, 25*time.Hour) }, leaking().do, asWrite),
	}
}

// sweeping lets another process end every open call.
func sweeping(p *probe) {
	p.deck.advance(p.t, 10*time.Minute)
	if swept, err := p.deck.Sweep(p.t.Context(), canonical.Sweeping{Run: p.run.Key(), Max: 9}); err != nil || len(swept) != 1 {
		p.t.Errorf("Sweep: %v, %v, want one call ended", swept, err)
	}
}

// abandonedRows are calls that nobody ended.
func abandonedRows() []leakRow {
	r := reported{lifecycle.Orphaned, lifecycle.Unknown, true}
	return []leakRow{
		{name: "looked up", reported: r, looked: true, produce: func(p *probe) (boundary.Result, *body) {
			b := &body{do: func(_ context.Context, _ boundary.Input, raw io.Writer) error {
				sweeping(p)
				_, err := raw.Write(bytes.Repeat([]byte(marker), 9))
				return err
			}}
			wantFailed(p.t, p.invoke(b), lifecycle.StoreConflict, lifecycle.Completed)
			return p.lookup(), b
		}},
		{name: "found so when delivered again", reported: r, produce: func(p *probe) (boundary.Result, *body) {
			p.faulty.Script(fakes.MethodAdmit, 1, fakes.FailAfter)
			p.faulty.Script(fakes.MethodAdmit, 2, fakes.HoldBefore)
			b := leaking()
			done := make(chan boundary.Result, 1)
			go func() { done <- p.invoke(b) }()
			<-p.faulty.Reached(fakes.MethodAdmit, 2)
			sweeping(p)
			p.faulty.Release(fakes.MethodAdmit, 2)
			return <-done, b
		}},
	}
}
