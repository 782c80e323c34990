package boundary_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/fakes"
	"github.com/toolharness/harness/lifecycle"
)

func TestSchema(t *testing.T) {
	onFake(t, []scenario{
		{"P37_what_breaks_the_schema_is_refused_before_any_store_call", schemaBeforeStore},
		{"P37_a_schema_that_reaches_out_is_refused_at_construction", schemaReachesOut},
		{"P37_a_schema_whole_in_itself_is_taken", schemaWhole},
		{"P37_the_place_is_told_without_the_text", schemaPlaces},
		{"digits_beyond_2_to_the_53_count", schemaDigits},
		{"numbers_that_would_cost_a_validator_its_day", schemaExponents},
		{"the_first_place_is_told_every_time", schemaFirstPlace},
		{"schema_before_own_check_before_authorizer", schemaOrder},
		{"schemas_that_are_none", schemaNone},
		{"drafts", schemaDrafts},
	})
}

// storeCalls counts every message that the process sent to the store.
func (b *bench) storeCalls() int {
	sum := 0
	for _, m := range fakes.Methods() {
		sum += b.faulty.Calls(m)
	}
	return sum
}

// withSchema makes a toolset of one tool with this schema.
func (b *bench) withSchema(schema string, e boundary.Executor) (*boundary.Toolset, error) {
	tool := readTool("tool", e)
	tool.Schema = []byte(schema)
	return boundary.NewToolset(b.ToolBoundary, tool)
}

// judge sends arguments to a tool with a schema and returns what the host is told.
func (b *bench) judge(id, schema, arguments string) error {
	b.t.Helper()
	set, err := b.withSchema(schema, says("1"))
	if err != nil {
		b.t.Fatalf("%s: %v", schema, err)
	}
	got := set.Dispatch(b.t.Context(), b.run, boundary.Call{ID: boundary.ToolCallID(id), Name: "tool", Arguments: []byte(arguments)})[0]
	if got.Err != nil && got.Outcome.Code() != lifecycle.InvalidInput {
		b.t.Fatalf("%s for %s: %v, want READY or INVALID_INPUT", arguments, schema, got.Err)
	}
	return got.Err
}

// wantPlace checks that arguments are refused for this rule at this place.
func (b *bench) wantPlace(schema, arguments, path, rule string) {
	b.t.Helper()
	err := b.judge("c1", schema, arguments)
	broken, ok := errors.AsType[*boundary.SchemaError](err)
	if !ok || broken.Path != path || broken.Rule != rule {
		b.t.Errorf("%s for %s: %v, want %q broken at %q", arguments, schema, err, rule, path)
	}
	if ok && !strings.Contains(err.Error(), broken.Error()) {
		b.t.Errorf("the host's error %q does not have %q", err, broken)
	}
}

func schemaBeforeStore(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	tool := says("1")
	set, err := b.withSchema(`{"type":"object","required":["q"],"properties":{"q":{"type":"string"}},"additionalProperties":false}`, tool)
	if err != nil {
		t.Fatal(err)
	}
	before := b.storeCalls()
	for i, arguments := range []string{`{}`, `{"q":1}`, `{"q":null}`, `{"q":"x","r":1}`, `{"Q":"x"}`} {
		got := set.Dispatch(t.Context(), b.run, boundary.Call{ID: boundary.ToolCallID(fmt.Sprintf("c%d", i)), Name: "tool", Arguments: []byte(arguments)})[0]
		host := wantFailed(t, got, lifecycle.InvalidInput, lifecycle.NotStarted)
		if host.Op != "check the arguments" {
			t.Errorf("%s: operation %q", arguments, host.Op)
		}
		if _, ok := errors.AsType[*boundary.SchemaError](got.Err); !ok {
			t.Errorf("%s: %v, want a *SchemaError", arguments, got.Err)
		}
	}
	if calls := b.storeCalls() - before; calls != 0 {
		t.Errorf("%d messages to the store, want none", calls)
	}
	wantEntered(t, tool, 0)
	got := set.Dispatch(t.Context(), b.run, boundary.Call{ID: "c9", Name: "tool", Arguments: []byte(`{"q":"x"}`)})[0]
	wantReady(t, got, "seen: 1")
	if calls := b.storeCalls() - before; calls != 2 {
		t.Errorf("%d messages for a read that fits, want an admission and an ending", calls)
	}
}

