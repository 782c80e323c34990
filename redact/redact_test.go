package redact_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/toolharness/harness/internal/vectors"
	"github.com/toolharness/harness/redact"
	"github.com/toolharness/harness/redact/internal/samples"
)

func redactor(t testing.TB, c redact.Config) *redact.Redactor {
	t.Helper()
	r, err := redact.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func view(t testing.TB, r *redact.Redactor, value string) string {
	t.Helper()
	v, err := r.Redact(context.Background(), redact.Result, []byte(value))
	if err != nil {
		t.Fatalf("%.80q: %v", value, err)
	}
	return string(v.Text)
}

func TestS82_E90_credentials_at_every_depth(t *testing.T) {
	t.Parallel()
	r := redactor(t, redact.Config{})
	for _, key := range []string{
		"Authorization", "x-api-key", "apiKey", "API_KEY", "access_token", "clientSecret", "Proxy-Authorization",
		"password", "db.password", "DB_PASSWORD", "Set-Cookie", "private key", "aws_secret_access_key", "pa\u017f\u017fword", "to\u212aen",
	} {
		name, _ := json.Marshal(key)
		for _, shape := range []string{
			`{%:V}`,
			`{"a":{"b":{"c":{"d":{%:V}}}}}`,
			`[[{"x":1},{%:V}]]`,
			`{"a":1.50 , % : V,"b":[ ] }`,
			`[{%:V},{%:V}]`,
		} {
			for _, value := range []string{`"s3cret"`, `12.50`, `["s3cret",{"x":"s3cret"}]`, `{"scheme":"Bearer","value":"s3cret"}`} {
				input := strings.ReplaceAll(strings.ReplaceAll(shape, "%", string(name)), "V", value)
				want := strings.ReplaceAll(strings.ReplaceAll(shape, "%", string(name)), "V", `"[REDACTED]"`)
				for _, kind := range []redact.Kind{redact.Arguments, redact.Result, redact.Message} {
					got, err := r.Redact(context.Background(), kind, []byte(input))
					if err != nil || string(got.Text) != want {
						t.Errorf("%s of %s: %s, %v, want %s", kind, input, got.Text, err, want)
					}
				}
			}
		}
	}
}

func TestS83_E90_names_that_only_contain_such_a_word_stay(t *testing.T) {
	t.Parallel()
	r := redactor(t, redact.Config{})
	input := `{"max_tokens":1,"tokenCount":2,"nextPageToken":"x","secretary":"x","keyboard":"x","primaryKey":"x","key":"x",` +
		`"tokens":[1],"passwords":3,"secretName":"x","token_type":"Bearer","hasPassword":false,"password":null,"secret":"","token":[ ],"cookie":{}}`
	if got := view(t, r, input); got != input {
		t.Errorf("got  %s\nwant %s", got, input)
	}
}

func TestE90_shapes(t *testing.T) {
	t.Parallel()
	r := redactor(t, redact.Config{Keys: redact.Keys{Exact: []string{"P-I-N"}, Endings: []string{"Code"}}})
	for _, c := range []struct{ name, input, want string }{
		{"escaped name", `{"pass\u0077ord":"x","a":"\u0041"}`, `{"pass\u0077ord":"[REDACTED]","a":"\u0041"}`},
		{"repeated member", `{"token":"a","token":"b"}`, `{"token":"[REDACTED]","token":"[REDACTED]"}`},
		{"own names", `{"pin":1,"zip_code":2,"codec":3}`, `{"pin":"[REDACTED]","zip_code":"[REDACTED]","codec":3}`},
		{"pair", `{"name":"Authorization","value":"x"}`, `{"name":"Authorization","value":"[REDACTED]"}`},
		{"pair turned round", `{"Values":["x"],"Key":"cookie"}`, `{"Values":"[REDACTED]","Key":"cookie"}`},
		{"no pair", `{"name":"bob","value":"x"}`, `{"name":"bob","value":"x"}`},
		{"rows", `{"columns":[{"type":"TEXT","name":"db_password"},{"name":"id"}],"rows":[["x",1],[null,2],[{"base64":"eA=="},3]]}`,
			`{"columns":[{"type":"TEXT","name":"db_password"},{"name":"id"}],"rows":[["[REDACTED]",1],[null,2],["[REDACTED]",3]]}`},
		{"data before columns", `{"data":[[1,"x"],7,{}],"columns":["id","secret"]}`, `{"data":[[1,"[REDACTED]"],7,{}],"columns":["id","secret"]}`},
		{"JSON in a string", `{"text":"{\"token\":\"x\",\"e\":\"\\u00e9\\/\", \"n\":1.0}"}`, `{"text":"{\"token\":\"[REDACTED]\",\"e\":\"\\u00e9\\/\", \"n\":1.0}"}`},
		{"JSON in a string of JSON in a string", `["\"{\\\"token\\\":1}\""]`, `["\"{\\\"token\\\":\\\"[REDACTED]\\\"}\""]`},
		{"spelled with escapes", `["\u007b\u0022token\u0022:\u0022\ud83d\ude00x\u0022}"]`, `["\u007b\u0022token\u0022:\"[REDACTED]\"}"]`},
		{"several values", "{\"token\":1}\n{\"a\":2} [ {\"secret\" :\"x\"}]", "{\"token\":\"[REDACTED]\"}\n{\"a\":2} [ {\"secret\" :\"[REDACTED]\"}]"},
		{"lines among text", "oken\":1}\nnote\n{\"token\":1}\r\n  [{\"secret\":\"x\"}]\nend", "oken\":1}\nnote\n{\"token\":\"[REDACTED]\"}\r\n  [{\"secret\":\"[REDACTED]\"}]\nend"},
		{"byte order mark", "\xef\xbb\xbf{\"token\":1}", "\xef\xbb\xbf{\"token\":\"[REDACTED]\"}"},
		{"broken UTF-8", "{\"a\xff\":\"\xfe\",\"token\":\"\xfd\"}", "{\"a\xff\":\"\xfe\",\"token\":\"[REDACTED]\"}"},
		{"lone surrogate", `{"a":"\ud83d","token":"\ude00"}`, `{"a":"\ud83d","token":"[REDACTED]"}`},
		{"big numbers", `{"n":12345678901234567890.10e400,"token":0}`, `{"n":12345678901234567890.10e400,"token":"[REDACTED]"}`},
		{"text", "password=x, not JSON", "password=x, not JSON"},
		{"empty", "", ""},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			if got := view(t, r, c.input); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if again := view(t, r, c.want); again != c.want {
				t.Errorf("again %s\nwant  %s", again, c.want)
			}
		})
	}
}

