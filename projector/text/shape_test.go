package text_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolharness/harness/projector"
	"github.com/toolharness/harness/projector/text"
)

func numbers(n int) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = fmt.Sprint(i)
	}
	return "[" + strings.Join(parts, ",") + "]"
}

func TestTopArrayIsFilled(t *testing.T) {
	t.Parallel()
	got := shownIn(t, numbers(1000), 100)
	if want := `{"items":[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21],"returned":22,"omitted":978}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	var kept struct {
		Items             []json.RawMessage
		Returned, Omitted int
	}
	whole := len(numbers(1000))
	for limit := 60; limit < 4000; limit += 61 {
		got := shownIn(t, numbers(1000), limit)
		if err := json.Unmarshal([]byte(got), &kept); limit < whole && (err != nil || len(kept.Items) != kept.Returned || kept.Returned+kept.Omitted != 1000) {
			t.Fatalf("limit %d: %v, %d items, returned %d, omitted %d", limit, err, len(kept.Items), kept.Returned, kept.Omitted)
		}
		if len(got) > limit || limit < whole && len(got) < limit-20 {
			t.Fatalf("limit %d: %d bytes, want it filled", limit, len(got))
		}
	}
	if got := shownIn(t, numbers(1000), whole); got != numbers(1000) {
		t.Errorf("in its own size the array is cut: %.100s", got)
	}
}

// Elements of a top array are shortened before most of them are given up.
func TestLongElements(t *testing.T) {
	t.Parallel()
	element := `{"id":1,"text":"` + strings.Repeat("漢字", 400) + `"}`
	got := shownIn(t, "["+strings.Repeat(element+",", 19)+element+"]", 4096)
	var kept struct {
		Items []struct{ Text string }
	}
	if err := json.Unmarshal([]byte(got), &kept); err != nil || len(kept.Items) < 8 || !strings.HasSuffix(kept.Items[7].Text, "…[2400 bytes]") {
		t.Errorf("%d items: %.300s; want at least 8 with clipped texts", len(kept.Items), got)
	}
}

func TestInnerCutsAreStated(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		raw   string
		limit int
		want  string
	}{
		"array":  {`{"a":` + numbers(900) + `,"b":1}`, 120, `{"a":[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,{"…omitted":868}],"b":1}`},
		"string": {`{"a":"` + strings.Repeat("é", 500) + `"}`, 80, `{"a":"` + strings.Repeat("é", 24) + `…[1000 bytes]"}`},
		"object": {`{"a":1,"b":{` + members(200) + `}}`, 200,
			`{"a":1,"b":{"m0":0,"m1":1,"m2":2,"m3":3,"m4":4,"m5":5,"m6":6,"m7":7,"m8":8,"m9":9,"m10":10,"m11":11,"m12":12,"m13":13,"m14":14,"m15":15,"…omitted":184}}`},
		"number":      {`{"a":` + strings.Repeat("7", 300) + `}`, 80, `{"a":"` + strings.Repeat("7", 50) + `…[300 bytes]"}`},
		"lone_string": {`"` + strings.Repeat("x", 300) + `"`, 50, `"` + strings.Repeat("x", 18) + `…[300 bytes]"`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := shownIn(t, c.raw, c.limit); got != c.want || len(got) > c.limit {
				t.Errorf("got  %s (%d bytes)\nwant %s", got, len(got), c.want)
			}
		})
	}
}

func members(n int) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = fmt.Sprintf(`"m%d":%d`, i, i)
	}
	return strings.Join(parts, ",")
}

func TestDepth(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"a":[`, 20) + `1,2` + strings.Repeat(`]}`, 20)
	got := string(projected(t, deep, text.Options{Depth: 4}).Result)
	if want := `{"a":[{"a":[{"…omitted":1}]}]}`; got != want {
		t.Errorf("depth 4: %s, want %s", got, want)
	}
	got = string(projected(t, deep, text.Options{Depth: 3}).Result)
	if want := `{"a":[{"a":[{"…omitted":1}]}]}`; got != want {
		t.Errorf("depth 3: %s, want %s", got, want)
	}
	got = string(projected(t, deep, text.Options{}).Result)
	if levels := strings.Count(got, "[") + strings.Count(got, "{") - 1; levels != text.DefaultDepth {
		t.Errorf("%d levels in %s, want %d", levels, got, text.DefaultDepth)
	}
	if got := string(projected(t, `[[[1]]]`, text.Options{Depth: 2}).Result); got != `[[[{"…omitted":1}]]]` {
		t.Errorf("an array at its depth: %s", got)
	}
	if got := string(projected(t, `[[]]`, text.Options{Depth: 1}).Result); got != `[[]]` {
		t.Errorf("an empty array below its depth: %s, nothing is missing", got)
	}
}