func schemaReachesOut(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	for _, schema := range []string{
		`{"$ref":"file:///etc/hostname"}`, `{"$ref":"other.json"}`, `{"$ref":"./other.json#/a"}`, `{"$ref":"../other"}`, `{"$ref":"/x"}`,
		`{"$ref":"//127.0.0.1:1/x"}`, `{"$ref":"http://127.0.0.1:1/x"}`, `{"$ref":"https://example.com/x#/a"}`, `{"$ref":"urn:example:x"}`,
		`{"$id":"http://example.com/a","$ref":"b"}`, `{"properties":{"a":{"items":{"$ref":"other.json"}}}}`,
		`{"$dynamicRef":"other.json#x"}`, `{"$schema":"http://127.0.0.1:1/meta"}`, `{"$schema":"file:///etc/hostname"}`, `{"$schema":"meta.json"}`,
		`{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveRef":"http://127.0.0.1:1/x"}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"a":{"$ref":"other.json"}},"properties":{"a":{"$ref":"#/definitions/a"}}}`,
		`{"$ref":"deep/","$defs":{"a":{"$id":"deep/","$defs":{"b":{"$ref":"c.json"}},"$ref":"#/$defs/b"}}}`,
	} {
		_, err := b.withSchema(schema, says("1"))
		broken, ok := errors.AsType[*boundary.SchemaError](err)
		if !ok || broken.Rule != "refers to a file or address" {
			t.Errorf("%s: %v, want it refused because it reaches out", schema, err)
		}
		if ok && (strings.Contains(err.Error(), "127.0.0.1") || strings.Contains(err.Error(), "hostname")) {
			t.Errorf("%s: the error repeats the address: %v", schema, err)
		}
	}
}

func schemaWhole(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	for i, c := range []struct{ schema, good, bad string }{
		{`{"$defs":{"a":{"type":"integer"}},"properties":{"n":{"$ref":"#/$defs/a"}}}`, `{"n":1}`, `{"n":"1"}`},
		{`{"$id":"http://example.com/s","$defs":{"a":{"type":"integer"}},"properties":{"n":{"$ref":"#/$defs/a"}}}`, `{"n":1}`, `{"n":"1"}`},
		{`{"$id":"http://example.com/s","$defs":{"a":{"$id":"a","type":"integer"}},"properties":{"n":{"$ref":"a"}}}`, `{"n":1}`, `{"n":"1"}`},
		{`{"$defs":{"a":{"$anchor":"x","type":"integer"}},"properties":{"n":{"$ref":"#x"}}}`, `{"n":1}`, `{"n":"1"}`},
		{`{"properties":{"next":{"$ref":"#"}},"additionalProperties":false}`, `{"next":{"next":{}}}`, `{"next":{"other":{}}}`},
		{`{"properties":{"q":{"pattern":"^[a-z]+$"}}}`, `{"q":"abc"}`, `{"q":"ABC"}`},
		{`{"properties":{"s":{"$ref":"https://json-schema.org/draft/2020-12/schema"}}}`, `{"s":{"type":"object"}}`, `{"s":{"type":7}}`},
		{`{}`, `{"any":"thing"}`, ``},
	} {
		if err := b.judge(fmt.Sprintf("c%d", i), c.schema, c.good); err != nil {
			t.Errorf("%s does not take %s: %v", c.schema, c.good, err)
		}
		if c.bad == "" {
			continue
		}
		if err := b.judge(fmt.Sprintf("d%d", i), c.schema, c.bad); err == nil {
			t.Errorf("%s takes %s", c.schema, c.bad)
		}
	}
}