// word is a rule that finds every place of a word.
type word string

func (w word) Name() string { return "word " + string(w) }

func (w word) Find(text string) (out []redact.Span) {
	for from := 0; ; {
		n := strings.Index(text[from:], string(w))
		if n < 0 {
			return out
		}
		out = append(out, redact.Span{Start: from + n, End: from + n + len(w)})
		from += n + 1
	}
}

func TestE90_rules_in_strings_names_and_text(t *testing.T) {
	t.Parallel()
	r := redactor(t, redact.Config{Rules: []redact.Finder{word("aba"), word(`note="xy`)}})
	for _, c := range []struct{ input, want string }{
		{"1 aba 2 ababa", "1 [REDACTED] 2 [REDACTED]"},
		{`{"a":"1 \u0061b\u0061\/ 2"}`, `{"a":"1 [REDACTED]\/ 2"}`},
		{`{"aba":1,"ab\u0061":2,"[REDACTED]#2":3,"x aba":4}`, `{"[REDACTED]":1,"[REDACTED]#3":2,"[REDACTED]#2":3,"x [REDACTED]":4}`},
		{`{"note":"xyz","n":"note=\"xy"}`, `{"note":"[REDACTED]z","n":"[REDACTED]"}`},
		{"{\"a\":\"aba\"}\naba", "{\"a\":\"[REDACTED]\"}\n[REDACTED]"},
	} {
		if got := view(t, r, c.input); got != c.want {
			t.Errorf("%s: got %s, want %s", c.input, got, c.want)
		}
	}
}

func TestS86_E90_the_value_itself_is_not_changed(t *testing.T) {
	t.Parallel()
	r := redactor(t, redact.Config{Policy: policy(func(_ context.Context, _ redact.Kind, v []byte) ([]byte, error) {
		for i := range v {
			v[i] = ' '
		}
		return []byte("1"), nil
	})})
	value := []byte(`{"password":"x","a":[1,2]}`)
	before := bytes.Clone(value)
	v, err := r.Redact(context.Background(), redact.Result, value)
	if err != nil || string(v.Text) != "1" || !bytes.Equal(value, before) {
		t.Errorf("view %s, %v; value %s, want %s", v.Text, err, value, before)
	}
	plain := []byte("no credential")
	v, err = redactor(t, redact.Config{}).Redact(context.Background(), redact.Result, plain)
	if err != nil {
		t.Fatal(err)
	}
	v.Text[0] = 'X'
	if string(plain) != "no credential" {
		t.Errorf("the view shares memory with the value: %s", plain)
	}
}

