package findings_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/findings"
)

func TestF45_Split_keeps_every_other_byte(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{
		{`{"a":1}`, `{"a":1}`},
		{`{}`, `{}`},
		{`{"_findings":{}}`, `{}`},
		{` { "_findings" : { } } `, ` {  } `},
		{`{"_findings":{},"a":1}`, `{"a":1}`},
		{`{"_findings":{} , "a":1}`, `{ "a":1}`},
		{`{"a":1,"_findings":{}}`, `{"a":1}`},
		{`{"a":1 , "_findings" : {} }`, `{"a":1  }`},
		{`{"b":2,"_findings":{},"a":1}`, `{"b":2,"a":1}`},
		{`{"a":9007199254740993,"_findings":{},"b":1.50,"c":1E2}`, `{"a":9007199254740993,"b":1.50,"c":1E2}`},
		{`{"\u005ffindings":{},"a":"\u00e9\/"}`, `{"a":"\u00e9\/"}`},
		{`{"_\u0066indings":null}`, `{}`},
		{`{"a":{"_findings":{"previous":[{"toolCallId":"x"}]}}}`, `{"a":{"_findings":{"previous":[{"toolCallId":"x"}]}}}`},
		{`{"a":["_findings"],"_findings":{}}`, `{"a":["_findings"]}`},
		{`{"a":"\",\"_findings\":{}","_findings":{"line":"},{"}}`, `{"a":"\",\"_findings\":{}"}`},
		{"{\n\t\"a\": [1, 2],\r\n\t\"_findings\": {},\n\t\"b\": {}\n}", "{\n\t\"a\": [1, 2],\r\n\t\n\t\"b\": {}\n}"},
		{`{"_Findings":1,"findings":2,"_findings ":3}`, `{"_Findings":1,"findings":2,"_findings ":3}`},
	} {
		r := request(t, c[0])
		parts, err := findings.Split(r)
		if err != nil {
			t.Fatal(err)
		}
		same(t, c[0], string(parts.Arguments.Bytes()), c[1])
		same(t, c[0]+": digest", parts.Arguments.SHA256(), request(t, c[1]).SHA256())
		same(t, c[0]+": request", string(r.Bytes()), c[0])
	}
	if _, err := findings.Split(canonical.Request{}); err == nil {
		t.Error("a request that nobody parsed was split")
	}
}

func TestT94_F18_malformed_metadata_is_refused(t *testing.T) {
	t.Parallel()
	w := witness(t, executed("a"))
	for value, want := range map[string]string{
		`"x"`:                                "MALFORMED",
		`1`:                                  "MALFORMED",
		`true`:                               "MALFORMED",
		`[]`:                                 "MALFORMED",
		`[{"toolCallId":"a"}]`:               "MALFORMED",
		`{"previous":"x"}`:                   "MALFORMED",
		`{"previous":{"toolCallId":"a"}}`:    "MALFORMED",
		`{"previous":[1]}`:                   "MALFORMED",
		`{"previous":["a"]}`:                 "MALFORMED",
		`{"previous":[null]}`:                "MALFORMED",
		`{"previous":[{}]}`:                  "MALFORMED",
		`{"previous":[{"standing":"fact"}]}`: "MALFORMED",
		`{"previous":[{"toolCallId":""}]}`:   "MALFORMED",
		`{"previous":[{"toolCallId":7}]}`:    "MALFORMED",
		`{"previous":[{"toolCallId":null}]}`: "MALFORMED",
		`{"previous":[{"toolCallId":"a"},{"standing":"open"}]}`:                                "-identity MALFORMED",
		`{"previous":[{"toolCallId":"a","tool_call_id":"b"}]}`:                                 "MALFORMED",
		`{"Previous":[{"toolCallId":"b"}]}`:                                                    "MALFORMED",
		`{"previous":[{"toolCallId":"a"}],"PREVIOUS":[{"toolCallId":"b"}]}`:                    "-identity MALFORMED",
		`{"previous":[` + strings.Repeat(`{"toolCallId":"a"},`, 4096) + `{"toolCallId":"a"}]}`: "MALFORMED",
		`null`:                               "",
		`{}`:                                 "",
		`{"previous":null}`:                  "",
		`{"previous":[]}`:                    "",
		`{"previous":[{"toolCallId":"a"}]}`:  "-identity",
		`{"previous":[{"toolCallId":" a"}]}`: "NOT_SERVED",
		`{"previous":[{"toolCallId":"a","standing":"fact"},{"toolCallId":"a","standing":"open"}]}`: "-fact -identity",
	} {
		d := declared(t, value)
		same(t, value[:min(len(value), 90)], reasons(findings.Admit(w, d)), want)
		same(t, value[:min(len(value), 90)]+" without a witness", findings.Admit(nil, d).Refused(), want != "")
	}
	whole := `{"previous":[` + strings.Repeat(`{"toolCallId":"a"},`, 4095) + `{"toolCallId":"a"}]}`
	same(t, "4096 citations", findings.Admit(w, declared(t, whole)).Refused(), false)
}

