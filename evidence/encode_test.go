package evidence_test

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/toolharness/harness/evidence"
)

func TestEncodeFacts(t *testing.T) {
	t.Parallel()
	facts := []evidence.Fact{goodFact(), evidence.NewFact(evidence.Subject{Kind: "doc", ID: `"<é>`}, "score", "0.10")}
	want := `[{"subject":{"kind":"table","id":"Invoice"},"predicate":"row_count","value":"412"},` +
		`{"subject":{"kind":"doc","id":"\"<é>"},"predicate":"score","value":"0.10"}]`
	encoded, err := evidence.EncodeFacts(facts)
	if err != nil || string(encoded) != want {
		t.Fatalf("EncodeFacts = %s, %v; want %s", encoded, err, want)
	}
	if back, err := evidence.DecodeFacts(encoded); err != nil || !reflect.DeepEqual(back, facts) {
		t.Errorf("decoded %+v, %v; want %+v", back, err, facts)
	}
}

func TestEncodeNothing(t *testing.T) {
	t.Parallel()
	if encoded, err := evidence.EncodeFacts(nil); encoded != nil || err != nil {
		t.Errorf("no facts = %q, %v; want no bytes", encoded, err)
	}
	if encoded, err := evidence.EncodeCoverage(evidence.Coverage{}); encoded != nil || err != nil {
		t.Errorf("no coverage = %q, %v; want no bytes", encoded, err)
	}
	if facts, err := evidence.DecodeFacts(nil); facts != nil || err != nil {
		t.Errorf("no bytes = %v, %v; want no facts", facts, err)
	}
	if c, err := evidence.DecodeCoverage(nil); !c.IsZero() || err != nil {
		t.Errorf("no bytes = %+v, %v; want no coverage", c, err)
	}
}

func TestEncodeRefusesInvalid(t *testing.T) {
	t.Parallel()
	bad := goodFact()
	bad.Value = "SECRET\nforged"
	_, err := evidence.EncodeFacts([]evidence.Fact{goodFact(), bad})
	wantError(t, err, "facts[1].value", "SECRET")
	c := fullCoverage()
	c.Filters = []string{"SECRET\x00"}
	_, err = evidence.EncodeCoverage(c)
	wantError(t, err, "coverage.filters", "SECRET")
}

func TestEncodeCoverage(t *testing.T) {
	t.Parallel()
	want := `{"looked_for":"payment failed","checked":["topic a","topic b"],"not_checked":["topic c"],` +
		`"cannot_cover":[{"what":"before May","reason":"retention"}],` +
		`"window":{"from":"1970-01-01T00:00:00Z","to":"1970-01-01T00:01:00.000000005Z"},"filters":["level=ERROR"],` +
		`"complete":true,"same_on_retry":true,"try_instead":"topic d"}`
	encoded, err := evidence.EncodeCoverage(fullCoverage())
	if err != nil || string(encoded) != want {
		t.Fatalf("EncodeCoverage = %s, %v; want %s", encoded, err, want)
	}
	if back, err := evidence.DecodeCoverage(encoded); err != nil || !reflect.DeepEqual(back, fullCoverage()) {
		t.Errorf("decoded %+v, %v; want %+v", back, err, fullCoverage())
	}
	short, _ := evidence.EncodeCoverage(evidence.Searched("x", "a"))
	if got, want := string(short), `{"looked_for":"x","checked":["a"],"complete":true}`; got != want {
		t.Errorf("EncodeCoverage = %s, want %s", got, want)
	}
	if standard, err := json.Marshal(evidence.Searched("x", "a")); err != nil || !bytes.Equal(standard, short) {
		t.Errorf("encoding/json writes %s (%v), want the same %s", standard, err, short)
	}
}

// Equal coverages have equal bytes, whatever time zone they were given in.
func TestEncodeCoverageInUTC(t *testing.T) {
	t.Parallel()
	c := fullCoverage()
	c.Window.From = c.Window.From.In(time.FixedZone("east", 3600))
	got, err := evidence.EncodeCoverage(c)
	want, _ := evidence.EncodeCoverage(fullCoverage())
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("EncodeCoverage = %s, %v; want %s", got, err, want)
	}
	if _, offset := c.Window.From.Zone(); offset != 3600 {
		t.Error("encoding changed the caller's window")
	}
}

