package bounds_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/projector"
	"github.com/toolharness/harness/projector/internal/bounds"
)

func TestClip(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text  string
		limit int
		want  string
	}{
		"fits":                  {"abc", 3, "abc"},
		"folded_until_it_fits":  {"a \r\n b\x00", 3, "a b"},
		"spaces_only_behind":    {"abc      ", 3, "abc"},
		"cut_with_size":         {strings.Repeat("x", 100), 20, "xxxxxx…[100 bytes]"},
		"cut_in_chinese":        {strings.Repeat("漢", 30), 20, "漢漢…[90 bytes]"},
		"no_room_for_the_size":  {"abcdefghijkl", 8, "abcde…"},
		"no_room_for_the_mark":  {"abcdefghijkl", 2, "ab"},
		"longer_when_replaced":  {"a\xffb", 5, "a\uFFFDb"},
		"replaced_and_then_cut": {"a\xffb", 4, "a…"},
		"zero":                  {"abc", 0, ""},
		"negative":              {"abc", -1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := bounds.Clip(c.text, c.limit); got != c.want {
				t.Errorf("Clip(%q, %d) = %q, want %q", c.text, c.limit, got, c.want)
			}
		})
	}
}

func TestQuote(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"abc": `"abc"`, "": `""`, "say \"x\"\nnow": `"say \"x\" now"`, "漢字漢字漢字漢字漢字漢字漢字": `"漢字漢字漢字漢…"`,
		strings.Repeat(`"`, 50): `"` + strings.Repeat(`\"`, 10) + `…"`,
	} {
		got := bounds.Quote(text, 26)
		if got != want || len(got) > 26 {
			t.Errorf("Quote(%q, 26) = %s (%d bytes), want %s", text, got, len(got), want)
		}
	}
	for limit := range 12 {
		got := bounds.Quote(`""""""""`, limit)
		if !jsontext.Value(got).IsValid() || len(got) > max(limit, 2) {
			t.Errorf("Quote(…, %d) = %s, want JSON inside the limit", limit, got)
		}
	}
}

