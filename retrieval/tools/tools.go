package tools

import (
	"context"
	"errors"
	"io"

	"github.com/go-json-experiment/json"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/projector"
	"github.com/toolharness/harness/retrieval"
)

// Config is what the tools are made of.
type Config struct {
	// Reader reads. Its scope is not used: each call reads in the scope of its own
	// run, as one toolset may serve many tenants. Slots and views are shared.
	Reader *retrieval.Reader

	// WholeScope lets a model read other runs of its scope, too.
	WholeScope bool
}

// ErrConfig: there is no reader.
var ErrConfig = errors.New("tools: Config.Reader is missing")

// New is evidence_read and evidence_list, in this order.
func New(c Config) ([]boundary.Tool, error) {
	if c.Reader == nil {
		return nil, ErrConfig
	}
	return []boundary.Tool{
		{
			Name: retrieval.ToolRead, Description: readDescription, Effect: boundary.EffectRead, Schema: []byte(readSchema),
			Executor:  &Executor{name: retrieval.ToolRead, check: checked(readArguments.check), run: c.read, reader: c.Reader},
			Projector: projector.Func(projectText),
		},
		{
			Name: retrieval.ToolList, Description: listDescription, Effect: boundary.EffectRead, Schema: []byte(listSchema),
			Executor:  &Executor{name: retrieval.ToolList, check: checked(listArguments.check), run: c.list, reader: c.Reader},
			Projector: projector.Func(projectPage),
		},
	}, nil
}

// Executor is the body of one of the two tools. Whoever guards the reserved names
// tells it from another tool's by its type, or by [Executor.ReservedName].
type Executor struct {
	name  string
	check func([]byte) error
	run   func(context.Context, *retrieval.Reader, boundary.Input) (any, error)

	reader *retrieval.Reader
}

// ReservedName is the name that this body may be registered under, and no other
// body.
func (e *Executor) ReservedName() string { return e.name }

// CheckArguments refuses what cannot be read, before anything is sent.
func (e *Executor) CheckArguments(arguments []byte) error { return e.check(arguments) }

// Execute reads and writes what it read as JSON: more of it than may fit the
// model's limit, which the projector knows.
func (e *Executor) Execute(ctx context.Context, in boundary.Input, raw io.Writer) error {
	reader, err := e.reader.In(in.Identity.Scope)
	if err != nil {
		return coded(err)
	}
	reply, err := e.run(ctx, reader, in)
	if err != nil {
		return coded(err)
	}
	return json.MarshalWrite(raw, reply, json.Deterministic(true))
}

// ArgumentError says which argument of a model is of no use. It never repeats it.
type ArgumentError struct{ Field, Reason string }

// Error has field and rule.
func (e *ArgumentError) Error() string { return "tools: " + e.Field + ": " + e.Reason }

// checked turns a check of decoded arguments into one of bytes. What they are is
// JSON without duplicate members already; here no unknown member is taken.
func checked[A any](check func(A) error) func([]byte) error {
	return func(arguments []byte) error {
		a, err := decode[A](arguments)
		if err != nil {
			return err
		}
		return check(a)
	}
}

func decode[A any](arguments []byte) (A, error) {
	var a A
	if err := json.Unmarshal(arguments, &a, json.RejectUnknownMembers(true)); err != nil {
		return a, &ArgumentError{Field: "arguments", Reason: "not those of this tool"}
	}
	return a, nil
}

// readable reports whether calls of a run may be read from within another.
func (c Config) readable(in boundary.Input, run canonical.RunID) bool {
	return c.WholeScope || run == in.Identity.Run
}