func TestS87_E94_Go_values(t *testing.T) {
	t.Parallel()
	r := redactor(t, redact.Config{Limits: redact.Limits{Bytes: 1000}})
	type node struct {
		Next *node `json:"next"`
	}
	cycle := &node{}
	cycle.Next = cycle
	loop := map[string]any{}
	loop["self"] = loop
	for name, c := range map[string]struct {
		value any
		want  error
	}{
		"NaN": {math.NaN(), redact.ErrNotJSON}, "Inf": {map[string]any{"a": math.Inf(1)}, redact.ErrNotJSON},
		"func": {func() {}, redact.ErrNotJSON}, "channel": {make(chan int), redact.ErrNotJSON},
		"cycle": {cycle, nil}, "cyclic map": {loop, nil}, "no UTF-8": {"\xff", redact.ErrNotJSON},
		"panic": {panics{}, redact.ErrNotJSON}, "huge": {strings.Repeat("x", 2000), redact.ErrTooLarge},
	} {
		v, err := r.Value(context.Background(), redact.Result, c.value)
		// A cycle ends at the limit on bytes or where the encoder notices it.
		if c.want == nil && (errors.Is(err, redact.ErrTooLarge) || errors.Is(err, redact.ErrNotJSON)) {
			c.want = err
		}
		if c.want == nil || !errors.Is(err, c.want) || v.Text != nil {
			t.Errorf("%s: %q, %v, want %v", name, v.Text, err, c.want)
		}
	}
	if cycle.Next != cycle || len(loop) != 1 {
		t.Error("the value was changed")
	}
	v, err := r.Value(context.Background(), redact.Arguments, map[string]any{"token": "x", "b": 1, "a": []int{2}})
	if want := `{"a":[2],"b":1,"token":"[REDACTED]"}`; err != nil || string(v.Text) != want || v.Replaced != 1 {
		t.Errorf("%s, %d replaced, %v, want %s", v.Text, v.Replaced, err, want)
	}
}

type panics struct{}

func (panics) MarshalJSON() ([]byte, error) { panic("s3cret") }

func TestLimits_withhold(t *testing.T) {
	t.Parallel()
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	embedded := func(n int) string {
		text := `{"token":"s3cret"}`
		for range n {
			b, _ := json.Marshal(text)
			text = string(b)
		}
		return text
	}
	tables := func(n int) string {
		return strings.Repeat(`{"columns":["a"],"rows":[[`, n) + "1" + strings.Repeat(`]]}`, n)
	}
	for _, c := range []struct {
		name   string
		limits redact.Limits
		input  string
		want   error
	}{
		{"bytes, just", redact.Limits{Bytes: 10}, `{"a":12345`[:10], nil},
		{"bytes", redact.Limits{Bytes: 10}, strings.Repeat("1", 11), redact.ErrTooLarge},
		{"bytes of the view", redact.Limits{Bytes: 20}, `{"token":"x","a":1}`, redact.ErrTooLarge},
		{"depth, just", redact.Limits{Depth: 5}, deep(5), nil},
		{"depth", redact.Limits{Depth: 5}, deep(6), redact.ErrTooDeep},
		{"depth beyond all", redact.Limits{}, deep(200_000), redact.ErrTooDeep},
		{"depth below a credential", redact.Limits{Depth: 5}, `{"token":` + deep(9) + `}`, redact.ErrTooDeep},
		{"replacements, just", redact.Limits{Replacements: 2}, `[{"token":1},{"token":2}]`, nil},
		{"replacements", redact.Limits{Replacements: 2}, `[{"token":1},{"token":2},{"token":3}]`, redact.ErrTooMany},
		{"replacements in a string", redact.Limits{Replacements: 2}, `["[{\"token\":1},{\"token\":2},{\"token\":3}]"]`, redact.ErrTooMany},
		{"strings in strings, just", redact.Limits{}, embedded(10), nil},
		{"strings in strings", redact.Limits{}, embedded(11), redact.ErrTooDeep},
		{"tables in tables, just", redact.Limits{}, tables(8), nil},
		{"tables in tables", redact.Limits{}, tables(9), redact.ErrTooDeep},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			v, err := redactor(t, redact.Config{Limits: c.limits}).Redact(context.Background(), redact.Result, []byte(c.input))
			if !errors.Is(err, c.want) || err != nil && v.Text != nil || strings.Contains(string(v.Text), "s3cret") {
				t.Fatalf("%.100q, %v, want %v", v.Text, err, c.want)
			}
			var e *redact.Error
			if err != nil && (!errors.As(err, &e) || e.Limit == 0 || e.Cause() != nil) {
				t.Errorf("%#v has no limit", err)
			}
		})
	}
}