func TestT95_F38_F37_words(t *testing.T) {
	t.Parallel()
	d := declared(t, `{"basis":"exploratory","expect":"high","proposition":"p\nq","predicts":"r","previous":[]}`)
	same(t, "words", d, findings.Declaration{Basis: "exploratory", Expect: "high", Proposition: "p q", Predicts: "r"})
	same(t, "cites", d.Cites(), false)
	d = declared(t, `{"basis":"Direct","expect":7,"proposition":[],"other":1,"previous":[
		{"toolCallId":"a","standing":"Fact","line":3,"note":"x","assertions":"x"},
		{"toolCallId":"b","standing":null,"line":null,"assertions":null},
		{"toolCallId":"c","assertions":[7,{"subject":{"kind":"","id":"x"},"predicate":"p","value":"v"},{"subject":{"kind":"k","id":"x"},"predicate":"p","value":5},
			{"subject":{"kind":"k","id":"x"},"predicate":"p","value":"v"}]}]}`)
	same(t, "dropped", d.Dropped, 4+4+3)
	same(t, "nothing is a default", []any{d.Basis, d.Expect, d.Previous[0].Standing, d.Previous[0].Line}, []any{"", "", "", ""})
	same(t, "kept", fmt.Sprint(d.Previous[2].Assertions), "[{{k x} p v}]")
	parts, err := findings.Split(request(t, `{"city":"Oslo","_findings":{"basis":"direct"}}`))
	same(t, "T95: what the tool gets", []any{string(parts.Arguments.Bytes()), err}, []any{`{"city":"Oslo"}`, nil})
}

func TestF47_bounds_of_texts(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{"x", "é", "語", "😀"} {
		for n, want := range map[int]string{240: strings.Repeat(unit, 240), 241: strings.Repeat(unit, 239) + "…", 5000: strings.Repeat(unit, 239) + "…"} {
			text := strings.Repeat(unit, n)
			d := declared(t, `{"proposition":"`+text+`","predicts":"`+text+`","previous":[{"toolCallId":"a","line":"`+text+`"}]}`)
			same(t, fmt.Sprint(unit, n), []string{d.Proposition, d.Predicts, d.Previous[0].Line}, []string{want, want, want})
		}
	}
	one := `{"subject":{"kind":"k","id":"x"},"predicate":"p","value":"v"},`
	for n, want := range map[int][2]int{8: {8, 0}, 9: {8, 1}, 20: {8, 12}} {
		d := declared(t, `{"previous":[{"toolCallId":"a","assertions":[`+strings.TrimSuffix(strings.Repeat(one, n), ",")+`]}]}`)
		same(t, fmt.Sprint(n, " assertions"), [2]int{len(d.Previous[0].Assertions), d.Previous[0].Cut}, want)
	}
}

func TestT98_F23_frames_are_capped(t *testing.T) {
	t.Parallel()
	frame := func(characters int, unit string) *findings.Frame {
		return declared(t, `"`+strings.Repeat(unit, characters-2)+`"`).Frame
	}
	for _, unit := range []string{"x", "é", "😀"} {
		whole := frame(8192, unit)
		same(t, unit+" 8192", []any{utf8.RuneCountInString(whole.Text), whole.Characters, whole.Truncated, strings.HasSuffix(whole.Text, unit+`"`)}, []any{8192, 8192, false, true})
		for _, n := range []int{8193, 20000} {
			cut := frame(n, unit)
			same(t, fmt.Sprint(unit, n), []any{utf8.RuneCountInString(cut.Text), cut.Characters, cut.Truncated, strings.HasSuffix(cut.Text, unit+"…"), utf8.ValidString(cut.Text)},
				[]any{8192, n, true, true, true})
		}
	}
}

