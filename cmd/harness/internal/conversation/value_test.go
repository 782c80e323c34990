package conversation

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// texts are JSON values in every spelling that a walk over bytes could stumble on.
func texts() []string {
	return []string{
		`{}`, `[]`, `{ }`, "[\n\t]", `""`, `0`, `-1.5e+300`, `true`, `false`, `null`,
		`[1]`, `[1,2]`, "[ 1 ,\r\n2 ]", `["]","[","\"]"]`, `["\\"]`, `["\\\""]`, `[[],[[]],[[],[]]]`, `[null,true,false]`,
		`{"a":1}`, `{"a":1,"b":2}`, "{ \"a\" : 1 ,\n\"b\" : [ 2 ] }", `{"a}":"}","b{":"{"}`, `{"":0}`, `{"a":{"a":{"a":{}}}}`,
		`{"a":-1,"b":1E5,"c":true,"d":null,"e":"x"}`, `{"\u0061":1}`, `{"\"":"\\"}`, `[{"a":[{"b":[]}]},"x",[1,[2]]]`,
		`["\ud83d\ude00","\u0000","\/"]`, `{"é":"日本"}`,
	}
}

// walked is what the walk finds in a value, in the types of the standard library.
func walked(r *reader, v value) any {
	switch {
	case v.isObject():
		m := map[string]any{}
		for _, member := range r.object(v).members {
			m[member.name] = walked(r, member.value)
		}
		return m
	case v.isArray():
		list := []any{}
		for element := range v.elements() {
			list = append(list, walked(r, element))
		}
		return list
	case v.isString():
		text, _ := unquote(v.raw)
		return text
	}
	var any any
	if json.Unmarshal(v.raw, &any) != nil {
		return "not a value: " + string(v.raw)
	}
	return any
}

func agree(t *testing.T, text string) {
	t.Helper()
	var want any
	if err := json.Unmarshal([]byte(text), &want); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	trimmed := bytes.TrimSpace([]byte(text))
	r := &reader{data: trimmed}
	if got := walked(r, value{raw: trimmed}); !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got %v, want %v", text, got, want)
	}
}

func TestWalkAgreesWithTheStandardLibrary(t *testing.T) {
	t.Parallel()
	for _, text := range texts() {
		agree(t, text)
		agree(t, "["+text+","+text+"]")
		agree(t, `{"a":`+text+`,"b": `+text+` }`)
		var indented bytes.Buffer
		if err := json.Indent(&indented, []byte(text), "\t", "  "); err != nil {
			t.Fatal(err)
		}
		agree(t, indented.String())
	}
}

// random writes a value with random space, from a seed that the failure prints.
func random(rng *rand.Rand, depth int) string {
	space := func() string { return strings.Repeat([]string{"", " ", "\n", "\t \r"}[rng.IntN(4)], rng.IntN(2)) }
	list := func(open, close string, one func() string) string {
		var all []string
		for range rng.IntN(4) {
			all = append(all, space()+one()+space())
		}
		return open + space() + strings.Join(all, ",") + space() + close
	}
	leaves := []string{`1`, `-0.5`, `1e3`, `true`, `null`, `""`, `"]"`, `"\\"`, `"\""`, `"{"`, `"\u00e9"`, `"\ud83d\ude00"`}
	switch pick := rng.IntN(4); {
	case depth == 0 || pick > 1:
		return leaves[rng.IntN(len(leaves))]
	case pick == 0:
		return list("[", "]", func() string { return random(rng, depth-1) })
	}
	n := 0
	return list("{", "}", func() string {
		n++
		return `"` + strings.Repeat("k", n) + `"` + space() + ":" + space() + random(rng, depth-1)
	})
}