func TestNew_refuses_contradictions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]redact.Config{
		"bytes":   {Limits: redact.Limits{Bytes: -1}},
		"depth":   {Limits: redact.Limits{Depth: 10_000}},
		"time":    {Limits: redact.Limits{Policy: -1}},
		"key":     {Keys: redact.Keys{Endings: []string{"-_"}}},
		"rule":    {Rules: []redact.Finder{nil}},
		"no name": {Rules: []redact.Finder{nameless{}}},
		"policy":  {Policy: versioned("")},
	} {
		if _, err := redact.New(c); !errors.Is(err, redact.ErrConfig) {
			t.Errorf("%s: %v, want %v", name, err, redact.ErrConfig)
		}
	}
}

type nameless struct{ word }

func (nameless) Name() string { return "" }

func TestFingerprint_tells_views_apart(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for name, c := range map[string]redact.Config{
		"none":          {},
		"key":           {Keys: redact.Keys{Exact: []string{"pin"}}},
		"ending":        {Keys: redact.Keys{Endings: []string{"pin"}}},
		"rule":          {Rules: []redact.Finder{word("a")}},
		"other rule":    {Rules: []redact.Finder{word("b")}},
		"policy":        {Policy: versioned("1")},
		"other policy":  {Policy: versioned("2")},
		"limit":         {Limits: redact.Limits{Depth: 3}},
		"policy's name": {Rules: []redact.Finder{word("policy")}},
	} {
		f := redactor(t, c).Fingerprint()
		if len(f) != 64 || f != redactor(t, c).Fingerprint() || seen[f] != "" {
			t.Errorf("%s: %s is not stable or that of %q", name, f, seen[f])
		}
		seen[f] = name
	}
	a := redactor(t, redact.Config{Keys: redact.Keys{Exact: []string{"x", "y"}}, Limits: redact.Limits{Depth: 1000}})
	b := redactor(t, redact.Config{Keys: redact.Keys{Exact: []string{"y", "x"}}})
	if a.Fingerprint() != b.Fingerprint() {
		t.Error("the order of keys or a default written out makes another fingerprint")
	}
}

func TestFake_secrets_names_alone(t *testing.T) {
	t.Parallel()
	all, err := samples.Load("testdata/fake-secrets")
	if err != nil {
		t.Fatal(err)
	}
	got, err := samples.Count(all, redactor(t, redact.Config{}))
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/counts/names.txt")
	if err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + got)
	if got+"\n" != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestSharedData_fake_secrets looks whether the set that is shipped is still the
// one that is shared.
func TestSharedData_fake_secrets(t *testing.T) {
	t.Parallel()
	shared := vectors.Outside(t, "fake-secrets")
	for _, name := range []string{"samples.jsonl", "expected.json"} {
		got, err := os.ReadFile("testdata/fake-secrets/" + name)
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(shared + "/" + name)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s differs: %d bytes, want %d, %v", name, len(got), len(want), err)
		}
	}
}

func TestHostile_JSON_stays_what_it_is(t *testing.T) {
	t.Parallel()
	r := redactor(t, redact.Config{})
	for _, v := range vectors.JSONTestSuite(t) {
		got, err := r.Redact(context.Background(), redact.Result, v.Bytes)
		if v.Depth > 1000 || errors.Is(err, redact.ErrTooDeep) {
			if !errors.Is(err, redact.ErrTooDeep) || got.Text != nil {
				t.Errorf("%s: %v, want %v", v.Name, err, redact.ErrTooDeep)
			}
			continue
		}
		if err != nil || !bytes.Equal(got.Text, v.Bytes) {
			t.Errorf("%s: changed, %v", v.Name, err)
		}
	}
}

func TestOne_redactor_for_all_goroutines(t *testing.T) {
	t.Parallel()
	r := redactor(t, redact.Config{Rules: []redact.Finder{word("aba")}, Policy: versioned("1")})
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			for range 50 {
				want := fmt.Sprintf(`{"n":%d,"token":"[REDACTED]","a":"[REDACTED] %d"}`, n, n)
				v, err := r.Redact(context.Background(), redact.Result, fmt.Appendf(nil, `{"n":%d,"token":"x","a":"aba %d"}`, n, n))
				if err != nil || string(v.Text) != want {
					t.Errorf("%s, %v, want %s", v.Text, err, want)
				}
			}
		})
	}
	all.Wait()
}
