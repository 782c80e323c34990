package recording_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolharness/harness/cmd/harness/internal/demo/data"
	"github.com/toolharness/harness/cmd/harness/internal/recording"
)

func TestParseFindsEveryRecordedCall(t *testing.T) {
	t.Parallel()
	var expected []struct {
		Line    int      `json:"line"`
		Calls   int      `json:"calls"`
		Results int      `json:"results"`
		Without []string `json:"calls_without_result"`
		AtOnce  int      `json:"max_parallel"`
	}
	if err := json.Unmarshal([]byte(data.ConversationsExpected()), &expected); err != nil {
		t.Fatal(err)
	}
	all, err := recording.Parse(data.Conversations())
	if err != nil || len(all) != len(expected) || len(all) != 9 {
		t.Fatalf("got %d conversations, %v, want %d", len(all), err, len(expected))
	}
	total := 0
	for i, want := range expected {
		c := all[i]
		results, atOnce, perMessage := 0, 0, map[int]int{}
		var without []string
		for _, call := range c.Calls {
			total++
			perMessage[call.Message]++
			atOnce = max(atOnce, perMessage[call.Message])
			if call.HasResult {
				results++
			} else {
				without = append(without, call.ID)
			}
			if !strings.Contains(data.Conversations(), `"id":"`+call.ID+`"`) && !strings.Contains(data.Conversations(), `"id": "`+call.ID+`"`) {
				t.Errorf("line %d: id %q is not in the text as it is", c.Line, call.ID)
			}
			if !json.Valid([]byte(call.Arguments)) {
				t.Errorf("line %d: arguments of %q are no JSON", c.Line, call.ID)
			}
		}
		if c.Line != want.Line || len(c.Calls) != want.Calls || results != want.Results || atOnce != want.AtOnce {
			t.Errorf("line %d: got %d calls, %d results, %d at once; want %+v", c.Line, len(c.Calls), results, atOnce, want)
		}
		if strings.Join(without, " ") != strings.Join(want.Without, " ") {
			t.Errorf("line %d without result: got %v, want %v", c.Line, without, want.Without)
		}
	}
	if total != 17 {
		t.Errorf("got %d calls, want 17", total)
	}
}

func TestParseKeepsTextsAsTheyAre(t *testing.T) {
	t.Parallel()
	const line = `{"source":"s","messages":[{"role":"user","content":"q"},{"role":"assistant","content":null,"tool_calls":[` +
		`{"id":" A ","function":{"name":"f","arguments":"{ \"n\": 9007199254740993 }"}},{"id":"b","function":{"name":"f","arguments":""}}]},` +
		`{"role":"tool","tool_call_id":" A ","content":"r\n"},{"role":"assistant","content":"done"}]}`
	all, err := recording.Parse("\n" + line + "\n")
	if err != nil || len(all) != 1 {
		t.Fatalf("got %v, %v", all, err)
	}
	c := all[0]
	if c.Line != 2 || c.Source != "s" || c.Question != "q" || c.Answer != "done" || len(c.Calls) != 2 {
		t.Fatalf("got %+v", c)
	}
	want := recording.Call{ID: " A ", Tool: "f", Arguments: `{ "n": 9007199254740993 }`, Message: 1, Recorded: "r\n", HasResult: true}
	if c.Calls[0] != want {
		t.Errorf("got %+v, want %+v", c.Calls[0], want)
	}
	if c.Calls[1].HasResult || c.Calls[1].Message != 1 {
		t.Errorf("got %+v, want a call without a result from the same message", c.Calls[1])
	}
}

func TestParseRefusesWhatItDoesNotUnderstand(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"not json":      `{"messages": marker_7`,
		"array":         `["marker_7"]`,
		"foreign id":    `{"messages":[{"role":"tool","tool_call_id":"marker_7","content":""}]}`,
		"second result": `{"messages":[{"role":"assistant","tool_calls":[{"id":"marker_7"}]},{"role":"tool","tool_call_id":"marker_7"},{"role":"tool","tool_call_id":"marker_7"}]}`,
		"repeated id":   `{"messages":[{"role":"assistant","tool_calls":[{"id":"marker_7"},{"id":"marker_7"}]}]}`,
	} {
		all, err := recording.Parse(`{"messages":[]}` + "\n" + text)
		if err == nil || all != nil || !strings.Contains(err.Error(), "line 2") || strings.Contains(err.Error(), "marker_7") {
			t.Errorf("%s: got %v, %v, want an error that names line 2 and quotes nothing", name, all, err)
		}
	}
}