func TestPlural(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0 hits", 1: "1 hit", 2: "2 hits"} {
		if got := bounds.Plural(n, "hit"); got != want {
			t.Errorf("Plural(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestFacts(t *testing.T) {
	t.Parallel()
	subject := evidence.Subject{Kind: "log", ID: "app"}
	t.Run("all_fit", func(t *testing.T) {
		f, err := bounds.NewFacts(subject, 4096)
		if err != nil {
			t.Fatal(err)
		}
		f.Add(subject, "record_count", "exact 2")
		if got := f.List(); len(got) != 1 || got[0].Value != "exact 2" {
			t.Errorf("facts %+v, want the one that was added", got)
		}
	})
	t.Run("cap", func(t *testing.T) {
		f, err := bounds.NewFacts(subject, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		f.Omit(2)
		f.Omit(-7)
		for i := range 40 {
			f.Add(subject, fmt.Sprintf("p%d", i), "v")
		}
		got := f.List()
		if last := got[len(got)-1]; len(got) != 16 || last.Predicate != bounds.OmittedPredicate || last.Value != "27" {
			t.Errorf("%d facts, last %+v; want 16, the last counting 27", len(got), last)
		}
	})
}

// Whatever the room is, the stored form stays in it and nothing is lost without
// being counted.
func TestFactsStayInTheirRoom(t *testing.T) {
	t.Parallel()
	subject := evidence.Subject{Kind: "log", ID: strings.Repeat("漢", 100)}
	for room := -10; room < 3000; room += 7 {
		f, err := bounds.NewFacts(subject, room)
		if err != nil {
			if e, ok := errors.AsType[*projector.Error](err); !ok || e.Kind != projector.TooLarge || e.Limit <= 0 {
				t.Fatalf("room %d: %v, want TooLarge with a limit", room, err)
			}
			continue
		}
		for i := range 12 {
			f.Add(subject, fmt.Sprintf("p%d", i), strings.Repeat("\"", 40))
		}
		facts := f.List()
		encoded, err := evidence.EncodeFacts(facts)
		if err != nil || len(encoded) > room {
			t.Fatalf("room %d: %d bytes, %v", room, len(encoded), err)
		}
		stated := len(facts)
		if last := facts[len(facts)-1]; last.Predicate == bounds.OmittedPredicate {
			var omitted int
			if _, err := fmt.Sscan(last.Value, &omitted); err != nil {
				t.Fatal(err)
			}
			stated += omitted - 1
		}
		if stated != 12 {
			t.Errorf("room %d: %d facts are stated or counted, want 12", room, stated)
		}
	}
}

func TestCoverage(t *testing.T) {
	t.Parallel()
	many := make([]string, 40)
	for i := range many {
		many[i] = strings.Repeat("漢", 300)
	}
	build := func(line int) evidence.Coverage {
		c := evidence.Searched(evidence.Line(many[0], line), bounds.Lines("source", many, line)...)
		return c
	}
	for limit := 1; limit < 40_000; limit = limit*3/2 + 1 {
		c, room, err := bounds.Coverage(projector.Limits{FactsBytes: limit}, build)
		if err != nil {
			if e, ok := errors.AsType[*projector.Error](err); !ok || e.Kind != projector.TooLarge || limit >= 512 {
				t.Errorf("limit %d: %v", limit, err)
			}
			continue
		}
		encoded, err := evidence.EncodeCoverage(c)
		if err != nil || len(encoded) > limit/2 || room != limit-len(encoded) {
			t.Errorf("limit %d: %d bytes, room %d, %v", limit, len(encoded), room, err)
		}
		if last := c.Checked[len(c.Checked)-1]; !strings.Contains(last, "more") {
			t.Errorf("limit %d: 40 sources end with %q, want the count of those left out", limit, last)
		}
	}
	invalid := func(int) evidence.Coverage { return evidence.Coverage{LookedFor: "x"} }
	if _, _, err := bounds.Coverage(projector.Limits{FactsBytes: 100}, invalid); err == nil {
		t.Error("a coverage without a place was taken")
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		texts []string
		line  int
		want  string
	}{
		"none":      {nil, 512, ""},
		"one":       {[]string{"a"}, 16, "source a"},
		"two_in_1":  {[]string{"a", "b"}, 16, "2 more sources"},
		"three_in2": {[]string{"a", "b", "c"}, 32, "source a|2 more sources"},
		"two_in_2":  {[]string{"a\nb", "c"}, 32, "source a b|source c"},
		"clipped":   {[]string{"0123456789"}, 16, "source 012345…"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := strings.Join(bounds.Lines("source", c.texts, c.line), "|"); got != c.want {
				t.Errorf("Lines = %q, want %q", got, c.want)
			}
		})
	}
}

func TestGaps(t *testing.T) {
	t.Parallel()
	gaps := []evidence.Gap{{What: "a\n" + strings.Repeat("漢", 90), Reason: strings.Repeat("é", 90)}, {What: "b", Reason: "c"}, {What: "d", Reason: "e"}}
	for line := bounds.ShortestLine; line <= evidence.MaxCoverageLine; line *= 2 {
		c := evidence.Searched("x", "y")
		c.Uncovered = bounds.Gaps(gaps, line)
		if err := c.Validate(); err != nil {
			t.Errorf("line %d: %v", line, err)
		}
		last := c.Uncovered[len(c.Uncovered)-1].What
		if want := map[int]string{16: "2 more places", 32: "1 more place"}[line]; want != "" && last != want || want == "" && last != "d" {
			t.Errorf("line %d: the last gap is %q, want %q or all three", line, last, want)
		}
	}
	if !bounds.GapsBlank([]evidence.Gap{{What: "a", Reason: " "}}) || !bounds.GapsBlank([]evidence.Gap{{Reason: "a"}}) || bounds.GapsBlank(gaps) {
		t.Error("GapsBlank tells blank gaps and others wrongly")
	}
}

func TestBlank(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"": true, " \n\t": true, "\u200b\u202e\x00": true, "a": false, " 😀": false, "\xff": false} {
		if got := bounds.Blank(text); got != want || bounds.AnyBlank([]string{"x", text}) != want {
			t.Errorf("Blank(%q) = %v, want %v", text, got, want)
		}
	}
}

// document is a reader of one member of each kind.
func document(raw string) (names map[string]bool, values string, err error) {
	var text string
	var flag bool
	var count, elements int64
	var list []string
	names, err = bounds.Object([]byte(raw), func(dec *jsontext.Decoder, name string) error {
		switch name {
		case "text":
			return bounds.Text(dec, name, &text)
		case "flag":
			return bounds.Flag(dec, name, &flag)
		case "count":
			return bounds.Count(dec, name, &count)
		case "list":
			return bounds.Decode(dec, name, &list, "a list of strings")
		case "array":
			return bounds.Array(dec, name, func(int64) error {
				elements++
				return bounds.Skip(dec)
			})
		}
		return bounds.Skip(dec)
	})
	return names, fmt.Sprint(text, flag, count, list, elements), err
}

func TestObject(t *testing.T) {
	t.Parallel()
	names, values, err := document(` {"text":"漢","flag":true,"count":9223372036854775807,"list":["a"],"array":[1,[],{}],"other":{"x":[null]}} `)
	if err != nil || values != "漢true 9223372036854775807 [a] 3" || len(names) != 6 || !names["other"] {
		t.Errorf("read %q, %v, %v", values, names, err)
	}
	for raw, member := range map[string]string{
		``: "", `null`: "", `[]`: "", `{`: "", `{"text"`: "text", `{"text":`: "text", `{"other":`: "", `{"other":1,}`: "",
		`{"text":1}`: "text", `{"flag":0}`: "flag", `{"count":1.0}`: "count", `{"count":-1}`: "count", `{"count":"1"}`: "count",
		`{"count":9223372036854775808}`: "count", `{"list":[1]}`: "list", `{"array":{}}`: "array", `{"array":[1,}`: "", `{"array":[`: "", `{"array":[1`: "",
		`{"text":"a","text":"b"}`: "", `{}{}`: "", `{} x`: "", "{\"text\":\"\xff\"}": "text", `{"text":"\ud800"}`: "text",
	} {
		_, _, err := document(raw)
		f, ok := errors.AsType[*bounds.Fault](err)
		if !ok || f.Member != member {
			t.Errorf("%q: %v, want a fault of member %q", raw, err, member)
		}
	}
	if got := bounds.Missing("format").Error(); !strings.HasPrefix(got, "format: missing") {
		t.Errorf("Missing says %q", got)
	}
}

// FuzzLine: any text at any limit stays inside it, on one line, in valid UTF-8.
func FuzzLine(f *testing.F) {
	f.Add("a\r\nb\x00漢\xff\u202e", uint16(7))
	f.Add(strings.Repeat("😀", 40), uint16(33))
	f.Add(strings.Repeat("\"\\", 40), uint16(20))
	f.Fuzz(func(t *testing.T, text string, limit uint16) {
		clipped, quoted := bounds.Clip(text, int(limit)), bounds.Quote(text, int(limit))
		if len(clipped) > int(limit) || !utf8.ValidString(clipped) || strings.ContainsAny(clipped, "\r\n\x00\u202e") {
			t.Errorf("Clip(%q, %d) = %q", text, limit, clipped)
		}
		if len(quoted) > max(int(limit), 2) || !jsontext.Value(quoted).IsValid() {
			t.Errorf("Quote(%q, %d) = %q", text, limit, quoted)
		}
	})
}