// T96, F19, F49: a tool that owns the name is not split, one that only has it in
// its schema cannot be armed.
func TestT96_F19_F49_owners_of_the_name(t *testing.T) {
	t.Parallel()
	owns := []byte(`{"type":"object","properties":{"_findings":{"type":"string"}}}`)
	escaped := []byte(`{"properties":{"\u005ffindings":true}}`)
	deeper := []byte(`{"properties":{"a":{"properties":{"_findings":{}}}},"required":["_findings"]}`)
	err := findings.CheckTools(
		findings.ToolShape{Name: "owner", Schema: owns, OwnsReserved: true},
		findings.ToolShape{Name: "plain"},
		findings.ToolShape{Name: "deeper", Schema: deeper},
		findings.ToolShape{Name: "any", Schema: []byte("true")},
		findings.ToolShape{Name: "brings", Schema: owns},
		findings.ToolShape{Name: "brings it escaped", Schema: escaped},
		findings.ToolShape{Name: "broken", Schema: []byte(`{"properties":[]}`)},
		findings.ToolShape{Name: "no schema", Schema: []byte(`7`)},
	)
	for _, part := range []string{"tools[4]", "tools[5]", "tool 6", "tool 7"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("got %v, want it to have %q", err, part)
		}
	}
	same(t, "problems", strings.Count(err.Error(), "\n"), 3)
	same(t, "all well", findings.CheckTools(findings.ToolShape{Schema: owns, OwnsReserved: true}, findings.ToolShape{Schema: deeper}), nil)
}

func compiled(t *testing.T, schema []byte) *jsonschema.Schema {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("s.json", value); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("s.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func valid(t *testing.T, s *jsonschema.Schema, text string) bool {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(value) == nil
}

func TestT97_F45_F34_a_closed_schema_stays_closed(t *testing.T) {
	t.Parallel()
	own := []byte(`{"type":"object","additionalProperties":false,"properties":{"city":{"type":"string"}},"required":["city"]}`)
	shown, err := findings.AddArgument(own, findings.ArgumentSchema(findings.Offer{}))
	if err != nil {
		t.Fatal(err)
	}
	emitted := `{"city":"Oslo","_findings":{"basis":"direct","previous":[{"toolCallId":"a","standing":"fact","line":"l",
		"assertions":[{"subject":{"kind":"k","id":"i"},"predicate":"p","value":"v"}]}]}}`
	parts, err := findings.Split(request(t, emitted))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "what the model is shown takes it", valid(t, compiled(t, shown), emitted), true)
	same(t, "and is closed, too", valid(t, compiled(t, shown), `{"city":"Oslo","_findings":{"why":"x"}}`), false)
	same(t, "the tool's own does not", valid(t, compiled(t, own), emitted), false)
	same(t, "until it is taken off", valid(t, compiled(t, own), string(parts.Arguments.Bytes())), true)
	same(t, "the reader agrees", []any{parts.Declaration.Dropped, parts.Declaration.Frame == nil, len(parts.Declaration.Previous[0].Assertions)}, []any{0, true, 1})
}

func TestAddArgument(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{}`:                                  `{"properties":{"_findings":A}}`,
		` {"type":"object"}`:                  ` {"properties":{"_findings":A},"type":"object"}`,
		`{"properties":{}}`:                   `{"properties":{"_findings":A}}`,
		`{"properties": { "a":1 },"x":1.50 }`: `{"properties": {"_findings":A, "a":1 },"x":1.50 }`,
		`{"properties":{"_findings":{}}}`:     "error",
		`{"properties":[]}`:                   "error",
		`true`:                                "error",
		``:                                    "error",
		`{"a":1}{}`:                           "error",
	} {
		got, err := findings.AddArgument([]byte(in), []byte("A"))
		if err != nil {
			got = []byte("error")
		}
		same(t, in, string(got), want)
	}
	offer := findings.NewOffer(witness(t, executed("a", "b/+=@~|:.c")), nil)
	var schema struct {
		Properties struct {
			Previous struct {
				Items struct {
					Properties struct{ ToolCallID struct{ Enum []string } }
				}
			}
		}
	}
	if err := json.Unmarshal(findings.ArgumentSchema(offer), &schema); err != nil {
		t.Fatal(err)
	}
	same(t, "enum", schema.Properties.Previous.Items.Properties.ToolCallID.Enum, []string{"b/+=@~|:.c", "a"})
	if text := string(findings.ArgumentSchema(findings.Offer{})); !strings.Contains(text, `"toolCallId":{"type":"string"},`) {
		t.Errorf("without an offer ids are limited: %s", text)
	}
}