// schemaPlaces: names that the schema has are told, names that came with the
// arguments are a star, whatever they are made of.
func schemaPlaces(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	const list = `{"properties":{"rows":{"type":"array","items":{"properties":{"name":{"type":"string"}}}}}}`
	for _, c := range []struct{ schema, arguments, path, rule string }{
		{`{"required":["q"]}`, `{}`, "", "required"},
		{`{"additionalProperties":false}`, `{"secret":1}`, "", "additionalProperties"},
		{`{"additionalProperties":{"type":"string"}}`, `{"secret":1}`, "/*", "type"},
		{`{"additionalProperties":{"type":"string"}}`, `{"4111111111111111":1}`, "/*", "type"},
		{`{"additionalProperties":{"type":"string"}}`, `{"-1":1}`, "/*", "type"},
		{`{"patternProperties":{"^x":{"maxLength":1}}}`, `{"xsecret":"ab"}`, "/*", "maxLength"},
		{`{"propertyNames":{"maxLength":3}}`, `{"secret":1}`, "", "propertyNames"},
		{`{"properties":{"a":{"propertyNames":{"pattern":"^k"}}}}`, `{"a":{"secret":1}}`, "/a", "propertyNames"},
		{`{"properties":{"q":{"enum":["a","b"]}}}`, `{"q":"secret"}`, "/q", "enum"},
		{`{"properties":{"q":{"const":"a"}}}`, `{"q":"secret"}`, "/q", "const"},
		{list, `{"rows":[{"name":"a"},{"name":2}]}`, "/rows/1/name", "type"},
		{list, `{"rows":"secret"}`, "/rows", "type"},
		{`{"properties":{"a/b~c":{"type":"string"}}}`, `{"a/b~c":1}`, "/a~1b~0c", "type"},
		{`{"properties":{"m":{"additionalProperties":{"items":{"type":"string"}}}}}`, `{"m":{"secret":["a",1]}}`, "/m/*/1", "type"},
		{`{"properties":{"q":false}}`, `{"q":"secret"}`, "/q", "not valid"},
		{`{"not":{}}`, `{"secret":1}`, "", "not valid"},
		{`{"$ref":"#"}`, `{"secret":1}`, "", "not valid"}, // turns in a circle
		{`{"minProperties":2}`, `{"secret":1}`, "", "minProperties"},
		{`{"dependentRequired":{"a":["b"]}}`, `{"a":"secret"}`, "", "dependentRequired/a"},
		{`{"unevaluatedProperties":false}`, `{"secret":1}`, "/*", "not valid"},
		{`{"properties":{"n":{"maximum":10}}}`, `{"n":11}`, "/n", "maximum"},
		{`{"properties":{"d":{"uniqueItems":true}}}`, `{"d":["secret","secret"]}`, "/d", "uniqueItems"},
	} {
		b.wantPlace(c.schema, c.arguments, c.path, c.rule)
		if err := b.judge("c1", c.schema, c.arguments); err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the host's error repeats the arguments: %v", err)
		}
	}
}

func schemaDigits(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	const exact = `{"properties":{"n":{"const":9007199254740993}}}`
	if err := b.judge("c1", exact, `{"n":9007199254740993}`); err != nil {
		t.Errorf("the number itself: %v", err)
	}
	b.wantPlace(exact, `{"n":9007199254740992}`, "/n", "const") // the same as a float64
	b.wantPlace(`{"properties":{"n":{"maximum":9007199254740992}}}`, `{"n":9007199254740993}`, "/n", "maximum")
	b.wantPlace(`{"properties":{"n":{"type":"integer"}}}`, `{"n":9007199254740993.5}`, "/n", "type")
	b.wantPlace(`{"properties":{"n":{"multipleOf":0.01}}}`, `{"n":4.999}`, "/n", "multipleOf")
	if err := b.judge("c2", `{"properties":{"n":{"type":"integer","multipleOf":0.1}}}`, `{"n":1e3}`); err != nil {
		t.Errorf("1e3 is an integer: %v", err)
	}
}

// schemaExponents: with exact arithmetic each of these costs tens of
// milliseconds; a request has room for thousands.
func schemaExponents(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	const numbers = `{"properties":{"n":{"items":{"type":"number","minimum":0}}}}`
	for _, n := range []string{"1e1001", "1E+999999", "1e-999999", "0e1000001", "-1e99999999999999999999"} {
		b.wantPlace(numbers, `{"n":[0,`+n+`]}`, "/n/1", "number beyond all bounds")
		b.wantPlace(`{}`, `{"other":`+n+`}`, "/*", "number beyond all bounds")
	}
	many := `{"n":[` + strings.Repeat("1e999999,", 7000) + `0]}`
	b.wantPlace(numbers, many, "/n/0", "number beyond all bounds")
	for i, n := range []string{"1e1000", "1e-1000", "1.5E+300", "0e0", "123456789012345678901234567890.5"} {
		if err := b.judge(fmt.Sprintf("c%d", i), numbers, `{"n":[`+n+`],"e":"1e999999"}`); err != nil {
			t.Errorf("%s: %v", n, err)
		}
	}
}

