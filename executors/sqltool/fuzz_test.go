package sqltool

import (
	"context"
	"encoding/json"
	"io"
	"math/big"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolharness/harness/boundary"
)

// asked notes what a checker was shown.
type asked struct{ statements []string }

func (a *asked) CheckStatement(statement string) error {
	a.statements = append(a.statements, statement)
	return nil
}

// FuzzArguments: whatever a model sends, a statement that passes holds no second
// one, is a part of what was sent, and was shown to the checker as it is sent.
func FuzzArguments(f *testing.F) {
	for _, arguments := range []string{
		`{"query":"SELECT 1"}`, `{"query":" SELECT ';' ; "}`, `{"query":"a;b"}`, `{"query":"x\u0000"}`, `{"query":"\ud800"}`,
		`{"query":"x","parameters":[1,-0.0,1e400,0.1,"a",null,true,[1],{"a":1},9223372036854775808]}`, `{"query":";"}`, `{}`, `[]`, ``, `{"query":"\t;\n"}`,
	} {
		f.Add([]byte(arguments))
	}
	f.Fuzz(func(t *testing.T, arguments []byte) {
		seen := &asked{}
		tool := &Tool{checker: seen, limits: Limits{}.withDefaults()}
		if tool.Executor().(boundary.ArgumentChecker).CheckArguments(arguments) != nil {
			return
		}
		var passed prepared
		err := boundary.Args(func(_ context.Context, q Query, _ io.Writer) (err error) {
			passed, err = tool.prepare(q)
			if err == nil && !strings.Contains(q.Statement, passed.statement) {
				t.Errorf("%q is no part of %q", passed.statement, q.Statement)
			}
			return err
		}).Execute(t.Context(), boundary.Input{Arguments: arguments}, io.Discard)
		if err != nil {
			t.Fatalf("passed once and then not: %v", err)
		}
		s := passed.statement
		if s == "" || strings.ContainsAny(s, ";\x00") || !utf8.ValidString(s) || strings.Trim(s, " \t\r\n") != s {
			t.Errorf("%q passed", s)
		}
		for _, shown := range seen.statements {
			if shown != s {
				t.Errorf("the checker was shown %q for %q", shown, s)
			}
		}
		for _, value := range passed.parameters {
			switch value.(type) {
			case nil, bool, string, int64, float64:
			default:
				t.Errorf("a parameter of type %T passed", value)
			}
		}
	})
}

// FuzzNumber: a number that is bound has the value that was written.
func FuzzNumber(f *testing.F) {
	for _, number := range []string{"0", "-0", "-0.0", "1.50", "1e5", "1E-5", "9223372036854775807", "9223372036854775808", "0.1", "1e308", "5e-324", "4e-324", "1e-400", "0e999999999"} {
		f.Add(number)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !json.Valid([]byte(text)) || !strings.ContainsAny(text[:1], "-0123456789") {
			return // decoding lets numbers of JSON through only
		}
		value, ok := bindable(json.Number(text))
		if !ok {
			return
		}
		var read string
		switch v := value.(type) {
		case int64:
			read = strconv.FormatInt(v, 10)
		case float64:
			read = strconv.FormatFloat(v, 'g', -1, 64)
		default:
			t.Fatalf("%s became a %T", text, value)
		}
		got, okGot := new(big.Rat).SetString(read)
		want, okWant := new(big.Rat).SetString(text)
		if !okGot || !okWant || got.Cmp(want) != 0 {
			t.Errorf("%s is bound as %s", text, read)
		}
	})
}
