package boundary

import (
	"context"
	"io"

	"github.com/go-json-experiment/json"
)

// Args makes an [Executor] of a function with typed arguments. They are decoded
// strictly, in preflight: an unknown or repeated member, a wrong type or invalid
// UTF-8 is INVALID_INPUT and costs nothing. Member names match case exactly.
func Args[In any](f func(context.Context, In, io.Writer) error) Executor {
	return argsExecutor[In]{f}
}

// JSON is [Args] for a function whose result is a value; it is written as JSON,
// with map keys sorted.
func JSON[In, Out any](f func(context.Context, In) (Out, error)) Executor {
	return Args(func(ctx context.Context, in In, raw io.Writer) error {
		out, err := f(ctx, in)
		if err != nil {
			return err
		}
		return json.MarshalWrite(raw, out, json.Deterministic(true))
	})
}

type argsExecutor[In any] struct {
	f func(context.Context, In, io.Writer) error
}

// CheckArguments decodes into a value that is thrown away.
func (e argsExecutor[In]) CheckArguments(arguments []byte) error {
	_, err := e.decode(arguments)
	return err
}

// Execute decodes once more, since nothing is kept between the two.
func (e argsExecutor[In]) Execute(ctx context.Context, in Input, raw io.Writer) error {
	arguments, err := e.decode(in.Arguments)
	if err != nil {
		return err
	}
	return e.f(ctx, arguments, raw)
}

func (e argsExecutor[In]) decode(arguments []byte) (In, error) {
	var in In
	err := json.Unmarshal(arguments, &in, json.RejectUnknownMembers(true))
	return in, err
}
