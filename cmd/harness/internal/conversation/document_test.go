package conversation_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/toolharness/harness/cmd/harness/internal/conversation"
)

func itoa(n int) string { return strconv.Itoa(n) }

const (
	asks    = `{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]}`
	answers = `{"role":"tool","tool_call_id":"a","content":"r"}`
	asks2   = `{"role":"assistant","tool_calls":[{"id":"b","function":{"name":"f","arguments":"{}"}}]}`
)

func TestReadEveryContainer(t *testing.T) {
	t.Parallel()
	one := "\n0 \"a\" f({}) -> r"
	for name, test := range map[string]struct{ text, want string }{
		"a list":                          {`[` + asks + `,` + answers + `]`, "line 1" + one},
		"a list in lines, blank ones too": {"\ufeff\n\n" + asks + "\r\n\n" + answers + "\n", "line 3" + one},
		"an object":                       {`{"messages":[` + asks + `,` + answers + `]}`, "line 1" + one},
		"an object without calls":         {`{"messages":[{"role":"user","content":"q"}]}`, "line 1"},
		"an object with an empty list":    {`{"messages":[ ]}`, "line 1"},
		"objects in lines": {`{"messages":[` + asks + `,` + answers + `]}` + "\n" + `{"messages":[` + asks + `,` + answers + `]}`,
			"line 1" + one + "\nline 2" + one},
		"a list of objects": {"[\n" + `{"messages":[` + asks + `,` + answers + `]}` + ",\n" + `{"messages":[` + asks + `]}]`,
			"line 2" + one + "\nline 3\n0 \"a\" f({}) no result"},
		"a list of lists":                       {"[[" + asks + "," + answers + "],\n[" + asks + "," + answers + "]]", "line 1" + one + "\nline 2" + one},
		"a list under a name that nobody knows": {`{"n":1,"run":{"steps":[` + asks + `,` + answers + `]}}`, "line 1" + one},
		"lists under several names": {`{"chosen":[` + asks + `,` + answers + `],"rejected":[` + asks + `]}`,
			"line 1" + one + "\nline 1\n0 \"a\" f({}) no result"},
		"the shallowest list counts, deeper ones repeat it": {`{"trajectory":[{"query":[` + asks + `]}],"history":[` + asks + `,` + answers + `]}`, "line 1" + one},
		"messages wrapped one by one, lines of the recorder between": {`{"type":"session","id":"x"}` + "\n" + `{"type":"user","message":{"role":"user","content":"q"}}` + "\n" +
			`{"type":"assistant","message":` + asks + `}` + "\n" + `{"type":"snapshot","files":{}}` + "\n" + `{"type":"user","message":` + answers + `}`,
			"line 2\n1 \"a\" f({}) -> r"},
		"items wrapped one by one": {`{"type":"response_item","payload":{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}}` + "\n" +
			`{"type":"response_item","payload":{"type":"function_call_output","call_id":"a","output":"r"}}`, "line 1" + one},
		"a file without a last line end": {asks + "\n" + answers, "line 1" + one},
		"a log of requests repeats the history": {`{"model":"m","messages":[{"role":"user","content":"q"}]}` + "\n" +
			`{"model":"m","messages":[{"role":"user","content":"q"},` + asks + `,` + answers + `]}` + "\n" +
			`{"model":"m","messages":[{"role":"user","content":"other"},` + asks + `]}` + "\n" +
			`{"model":"m","messages":[{"role":"user","content":"q"},` + asks + `,` + answers + `,` + asks2 + `]}`,
			"line 4\n1 \"a\" f({}) -> r\n3 \"b\" f({}) no result\nline 3\n1 \"a\" f({}) no result"},
		"two formats in one file": {`{"messages":[` + asks + `,` + answers + `]}` + "\n" + `{"contents":[{"parts":[{"functionCall":{"name":"g","args":{}}}]}]}`,
			"line 1" + one + "\nline 2\n0 \"\" g({}) no result"},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			check(t, test.text, test.want)
		})
	}
}

