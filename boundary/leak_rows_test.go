package boundary_test

import (
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

// reported is one way in which a code reaches somebody.
type reported struct {
	code     lifecycle.Code
	ran      lifecycle.Execution
	recorded bool // the record has it
}

// leakRow brings about one ending of call c1, with the marker wherever a host, a
// tool, a model or a store can put text.
type leakRow struct {
	name   string
	proves string // scenarios beside T60 and P49, as "T28_"
	reported
	spec    boundary.RunSpec
	config  func(*boundary.Config)
	looked  bool // only Lookup gives it
	produce func(*probe) (boundary.Result, *body)
}

// reserved codes are reported by parts that do not exist yet: suspending comes
// with the framework adapters. The part that first reports one takes it off this
// list and gives it a row.
var reserved = map[lifecycle.Code]bool{lifecycle.Suspended: true}

const (
	dsn        = "postgres://admin:" + marker + "@db.internal:5432/prod"
	secretArgs = `{"` + marker + `":["` + marker + `",{"q":"` + marker + `"}]}`
)

// leaking is a result, and the error of a driver, with the marker in it.
func leaking() *body { return says("rows of " + dsn + ": " + marker) }

func driverError() error { return fmt.Errorf("dial %s: %w", dsn, errors.New(marker)) }

// ownTypes are errors of the library's exported types with text that a tool put
// there.
func ownTypes() []error {
	return []error{
		&canonical.RefusedError{Op: marker, Err: errors.New(marker)}, &canonical.NameError{Field: marker, Reason: marker},
		&canonical.RequestError{Reason: marker}, &canonical.ArgumentError{Op: marker, Field: marker, Reason: marker},
		&canonical.LimitsError{Problems: []string{marker}}, &lifecycle.CompletionError{Field: marker, Reason: marker},
		&projector.Error{Kind: marker, Field: marker, Code: marker}, &boundary.SchemaError{Path: marker, Rule: marker},
		&boundary.Error{Op: marker, Code: marker}, &evidence.Error{Field: marker, Reason: marker},
		&boundary.ConfigError{Problems: []error{driverError()}}, &lifecycle.RegistryError{Problems: []string{marker}},
		boundary.Coded(marker, driverError()), boundary.NotApplied("UNHEARD_OF", driverError()),
	}
}

// hostile is an error whose every method panics.
type hostile struct{}

func (hostile) Error() string { panic(marker) }
func (hostile) Unwrap() error { panic(marker) }
func (hostile) Is(error) bool { panic(marker) }
func (hostile) As(any) bool   { panic(marker) }

// invoke sends c1 with the marker in its arguments.
func (p *probe) invoke(e boundary.Executor, changes ...func(*boundary.Envelope, *boundary.Action)) boundary.Result {
	return p.invokeIn(p.t.Context(), e, changes...)
}

func (p *probe) invokeIn(ctx context.Context, e boundary.Executor, changes ...func(*boundary.Envelope, *boundary.Action)) boundary.Result {
	env, action := p.envelope("c1"), boundary.Action{Executor: e, Projector: plain(), Effect: canonical.EffectRead}
	env.Input = []byte(secretArgs)
	for _, change := range changes {
		change(&env, &action)
	}
	return p.Invoke(ctx, p.run, env, action)
}

// plain is a projector that shows nothing of the raw result.
func plain() projector.Projector {
	return projector.Func(func(context.Context, projector.Input) (projector.Projection, error) {
		return projector.Projection{
			Result: []byte("one row"), Status: evidence.Found,
			Facts: []evidence.Fact{evidence.NewFact(evidence.Subject{Kind: "table"}, "rows", "1")},
		}, nil
	})
}

func asWrite(env *boundary.Envelope, a *boundary.Action) {
	env.ReadOnly, a.Effect = false, canonical.EffectWrite
}

func withInput(input string) func(*boundary.Envelope, *boundary.Action) {
	return func(env *boundary.Envelope, _ *boundary.Action) { env.Input = []byte(input) }
}

func projectedBy(f projector.Func) func(*boundary.Envelope, *boundary.Action) {
	return func(_ *boundary.Envelope, a *boundary.Action) { a.Projector = f }
}

// dispatch sends c1 through a toolset of one tool, which is changed before.
func (p *probe) dispatch(e boundary.Executor, name, arguments string, change func(*boundary.Tool)) boundary.Result {
	p.t.Helper()
	tool := boundary.Tool{Name: someTool, Effect: canonical.EffectRead, Executor: e, Projector: seen()}
	if change != nil {
		change(&tool)
	}
	set, err := boundary.NewToolset(p.ToolBoundary, tool)
	if err != nil {
		p.t.Fatalf("NewToolset: %v", err)
	}
	return set.Dispatch(p.t.Context(), p.run, boundary.Call{ID: "c1", Name: name, Arguments: []byte(arguments)})[0]
}

// checked is a body with a check of its own.
type checked struct {
	*body
	check func([]byte) error
}

// CheckArguments implements [boundary.ArgumentChecker].
func (c checked) CheckArguments(arguments []byte) error { return c.check(arguments) }

func leakRows() []leakRow {
	var rows []leakRow
	for _, list := range [][]leakRow{
		nameRows(), inputRows(), permissionRows(), runRows(), storeRows(), executionRows(), cancelRows(),
		unknownRows(), projectionRows(), storedRows(), abandonedRows(),
	} {
		rows = append(rows, list...)
	}
	return rows
}

func nameRows() []leakRow {
	id := reported{lifecycle.InvalidToolCallID, lifecycle.NotStarted, false}
	change := func(name string, r reported, f func(*boundary.Envelope)) leakRow {
		return leakRow{name: name, reported: r, produce: func(p *probe) (boundary.Result, *body) {
			b := leaking()
			return p.invoke(b, func(env *boundary.Envelope, _ *boundary.Action) { f(env) }), b
		}}
	}
	return []leakRow{
		change("blank behind", id, func(e *boundary.Envelope) { e.ToolCallID = marker + " " }),
		change("line feed", id, func(e *boundary.Envelope) { e.ToolCallID = marker + "\n{\"level\":\"error\"}" }),
		change("too long", id, func(e *boundary.Envelope) { e.ToolCallID = canonical.ToolCallID(strings.Repeat(marker, 99)) }),
		change("turn", id, func(e *boundary.Envelope) { e.Turn = marker + ":" }),
		change("other run", reported{lifecycle.RunMismatch, lifecycle.NotStarted, false},
			func(e *boundary.Envelope) { e.RunID = marker }),
		change("malformed run", reported{lifecycle.RunMismatch, lifecycle.NotStarted, false},
			func(e *boundary.Envelope) { e.RunID = marker + "\x00" }),
		change("malformed name", reported{lifecycle.UnknownTool, lifecycle.NotStarted, false},
			func(e *boundary.Envelope) { e.Tool = marker + " {" }),
		{name: "no such tool", reported: reported{lifecycle.UnknownTool, lifecycle.NotStarted, false},
			produce: func(p *probe) (boundary.Result, *body) {
				b := leaking()
				return p.dispatch(b, "drop "+marker, secretArgs, nil), b
			}},
		{name: "no executor", reported: reported{lifecycle.UnknownTool, lifecycle.NotStarted, false},
			produce: func(p *probe) (boundary.Result, *body) { return p.invoke(nil), &body{} }},
	}
}

func inputRows() []leakRow {
	invalid := reported{lifecycle.InvalidInput, lifecycle.NotStarted, false}
	input := func(name, text string) leakRow {
		return leakRow{name: name, reported: invalid, produce: func(p *probe) (boundary.Result, *body) {
			b := leaking()
			return p.invoke(b, withInput(text)), b
		}}
	}
	check := func(name string, f func([]byte) error) leakRow {
		return leakRow{name: name, reported: invalid, produce: func(p *probe) (boundary.Result, *body) {
			b := leaking()
			return p.invoke(checked{b, f}), b
		}}
	}
	schema := func(name, schema, text string) leakRow {
		return leakRow{name: name, reported: invalid, produce: func(p *probe) (boundary.Result, *body) {
			b := leaking()
			return p.dispatch(b, someTool, text, func(t *boundary.Tool) { t.Schema = []byte(schema) }), b
		}}
	}
	rows := []leakRow{
		{name: "too large", reported: reported{lifecycle.RequestTooLarge, lifecycle.NotStarted, false},
			produce: func(p *probe) (boundary.Result, *body) {
				b := leaking()
				return p.invoke(b, withInput(`{"q":"`+strings.Repeat(marker, 9000)+`"}`)), b
			}},
		input("cut", `{"`+marker+`":"`+marker),
		input("two values", secretArgs+secretArgs), input("member twice", `{"`+marker+`":1,"`+marker+`":2}`),
		input("list", `["`+marker+`"]`), input("not UTF-8", `{"q":"`+marker+"\xff\"}"), input("bare word", marker),
		input("lone surrogate", `{"`+marker+`":"\ud800"}`),
		check("check fails", func([]byte) error { return driverError() }),
		check("check fails with own types", func([]byte) error { return errors.Join(ownTypes()...) }),
		check("check fails with a hostile error", func([]byte) error { return hostile{} }),
		check("check panics", func([]byte) error { panic(marker) }),
		schema("schema closed", `{"additionalProperties":false}`, secretArgs),
		schema("schema of a value", `{"additionalProperties":{"type":"integer"}}`, secretArgs),
		schema("schema of names", `{"propertyNames":{"maxLength":3}}`, secretArgs),
		schema("schema with enum", `{"properties":{"q":{"enum":["a"]}}}`, `{"q":"`+marker+`"}`),
		schema("schema deep", `{"patternProperties":{".":{"items":{"patternProperties":{".":{"const":1}}}}}}`, `{"a":[{"`+marker+`":0}]}`),
		{name: "typed arguments", reported: invalid, produce: func(p *probe) (boundary.Result, *body) {
			typed := boundary.Args(func(context.Context, struct{ Q string }, io.Writer) error { return nil })
			return p.invoke(typed), &body{}
		}},
	}
	for i, own := range ownTypes() {
		rows = append(rows, check(fmt.Sprintf("check fails with own type %d", i), func([]byte) error { return own }))
	}
	return rows
}

func permissionRows() []leakRow {
	refused := reported{lifecycle.Unauthorized, lifecycle.NotStarted, false}
	asks := func(name string, f boundary.AuthorizerFunc) leakRow {
		return leakRow{name: name, reported: refused, config: func(c *boundary.Config) { c.Authorizer = f },
			produce: func(p *probe) (boundary.Result, *body) {
				b := leaking()
				return p.dispatch(b, someTool, secretArgs, nil), b
			}}
	}
	rows := []leakRow{
		{name: "cites what was not served", reported: reported{lifecycle.ReferenceRefused, lifecycle.NotStarted, false},
			config: func(c *boundary.Config) { c.Findings = true },
			produce: func(p *probe) (boundary.Result, *body) {
				b := leaking()
				return p.dispatch(b, someTool, `{"_findings":{"previous":[{"toolCallId":"`+marker+`","line":"`+marker+`"}]}}`, nil), b
			}},
		{name: "zero envelope", reported: refused, produce: func(p *probe) (boundary.Result, *body) {
			b := leaking()
			return p.invoke(b, func(env *boundary.Envelope, _ *boundary.Action) { env.Authorized = false }), b
		}},
		asks("refuses", func(context.Context, boundary.AuthorizationRequest) (boundary.Grant, error) {
			return boundary.Grant{}, driverError()
		}),
		asks("hostile", func(context.Context, boundary.AuthorizationRequest) (boundary.Grant, error) {
			return boundary.Grant{}, hostile{}
		}),
		asks("own types", func(context.Context, boundary.AuthorizationRequest) (boundary.Grant, error) {
			return boundary.Grant{}, errors.Join(ownTypes()...)
		}),
		asks("panics", func(context.Context, boundary.AuthorizationRequest) (boundary.Grant, error) { panic(marker) }),
		asks("grants another", func(context.Context, boundary.AuthorizationRequest) (boundary.Grant, error) {
			return boundary.Grant{Tool: marker, SHA256: marker}, nil
		}),
		{name: "reads only", reported: reported{lifecycle.NotReadOnly, lifecycle.NotStarted, false},
			config: func(c *boundary.Config) { c.Effects = boundary.EffectPolicy{} },
			produce: func(p *probe) (boundary.Result, *body) {
				b := leaking()
				return p.invoke(b, asWrite), b
			}},
	}
	return rows
}

func runRows() []leakRow {
	inactive := reported{lifecycle.RunInactive, lifecycle.NotStarted, false}
	late := reported{lifecycle.RunDeadlineExceeded, lifecycle.NotStarted, false}
	before := func(name string, r reported, spec boundary.RunSpec, f func(*probe)) leakRow {
		return leakRow{name: name, reported: r, spec: spec, produce: func(p *probe) (boundary.Result, *body) {
			f(p)
			b := leaking()
			return p.invoke(b), b
		}}
	}
	used := func(p *probe) { wantReady(p.t, p.read("earlier", says("1")), "seen: 1") }
	return []leakRow{
		before("closed here", inactive, boundary.RunSpec{}, func(p *probe) { _ = p.run.Close(p.t.Context()) }),
		before("closed elsewhere", inactive, boundary.RunSpec{}, func(p *probe) { _ = p.joined(boundary.Config{}).run.Close(p.t.Context()) }),
		before("shut down", inactive, boundary.RunSpec{}, func(p *probe) { _ = p.Shutdown(p.t.Context()) }),
		before("of another boundary", inactive, boundary.RunSpec{}, func(p *probe) { p.run = p.joined(boundary.Config{}).run }),
		before("deadline here", late, boundary.RunSpec{}, func(p *probe) { p.deck.advance(p.t, time.Hour) }),
		before("calls of the run", reported{lifecycle.RunBudgetExhausted, lifecycle.NotStarted, false},
			boundary.RunSpec{Budget: canonical.Budget{Calls: 1}}, used),
		before("calls of the tool", reported{lifecycle.ToolBudgetExhausted, lifecycle.NotStarted, false},
			boundary.RunSpec{Budget: canonical.Budget{PerTool: 1}}, used),
		before("room", reported{lifecycle.CapacityExhausted, lifecycle.NotStarted, false},
			boundary.RunSpec{Budget: canonical.Budget{Bytes: 1}}, func(*probe) {}),
		before("unknown write before", reported{lifecycle.UnresolvedEffect, lifecycle.NotStarted, false},
			boundary.RunSpec{}, func(p *probe) { p.write("earlier", fails(driverError())) }),
		before("id used before", reported{lifecycle.DuplicateToolCall, lifecycle.NotStarted, false},
			boundary.RunSpec{}, func(p *probe) { wantReady(p.t, p.read("c1", says("1")), "seen: 1") }),
		{name: "deadline at the store", reported: late, spec: boundary.RunSpec{},
			config: func(c *boundary.Config) { c.Now = fakes.Epoch }, // stands still
			produce: func(p *probe) (boundary.Result, *body) {
				p.deck.advance(p.t, time.Hour)
				b := leaking()
				return p.invoke(b), b
			}},
	}
}

// storeRows are admissions that the store does not take.
func storeRows() []leakRow {
	r := reported{lifecycle.StoreUnavailable, lifecycle.NotStarted, false}
	fault := func(name string, script func(*fakes.Faulty)) leakRow {
		return leakRow{name: name, reported: r, produce: func(p *probe) (boundary.Result, *body) {
			script(p.faulty)
			b := leaking()
			return p.invoke(b), b
		}}
	}
	answer := func(name string, err error) leakRow {
		return fault(name, func(f *fakes.Faulty) { f.Answer(fakes.MethodAdmit, fakes.Every, err) })
	}
	return []leakRow{
		fault("down", func(f *fakes.Faulty) { f.Script(fakes.MethodAdmit, fakes.Every, fakes.FailBefore) }),
		answer("driver error", driverError()),
		answer("newer version", &canonical.RefusedError{Op: "admit", Err: canonical.ErrNewerVersion}),
		answer("foreign key", fmt.Errorf("%s: %w", dsn, &canonical.RefusedError{Op: "admit", Err: canonical.ErrForeign})),
		{name: "cancelled and not closed", reported: r, produce: func(p *probe) (boundary.Result, *body) {
			p.faulty.Script(fakes.MethodComplete, fakes.Every, fakes.FailBefore)
			b := leaking()
			return p.leave(b), b
		}},
		{name: "answer lost for good", reported: reported{lifecycle.StoreUnavailable, lifecycle.NotStarted, true},
			looked: true, produce: func(p *probe) (boundary.Result, *body) {
				p.faulty.Script(fakes.MethodAdmit, fakes.Every, fakes.FailAfter)
				b := leaking()
				wantFailed(p.t, p.invoke(b), lifecycle.StoreUnavailable, lifecycle.NotStarted)
				_ = p.Shutdown(p.t.Context()) // ends what may have been admitted
				return p.lookup(), b
			}},
	}
}

// lookup is the outcome of c1 as it is stored.
func (p *probe) lookup() boundary.Result {
	p.t.Helper()
	outcome, err := p.run.Lookup(p.t.Context(), named("c1"))
	if err != nil {
		p.t.Fatalf("Lookup: %v", err)
	}
	return boundary.Result{Outcome: outcome}
}

// leave cancels the caller while the admission is on its way, and it lands.
func (p *probe) leave(e boundary.Executor) boundary.Result {
	ctx, cancel := context.WithCancelCause(p.t.Context())
	p.faulty.Script(fakes.MethodAdmit, 1, fakes.HoldAfter)
	done := make(chan boundary.Result, 1)
	go func() { done <- p.invokeIn(ctx, e) }()
	<-p.faulty.Reached(fakes.MethodAdmit, 1)
	cancel(driverError())
	p.faulty.Release(fakes.MethodAdmit, 1)
	return <-done
}
