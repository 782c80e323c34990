package redact_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/toolharness/harness/internal/vectors"
	"github.com/toolharness/harness/redact"
)

const planted = "s3cret-Pl4nted"

// plant writes random documents with a credential in them, and beside each the
// view that is due: the same text with another value there.
type plant struct{ *rand.Rand }

// document has the credential at the bottom of some levels. A document alone, or
// alone in a string, may also be several values.
func (p plant) document(levels int, alone bool) (text, want string) {
	if levels == 0 {
		key := []string{"password", "Api-Key", "x_auth_token", "AWS_SECRET_ACCESS_KEY", "clientSecret", "Cookie"}[p.IntN(6)]
		value := []string{`"` + planted + `"`, `["` + planted + `",1]`, `{"a":{"b":"` + planted + `"}}`, `"{\"a\":\"` + planted + `\"}"`}[p.IntN(4)]
		name := p.spelled(key)
		before, after := p.space(), p.space()
		return "{" + before + name + after + ":" + value + "}", "{" + before + name + after + `:"[REDACTED]"}`
	}
	left, right := p.filler(), p.filler()
	shape := p.IntN(4)
	if shape == 3 && !alone {
		shape = 0
	}
	text, want = p.document(levels-1, shape >= 2)
	switch shape {
	case 0:
		return "[" + left + "," + text + "," + right + "]", "[" + left + "," + want + "," + right + "]"
	case 1:
		name := p.spelled("x" + fmt.Sprint(p.IntN(100)))
		return `{"l":` + left + "," + name + ":" + text + `,"r":` + right + "}", `{"l":` + left + "," + name + ":" + want + `,"r":` + right + "}"
	case 2: // a document in a string
		return `{"text":` + inString(text) + "}", `{"text":` + inString(want) + "}"
	}
	return left + "\n" + text + " " + right, left + "\n" + want + " " + right // several values
}

// filler has what must not change: odd numbers, space, escapes, repeated members.
func (p plant) filler() string {
	return []string{`1.50e+03`, `-0`, `12345678901234567890`, `"\u0041\/\ud83d\ude00 é"`, `{"a" : [ ],"a":null}`, `"max_tokens"`, `{"nextPageToken":"x"}`}[p.IntN(7)]
}

func (p plant) space() string { return []string{"", " ", "\n\t"}[p.IntN(3)] }

// spelled is a JSON string in which some letters are escapes.
func (p plant) spelled(s string) string {
	var out strings.Builder
	for _, c := range s {
		if p.IntN(3) == 0 {
			fmt.Fprintf(&out, `\u%04x`, c)
		} else {
			out.WriteRune(c)
		}
	}
	return `"` + out.String() + `"`
}

// inString escapes only what it must, so that the rest can be compared.
func inString(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(s) + `"`
}

func TestE90_no_planted_credential_in_any_nesting(t *testing.T) {
	t.Parallel()
	r := redactor(t, redact.Config{})
	for seed := range uint64(3000) {
		p := plant{rand.New(rand.NewPCG(seed, 1))}
		text, want := p.document(p.IntN(7), true)
		got := view(t, r, text)
		if got != want || strings.Contains(got, planted) {
			t.Fatalf("seed %d\n of  %s\n got %s\nwant %s", seed, text, got, want)
		}
		if again := view(t, r, got); again != got {
			t.Fatalf("seed %d: again %s\nwant %s", seed, again, got)
		}
	}
}

// FuzzRedact looks at any bytes: a view is JSON when the value was, has no value
// under a credential's name, is the same when redacted again, and comes from a
// value that was not touched.
func FuzzRedact(f *testing.F) {
	for _, v := range vectors.JSONTestSuite(f) {
		if len(v.Bytes) < 1000 {
			f.Add(v.Bytes)
		}
	}
	for seed := range uint64(20) {
		p := plant{rand.New(rand.NewPCG(seed, 2))}
		text, _ := p.document(4, true)
		f.Add([]byte(text))
	}
	f.Add([]byte(`{"columns":["id","secret"],"rows":[[1,"x"],[2]],"name":"token","value":{"aba":1,"aba":2}}`))
	f.Add([]byte("oken\":1}\n{\"token\":\"aba\"}\nababa"))
	r := redactor(f, redact.Config{Rules: []redact.Finder{word("aba"), word(`a="`)}, Limits: redact.Limits{Bytes: 1 << 16}})
	f.Fuzz(func(t *testing.T, value []byte) {
		before := bytes.Clone(value)
		v, err := r.Redact(context.Background(), redact.Result, value)
		if !bytes.Equal(value, before) {
			t.Fatal("the value was changed")
		}
		if err != nil {
			if v.Text != nil {
				t.Fatalf("a view beside %v", err)
			}
			return
		}
		if bytes.Contains(v.Text, []byte("aba")) && !json.Valid(value) {
			t.Errorf("a finding is left: %q", v.Text)
		}
		if v.Replaced == 0 && !bytes.Equal(v.Text, value) {
			t.Errorf("changed without a replacement: %q", v.Text)
		}
		again, err := r.Redact(context.Background(), redact.Result, v.Text)
		if err != nil || again.Replaced != 0 || !bytes.Equal(again.Text, v.Text) {
			t.Errorf("again %q, %d, %v, want %q", again.Text, again.Replaced, err, v.Text)
		}
		if !json.Valid(value) {
			return
		}
		var tree any
		numbers := json.NewDecoder(bytes.NewReader(v.Text))
		numbers.UseNumber() // some have no float64
		if err := numbers.Decode(&tree); err != nil || !json.Valid(v.Text) {
			t.Fatalf("not JSON any more: %q", v.Text)
		}
		checkTree(t, tree)
	})
}

// checkTree is the independent look: another parser, another walk.
func checkTree(t *testing.T, tree any) {
	switch tree := tree.(type) {
	case []any:
		for _, v := range tree {
			checkTree(t, v)
		}
	case map[string]any:
		for name, v := range tree {
			if s, isText := v.(string); redact.Keys.Match(redact.Keys{}, name) && (!isText || s != redact.Replacement && s != "") && !empty(v) {
				t.Errorf("%q has %v", name, v)
			}
			checkTree(t, v)
		}
	case string:
		if strings.Contains(tree, "aba") {
			t.Errorf("a finding is left in %q", tree)
		}
	}
}

func empty(v any) bool {
	switch v := v.(type) {
	case nil, bool:
		return true
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

// BenchmarkRedact makes views of 1 MiB of records, by names alone.
func BenchmarkRedact(b *testing.B) {
	record := func(name string) string {
		return `{"id":12345,"name":"Ada","tags":["a","b"],"` + name + `":"0123456789","note":"some text of a usual length \u00e9"},`
	}
	for _, c := range []struct{ name, member string }{{"clean", "address"}, {"credentials", "password"}} {
		b.Run(c.name, func(b *testing.B) {
			one := record(c.member)
			value := []byte("[" + strings.Repeat(one, 1<<20/len(one)) + "0]")
			r := redactor(b, redact.Config{})
			b.SetBytes(int64(len(value)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := r.Redact(context.Background(), redact.Result, value); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