func TestDecodeIsStrict(t *testing.T) {
	t.Parallel()
	const fact = `{"subject":{"kind":"k","id":"1"},"predicate":"p","value":"v"}`
	for name, c := range map[string]struct{ stored, field string }{
		"duplicate":          {`[{"subject":{"kind":"k","id":"1"},"predicate":"p","value":"v","value":"SECRET"}]`, "facts"},
		"duplicate_unknown":  {`[{"subject":{"kind":"k","id":"1"},"predicate":"p","value":"v","x":1,"x":2}]`, "facts"},
		"behind":             {`[` + fact + `]x`, "facts"},
		"cut":                {`[` + fact, "facts"},
		"object":             {fact, "facts"},
		"number_value":       {`[{"subject":{"kind":"k","id":"1"},"predicate":"p","value":12}]`, "facts"},
		"invalid_utf8":       {"[{\"subject\":{\"kind\":\"k\",\"id\":\"1\"},\"predicate\":\"p\",\"value\":\"\xff\"}]", "facts"},
		"lone_surrogate":     {strings.Replace("["+fact+"]", `"v"`, `"\ud800"`, 1), "facts"},
		"other_case":         {`[{"Subject":{"Kind":"k","ID":"1"},"Predicate":"p","Value":"v"}]`, "facts[0].subject.kind"},
		"empty_fact":         {`[{}]`, "facts[0].subject.kind"},
		"null_fact":          {`[null]`, "facts[0].subject.kind"},
		"forged_line":        {strings.Replace("["+fact+"]", `"v"`, `"SECRET\nx"`, 1), "facts[0].value"},
		"coverage_duplicate": {`{"looked_for":"x","checked":["a"],"checked":["SECRET"],"complete":true}`, "coverage"},
		"coverage_behind":    {`{"looked_for":"x","checked":["a"],"complete":true}{}`, "coverage"},
		"coverage_array":     {`[]`, "coverage"},
		"coverage_no_place":  {`{"looked_for":"x","checked":[],"complete":true}`, "coverage.checked"},
		"coverage_bad_time":  {`{"looked_for":"x","checked":["a"],"window":{"from":"yesterday","to":"SECRET"},"complete":true}`, "coverage"},
	} {
		t.Run(name, func(t *testing.T) {
			var err error
			if strings.HasPrefix(name, "coverage") {
				_, err = evidence.DecodeCoverage([]byte(c.stored))
			} else {
				_, err = evidence.DecodeFacts([]byte(c.stored))
			}
			wantError(t, err, c.field, "SECRET")
		})
	}
}

func TestDecodeToleratesUnknownMembers(t *testing.T) {
	t.Parallel()
	facts, err := evidence.DecodeFacts([]byte(` [{"subject":{"kind":"k","id":"1","new":1},"predicate":"p","value":"v","later":{"a":[]}}] `))
	if err != nil || len(facts) != 1 || facts[0].Value != "v" {
		t.Errorf("DecodeFacts = %+v, %v; want the fact", facts, err)
	}
	c, err := evidence.DecodeCoverage([]byte(`{"looked_for":"x","checked":["a"],"complete":true,"later":1}`))
	if err != nil || !reflect.DeepEqual(c, evidence.Searched("x", "a")) {
		t.Errorf("DecodeCoverage = %+v, %v; want the coverage", c, err)
	}
}

// FuzzDecode: what decodes is valid and encodes to bytes that decode to the same
// and encode to the same.
func FuzzDecode(f *testing.F) {
	f.Fuzz(func(t *testing.T, stored []byte) {
		if facts, err := evidence.DecodeFacts(stored); err == nil {
			encoded, err := evidence.EncodeFacts(facts)
			if err != nil {
				t.Fatalf("decoded facts do not encode: %v", err)
			}
			back, err := evidence.DecodeFacts(encoded)
			if err != nil || len(facts) > 0 && !reflect.DeepEqual(back, facts) {
				t.Errorf("%+v came back as %+v, %v", facts, back, err)
			}
		}
		if c, err := evidence.DecodeCoverage(stored); err == nil {
			encoded, err := evidence.EncodeCoverage(c)
			if err != nil {
				t.Fatalf("a decoded coverage does not encode: %v", err)
			}
			back, err := evidence.DecodeCoverage(encoded)
			if err != nil {
				t.Fatalf("%s does not decode: %v", encoded, err)
			}
			if again, err := evidence.EncodeCoverage(back); err != nil || !bytes.Equal(again, encoded) {
				t.Errorf("%s came back as %s, %v", encoded, again, err)
			}
		}
	})
}

func TestSeedsAreThere(t *testing.T) {
	t.Parallel()
	for _, target := range []string{"FuzzDecode", "FuzzLine"} {
		seeds, err := os.ReadDir("testdata/fuzz/" + target)
		if err != nil || len(seeds) < 5 {
			t.Errorf("%s has %d seeds (%v), want at least 5", target, len(seeds), err)
		}
	}
}
