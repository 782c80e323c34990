package boundary

import (
	"context"
	stdjson "encoding/json"
	"errors"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Args makes an [Executor] of a function with typed arguments. They are decoded
// strictly, in preflight: an unknown or repeated member, a wrong type or invalid
// UTF-8 is INVALID_INPUT and costs nothing. Member names match case exactly.
// Numbers keep their digits: one that does not fit its Go type is refused, and
// into a json.Number (of encoding/json) or an any it comes as a json.Number.
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
		return json.MarshalWrite(raw, out, json.Deterministic(true), json.WithMarshalers(json.MarshalToFunc(writeNumber)))
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
	err := json.Unmarshal(arguments, &in, json.RejectUnknownMembers(true), json.WithUnmarshalers(json.JoinUnmarshalers(
		json.UnmarshalFromFunc(readNumber), json.UnmarshalFromFunc(readAny))))
	return in, err
}

// readNumber takes a number as it is spelled. Without it a json.Number takes
// strings only.
func readNumber(d *jsontext.Decoder, n *stdjson.Number) error {
	switch d.PeekKind() {
	case '0', 'n':
	default:
		return errNoNumber
	}
	value, err := d.ReadValue()
	if *n = stdjson.Number(value); value.Kind() == 'n' {
		*n = ""
	}
	return err
}

// readAny keeps the digits of a number whose type nobody named; a float64 would
// lose them above 2^53 without a word.
func readAny(d *jsontext.Decoder, v *any) error {
	if d.PeekKind() != '0' {
		return errors.ErrUnsupported // anything else is decoded as usual
	}
	value, err := d.ReadValue()
	*v = stdjson.Number(value)
	return err
}

// writeNumber writes a json.Number as the number that it is.
func writeNumber(e *jsontext.Encoder, n stdjson.Number) error {
	if value := jsontext.Value(n); value.Kind() == '0' {
		return e.WriteValue(value)
	}
	return errNoNumber
}

var errNoNumber = errors.New("boundary: not a JSON number")