func schemaFirstPlace(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	for range 50 {
		b.wantPlace(`{"properties":{"a":{"type":"integer"},"b":{"type":"integer"},"c":{"type":"integer","minimum":3}}}`,
			`{"c":"x","b":"x","a":"x"}`, "/a", "type")
		b.wantPlace(`{"required":["q"],"minProperties":5,"additionalProperties":false}`, `{"a":1}`, "", "additionalProperties")
	}
}

func schemaOrder(t *testing.T, d *deck) {
	var asked []string
	b := newBench(t, d, setup{config: boundary.Config{Authorizer: authorizing(func() { asked = append(asked, "authorizer") })}})
	own := checking{says("1"), func([]byte) error { asked = append(asked, "check"); return nil }}
	set, err := b.withSchema(`{"required":["q"]}`, own)
	if err != nil {
		t.Fatal(err)
	}
	call := func(id, arguments string) boundary.Result {
		asked = nil
		return set.Dispatch(t.Context(), b.run, boundary.Call{ID: boundary.ToolCallID(id), Name: "tool", Arguments: []byte(arguments)})[0]
	}
	wantFailed(t, call("c1", `{}`), lifecycle.InvalidInput, lifecycle.NotStarted)
	if len(asked) != 0 {
		t.Errorf("asked %v about arguments that the schema refuses", asked)
	}
	wantReady(t, call("c1", `{"q":1}`), "seen: 1")
	if got := strings.Join(asked, ", "); got != "check, authorizer" {
		t.Errorf("asked %s, want the check and then the authorizer", got)
	}
}

func schemaNone(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	for _, schema := range []string{
		`true`, `[]`, `null`, `{"type":"object"`, `{"type":"object"}{}`, `{"a":1,"a":2}`, "{\"a\":\"\xff\"}", `schema`,
		`{"type":7}`, `{"type":"nonsense"}`, `{"properties":[]}`, `{"required":"q"}`, `{"pattern":"(?=x)"}`, `{"pattern":"["}`,
		`{"$ref":"#/$defs/none"}`, `{"minimum":"1"}`, `{"$id":":"}`, `{"$schema":7}`, `{"$anchor":" "}`,
		strings.Repeat(`{"not":`, 200) + `{}` + strings.Repeat(`}`, 200),
	} {
		set, err := b.withSchema(schema, says("1"))
		if _, ok := errors.AsType[*boundary.SchemaError](err); !ok || set != nil {
			t.Errorf("%.40s: %v, want it refused as a *SchemaError", schema, err)
		}
	}
	if _, err := b.withSchema("", says("1")); err != nil {
		t.Errorf("no schema: %v", err)
	}
}

// schemaDrafts: a keyword that one draft has and another ignores tells which one
// counts.
func schemaDrafts(t *testing.T, d *deck) {
	b := newBench(t, d, setup{})
	const rule = `"properties":{"a":{"prefixItems":[{"type":"string"}]}},"dependentRequired":{"a":["b"]}}`
	b.wantPlace(`{`+rule, `{"a":[1],"b":1}`, "/a/0", "type") // 2020-12 unless the schema says otherwise
	b.wantPlace(`{"$schema":"https://json-schema.org/draft/2020-12/schema",`+rule, `{"a":[1],"b":1}`, "/a/0", "type")
	b.wantPlace(`{"$schema":"https://json-schema.org/draft/2019-09/schema",`+rule, `{"a":[1]}`, "", "dependentRequired/a")
	if err := b.judge("c1", `{"$schema":"https://json-schema.org/draft/2019-09/schema",`+rule, `{"a":[1],"b":1}`); err != nil {
		t.Errorf("2019-09 has no prefixItems: %v", err)
	}
	if err := b.judge("c2", `{"$schema":"http://json-schema.org/draft-07/schema#",`+rule, `{"a":[1]}`); err != nil {
		t.Errorf("draft 7 has neither: %v", err)
	}
	b.wantPlace(`{"$schema":"http://json-schema.org/draft-04/schema#","properties":{"n":{"maximum":3,"exclusiveMaximum":true}}}`, `{"n":3}`,
		"/n", "exclusiveMaximum")
}