// The member that counts what is missing never has the name of one that is there.
func TestCounterIsAlone(t *testing.T) {
	t.Parallel()
	for _, names := range [][]string{{"…omitted"}, {"……omitted", "…omitted"}, {"x…omitted", "…omitted", "…x…omitted"}, {"…omitted", "……omitted", "………omitted"}} {
		var parts []string
		for _, name := range names {
			parts = append(parts, fmt.Sprintf("%q:0", name))
		}
		raw := "{" + strings.Join(parts, ",") + "," + members(300) + "}"
		got := shownIn(t, raw, 300)
		if !jsontext.Value(got).IsValid() { // strict: no name twice
			t.Errorf("%v: %s is no JSON with names of their own", names, got)
		}
	}
}

// Names are shown whole or not at all: two clipped names could be one.
func TestLongNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("n", 2000)
	got := shownIn(t, `{"`+long+`1":1,"`+long+`2":2,"a":3}`, 200)
	if want := `{"a":3,"…omitted":2}`; got != want {
		t.Errorf("got %.200s, want %s", got, want)
	}
}

func TestDigitsSurvive(t *testing.T) {
	t.Parallel()
	for _, digits := range []string{"9007199254740993", "-9223372036854775808", "0.1000000000000000055511151231257827", "1E400", "1.10", "-0"} {
		if got := shownIn(t, `{"a":[`+digits+`,"`+strings.Repeat("x", 900)+`"]}`, 120); !strings.Contains(got, "["+digits+",") {
			t.Errorf("%s became %s", digits, got)
		}
	}
}

func TestPlainTextIsCutAtLines(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for i := range 100 {
		fmt.Fprintf(&all, "line %02d\n", i)
	}
	if got, want := shownIn(t, all.String(), 80), "line 00\nline 01\nline 02\nline 03\nline 04\n[omitted: 760 bytes, 95 lines]"; got != want {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if got, want := shownIn(t, strings.Repeat("漢", 100), 60), "漢漢漢漢漢漢漢漢漢…\n[omitted: 273 bytes, 1 lines]"; got != want {
		t.Errorf("got %q\nwant %q", got, want)
	}
	in := input(strings.Repeat("x", 100))
	in.Limits.AgentBytes = 20
	_, err := projectIn(t, in, text.Options{})
	if e, ok := errors.AsType[*projector.Error](err); !ok || e.Kind != projector.TooLarge {
		t.Errorf("100 bytes in 20: %v, want TooLarge", err)
	}
}

// For every limit: valid, inside the limit, and with fewer bytes never more.
func TestEveryLimit(t *testing.T) {
	t.Parallel()
	for name, raw := range map[string]string{
		"array":  `[` + strings.Repeat(`{"名":"值","n":[1,2,3],"t":"`+strings.Repeat("漢字", 60)+`"},`, 30) + `1]`,
		"object": `{"data":{"list":[` + strings.Repeat(`{"a":"`+strings.Repeat("x", 90)+`","b":{"c":{"d":[[1],[2]]}}},`, 40) + `0]},` + members(50) + `}`,
		"string": `"` + strings.Repeat(`\u0007漢`, 300) + `"`,
		"text":   strings.Repeat("一行文字 and words\n", 200),
	} {
		t.Run(name, func(t *testing.T) {
			for limit := 1; limit < 9000; limit += 1 + limit/12 {
				in := input(raw)
				in.Limits.AgentBytes = limit
				p, err := projectIn(t, in, text.Options{})
				if err != nil {
					if e, ok := errors.AsType[*projector.Error](err); !ok || e.Kind != projector.TooLarge || limit > 100 {
						t.Fatalf("limit %d: %v", limit, err)
					}
					continue
				}
				valid := json.Valid(p.Result) == (name != "text") && utf8.Valid(p.Result)
				if len(p.Result) > limit || !valid {
					t.Fatalf("limit %d: %d bytes: %s", limit, len(p.Result), p.Result)
				}
				if limit > 600 && len(p.Result) < limit/3 && len(p.Result) < len(raw)/3 {
					t.Errorf("limit %d: only %d bytes are used", limit, len(p.Result))
				}
			}
		})
	}
}