// Deep JSON inside arguments and results is no matter of the reader, and neither is a line of a megabyte.
func TestReadOfLargeAndDeepValues(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"a":[`, 4000) + strings.Repeat(`]}`, 4000)
	long := strings.Repeat("x", 1<<20)
	check(t, `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":`+deep+`}]}`+"\n"+
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"`+long+`"}]}`+"\n",
		"line 1\n0 \"a\" f("+deep+") -> "+long)
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	good := `{"messages":[` + asks + `]}` + "\n"
	call := func(members string) string {
		return `{"messages":[{"role":"assistant","tool_calls":[{` + members + `}]}]}`
	}
	for name, test := range map[string]struct {
		text   string
		line   int
		reason conversation.Reason
	}{
		"nothing":                    {"", 0, conversation.ReasonUnknown},
		"blank":                      {" \n\n", 0, conversation.ReasonUnknown},
		"prose":                      {"marker_7 said something", 0, conversation.ReasonUnknown},
		"JSON of something else":     {`{"marker_7":[{"name":"x"},{"response":1}]}`, 0, conversation.ReasonUnknown},
		"a number":                   {`7`, 0, conversation.ReasonUnknown},
		"YAML of VCR":                {"\ninteractions:\n- request: marker_7\n", 2, conversation.ReasonYAML},
		"YAML with a header":         {"---\nhttp_interactions:\n", 1, conversation.ReasonYAML},
		"a cut line":                 {good + good + `{"messages":[{"role":"marker_7"`, 3, conversation.ReasonSyntax},
		"a cut line before another":  {good + `{"messages":[{"role":"marker_7` + "\n" + good, 2, conversation.ReasonSyntax},
		"words behind the last line": {good + "marker_7", 2, conversation.ReasonSyntax},
		"a fault inside one object":  {"{\n\"messages\":[\nmarker_7]}", 3, conversation.ReasonSyntax},
		"a cut object":               {"{\n\"messages\":[\n", 3, conversation.ReasonSyntax},
		"deeper than JSON readers go": {`{"messages":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`, 1,
			conversation.ReasonSyntax},
		"half a surrogate in an id":         {good + call(`"id":"marker_7\ud800","function":{"name":"f"}`), 2, conversation.ReasonText},
		"two high surrogates in a name":     {call(`"id":"a","function":{"name":"\ud83d\ud83d\ude00"}`), 1, conversation.ReasonText},
		"a low surrogate in arguments":      {call(`"id":"a","function":{"name":"f","arguments":"\ude00"}`), 1, conversation.ReasonText},
		"no UTF-8 in arguments":             {call(`"id":"a","function":{"name":"f","arguments":"` + "\xff" + `"}`), 1, conversation.ReasonText},
		"no UTF-8 in a result":              {`{"messages":[{"role":"tool","tool_call_id":"a","content":"` + "\xc3" + `"}]}`, 1, conversation.ReasonText},
		"an id twice":                       {call(`"id":"a","function":{"name":"f"},"id":"marker_7"`), 1, conversation.ReasonDuplicate},
		"arguments twice, once escaped":     {call(`"id":"a","function":{"name":"f","arguments":"{}","\u0061rguments":"{}"}`), 1, conversation.ReasonDuplicate},
		"content twice":                     {"\n" + `{"messages":[{"role":"tool","tool_call_id":"a","content":"1","content":"2"}]}`, 2, conversation.ReasonDuplicate},
		"messages twice":                    {`{"messages":[` + asks + `],"messages":[]}`, 1, conversation.ReasonDuplicate},
		"an id that is a number":            {call(`"id":7,"function":{"name":"f"}`), 1, conversation.ReasonShape},
		"a name that is an object":          {call(`"id":"a","function":{"name":{"marker_7":1}}`), 1, conversation.ReasonShape},
		"tool_calls that are an object":     {`{"messages":[{"role":"assistant","tool_calls":{"marker_7":1}}]}`, 1, conversation.ReasonShape},
		"a body cut off":                    {good + `{"request":"{\"messages\":[marker_7","response":null}`, 2, conversation.ReasonSyntax},
		"a body that is half a surrogate":   {`{"request":"{\"messages\":\ud800}","response":null}`, 1, conversation.ReasonText},
		"a stream with a cut piece":         {"\ndata: {\"choices\":[]}\n\ndata: {\"marker_7\n\n", 4, conversation.ReasonSyntax},
		"envelopes around envelopes":        {`{"request":` + strings.Repeat(`{"body":`, 14) + `1` + strings.Repeat(`}`, 14) + `,"response":1}`, 1, conversation.ReasonDepth},
		"a stream in a body, cut in pieces": {`{"request":{"messages":[]},"response":"data: {\"choices\":[}\n\n"}`, 1, conversation.ReasonSyntax},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			all, err := conversation.Read("dir/file.json", []byte(test.text))
			var typed *conversation.Error
			if !errors.As(err, &typed) || all != nil {
				t.Fatalf("got %v, %v, want an *Error and nothing else", all, err)
			}
			want := conversation.Error{File: "dir/file.json", Line: test.line, Reason: test.reason}
			if *typed != want {
				t.Errorf("got %+v, want %+v", *typed, want)
			}
			if strings.Contains(err.Error(), "marker_7") || !strings.Contains(err.Error(), "dir/file.json") {
				t.Errorf("got %q, want the file's name and nothing of its content", err)
			}
			if (test.line > 0) != strings.Contains(err.Error(), "line "+itoa(test.line)) {
				t.Errorf("got %q, want line %d", err, test.line)
			}
		})
	}
}

func TestReadRefusesTooLarge(t *testing.T) {
	t.Parallel()
	all, err := conversation.Read("big", make([]byte, conversation.MaxBytes+1))
	want := conversation.Error{File: "big", Reason: conversation.ReasonTooLarge}
	var typed *conversation.Error
	if !errors.As(err, &typed) || *typed != want || all != nil {
		t.Errorf("got %v, %v, want %v", all, err, want)
	}
}

// What nobody needs may be broken: the reader refuses only what it would have to change.
func TestReadPassesOverWhatItDoesNotNeed(t *testing.T) {
	t.Parallel()
	check(t, `{"messages":[{"role":"user","content":"\ud800"},{"role":"assistant","content":"`+"\xff"+`","x":1,"x":2,
		"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{\"k\":\"\\ud800\"}"}}]},
		{"role":"tool","tool_call_id":"a","content":"\ud83d\ude00"}]}`, `
		line 1
		1 "a" f({"k":"\ud800"}) -> 😀`)
}

// Lists inside lists inside lists cost no more than MaxNesting looks at each.
func TestReadOfListsInLists(t *testing.T) {
	t.Parallel()
	one := `{"messages":[` + asks + `]}`
	nested := strings.Repeat("["+one+",", 9000) + one + strings.Repeat("]", 9000)
	all, err := conversation.Read("f", []byte(nested))
	if err != nil || len(all) != conversation.MaxNesting {
		t.Errorf("got %d conversations, %v, want %d", len(all), err, conversation.MaxNesting)
	}
	objects := strings.Repeat(`{"message":`, 9000) + asks + strings.Repeat(`}`, 9000)
	if all, err := conversation.Read("f", []byte(objects)); err == nil {
		t.Errorf("got %v, want an error", all)
	}
}

// Of the members of one object only the nearest lists count, of a list each element does.
func TestNearest(t *testing.T) {
	t.Parallel()
	deep := `{"a":{"b":[` + asks + `]}}`
	check(t, `[`+deep+`,{"c":[`+asks2+`]}]`, "line 1\n0 \"a\" f({}) no result\nline 1\n0 \"b\" f({}) no result")
	check(t, `{"x":`+deep+`,"y":{"c":[`+asks2+`]}}`, "line 1\n0 \"b\" f({}) no result")
	check(t, `{"x":[`+deep+`],"y":[1,{"c":[`+asks2+`]}]}`, "line 1\n0 \"b\" f({}) no result")
	check(t, `[{"messages":[`+asks+`]},`+deep+`]`, "line 1\n0 \"a\" f({}) no result\nline 1\n0 \"a\" f({}) no result")
}

// MaxNesting bounds the search, so that a hostile file cannot make the reader recurse or rescan without end.
func TestReadStopsLooking(t *testing.T) {
	t.Parallel()
	wrap := func(n int) []byte {
		return []byte(strings.Repeat(`{"x":`, n) + `[` + asks + `]` + strings.Repeat(`}`, n))
	}
	if all, err := conversation.Read("f", wrap(conversation.MaxNesting-1)); err != nil || len(all) != 1 || len(all[0].Calls) != 1 {
		t.Errorf("at the limit got %v, %v, want one call", all, err)
	}
	if all, err := conversation.Read("f", wrap(conversation.MaxNesting)); err == nil {
		t.Errorf("over the limit got %v, want an error", all)
	}
}