func TestWalkOfRandomValues(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3000) {
		agree(t, random(rand.New(rand.NewPCG(seed, 1)), 6))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// Offsets lead back to the same bytes of the file, at any depth.
func TestOffsets(t *testing.T) {
	t.Parallel()
	const text = `{"a": [1, {"b": "x\n"}], "c": {"d": [[ true ]]}}`
	r := &reader{data: []byte(text)}
	seen := 0
	var walk func(v value)
	walk = func(v value) {
		seen++
		if got := text[v.at : v.at+len(v.raw)]; got != string(v.raw) {
			t.Errorf("at %d got %s, want %s", v.at, got, v.raw)
		}
		for element := range v.elements() {
			walk(element)
		}
		for _, m := range r.object(v).members {
			walk(m.value)
		}
	}
	walk(value{raw: []byte(text)})
	if seen != 9 {
		t.Errorf("got %d values, want 9", seen)
	}
	inner := value{raw: []byte(`[[1]]`), at: 40, inner: true}
	for element := range inner.elements() {
		if element.at != 40 || !element.inner {
			t.Errorf("inside a string got offset %d, want that of the string, 40", element.at)
		}
	}
}

func TestUnquote(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`""`: "", `"a"`: "a", `"\n\t\\\/\""`: "\n\t\\/\"", `"\u00e9"`: "é", `"\uFFFD"`: "\uFFFD", `"\ud83d\ude00"`: "😀", `"\uD83D\uDE00x\uD83D\uDE00"`: "😀x😀",
		`"\\ud83d"`: `\ud83d`, `"\u005cud83d"`: `\ud83d`, `"\ud7ff\ue000"`: "\ud7ff\ue000", "\"\ufffd\"": "\ufffd",
	} {
		if got, ok := unquote([]byte(raw)); !ok || got != want {
			t.Errorf("%s: got %q, %v, want %q", raw, got, ok, want)
		}
	}
	for _, raw := range []string{
		`"\ud83d"`, `"\ude00"`, `"\ude00\ud83d"`, `"\ud83d\ud83d\ude00"`, `"\ud83dx\ude00"`, `"\ud83d\n\ude00"`, `"\ud83d\\ude00"`,
		`"a\ud83d"`, "\"\xff\"", "\"\\n\xc3\"", "\"\xed\xa0\x80\"",
	} {
		if got, ok := unquote([]byte(raw)); ok {
			t.Errorf("%s: got %q, want a refusal", raw, got)
		}
	}
}

// Whatever unquote accepts, it reads as the standard library does, without a replacement.
func FuzzUnquote(f *testing.F) {
	for _, text := range texts() {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) == 0 || raw[0] != '"' || !json.Valid(raw) {
			return
		}
		raw = bytes.TrimSpace(raw)
		var want string
		if err := json.Unmarshal(raw, &want); err != nil {
			return
		}
		got, ok := unquote(raw)
		switch {
		case ok && got != want:
			t.Errorf("got %q, want %q", got, want)
		case ok && !utf8.ValidString(got):
			t.Errorf("got %q, which is no UTF-8", got)
		case !ok && !strings.Contains(want, "\ufffd"):
			t.Errorf("refused %q, in which nothing was replaced", raw)
		}
	})
}

func TestObject(t *testing.T) {
	t.Parallel()
	const text = `{"a":null,"b":"x","c":[1],"\u0064":2,"b2":{"k":"v"}}`
	r := &reader{data: []byte(text)}
	o := r.object(value{raw: []byte(text)})
	if _, ok := o.get("a"); ok {
		t.Error("a member that is null was found")
	}
	if !o.has("x", "a") || o.has("x", "y") {
		t.Error("has does not count null as there")
	}
	if v, ok := o.first("z", "a", "c"); !ok || string(v.raw) != "[1]" {
		t.Errorf("got %s, want [1]", v.raw)
	}
	if v, ok := o.get("d"); !ok || string(v.raw) != "2" {
		t.Errorf("got %s, want the member whose name is escaped", v.raw)
	}
	if got := o.word("b") + o.word("c") + o.word("z"); got != "x" {
		t.Errorf("got %q, want only the text", got)
	}
	if got := o.child("b2").text("k"); got != "v" {
		t.Errorf("got %q, want v", got)
	}
	if n := len(o.child("b").members) + len(o.child("z").members); n != 0 {
		t.Errorf("got %d members of what is no object", n)
	}
	if r.err != nil {
		t.Fatalf("got %v before anything was wrong", r.err)
	}
	if o.text("c") != "" || r.err == nil || r.err.Reason != ReasonShape {
		t.Errorf("got %v, want %s", r.err, ReasonShape)
	}
}

// The line of an offset is the same whichever offset was asked for before.
func TestLine(t *testing.T) {
	t.Parallel()
	data := []byte("a\n\nb\r\nc")
	rng := rand.New(rand.NewPCG(1, 2))
	r := &reader{data: data}
	for range 1000 {
		at := rng.IntN(len(data)+6) - 3
		want := 1 + bytes.Count(data[:min(max(at, 0), len(data))], []byte("\n"))
		if got := r.line(at); got != want {
			t.Fatalf("at %d: got %d, want %d", at, got, want)
		}
	}
}

// Only the first failure is told.
func TestFailStays(t *testing.T) {
	t.Parallel()
	r := &reader{file: "f", data: []byte("\n\n")}
	r.fail(1, ReasonText)
	r.fail(0, ReasonShape)
	if want := (Error{File: "f", Line: 2, Reason: ReasonText}); *r.err != want {
		t.Errorf("got %+v, want %+v", *r.err, want)
	}
}
