package conversation_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/toolharness/harness/cmd/harness/internal/conversation"
)

// recording is what provider-recordings says about one of its lines.
type recording struct {
	Name          string
	Calls         int
	Results       int
	IDs           []*string `json:"call_ids"`
	ResultIDs     []*string `json:"result_ids"`
	InResponses   []*string `json:"ids_in_responses"`
	UnpairedCalls []*string `json:"unpaired_calls"`
	Unpaired      []*string `json:"unpaired_results"`
}

// texts are ids where null is none.
func texts(ids []*string) []string {
	all := []string{}
	for _, id := range ids {
		if id == nil {
			all = append(all, "")
		} else {
			all = append(all, *id)
		}
	}
	return all
}

func TestSharedData_provider_recordings(t *testing.T) {
	t.Parallel()
	folder := sharedData(t, "provider-recordings")
	var wires map[string]json.RawMessage
	decode(t, load(t, folder, "expected.json"), &wires)
	for _, wire := range []string{"openai-chat", "openai-responses", "anthropic-messages", "gemini-generate-content", "bedrock-converse"} {
		t.Run(wire, func(t *testing.T) {
			t.Parallel()
			var want struct {
				Recordings, Calls, Results int
				NoID                       int         `json:"null_ids"`
				Distinct                   int         `json:"distinct_ids"`
				Detail                     []recording `json:"recordings_detail"`
			}
			decode(t, wires[wire], &want)
			data := load(t, folder, wire+".jsonl")
			all := read(t, data)
			same(t, "counts", counted(all), count{conversations: want.Recordings, calls: want.Calls, results: want.Results, noID: want.NoID})
			same(t, "distinct ids", distinct(callsOf(all)), want.Distinct)
			lines := bytes.SplitAfter(bytes.TrimSpace(data), []byte("\n"))
			if len(lines) != len(want.Detail) || len(all) != len(lines) {
				t.Fatalf("got %d conversations in %d lines, want %d", len(all), len(lines), len(want.Detail))
			}
			streamed := 0
			for i, detail := range want.Detail {
				eachRecording(t, all[i], detail)
				streamed += eachResponse(t, lines[i], wire, all[i], detail)
			}
			t.Logf("%d recordings, %d calls; %d calls put together from streams are the ones the requests carry", len(all), want.Calls, streamed)
		})
	}
}

// eachRecording compares ids in their order, and that ids of results are those of their calls.
func eachRecording(t *testing.T, got conversation.Conversation, want recording) {
	t.Helper()
	ids, results := []string{}, []string{}
	for _, c := range got.Calls {
		ids = append(ids, c.ID)
		if c.HasResult {
			results = append(results, c.ID)
		}
	}
	same(t, want.Name+": call ids", ids, texts(want.IDs))
	answered := texts(want.ResultIDs)
	slices.Sort(answered)
	slices.Sort(results)
	same(t, want.Name+": result ids", results, answered)
	same(t, want.Name+": unpaired", []int{len(got.Calls) - len(results), got.Unmatched}, []int{len(want.UnpairedCalls), len(want.Unpaired)})
}

// eachResponse reads every response as if nobody had gone on from it. Whole ones have the ids that the set lists; it
// lists no streamed ones, and for Bedrock an empty id for some blocks that are no calls. What a stream says of a call
// must be what the host reported back, though hosts fill in empty arguments.
func eachResponse(t *testing.T, line []byte, wire string, reported conversation.Conversation, want recording) int {
	t.Helper()
	var whole struct {
		Exchanges []struct{ Response json.RawMessage }
	}
	decode(t, line, &whole)
	ids, streamed := []string{}, 0
	for _, e := range whole.Exchanges {
		if len(e.Response) == 0 {
			continue
		}
		for _, call := range callsOf(read(t, []byte(`{"request":{},"response":`+string(e.Response)+`}`))) {
			if e.Response[0] != '"' {
				ids = append(ids, call.ID)
				continue
			}
			at := slices.IndexFunc(reported.Calls, func(c conversation.Call) bool { return c.ID == call.ID && c.Name == call.Name })
			if at < 0 {
				t.Logf("%s: the host reported the streamed call under another id", want.Name)
				continue
			}
			same(t, want.Name+": arguments", compacted(call.Arguments), compacted(reported.Calls[at].Arguments))
			streamed++
		}
	}
	listed := texts(want.InResponses)
	if wire == "bedrock-converse" {
		listed = slices.DeleteFunc(listed, func(id string) bool { return id == "" })
	}
	same(t, want.Name+": ids in responses", ids, listed)
	return streamed
}

// The recordings that live here run everywhere: five providers, four of them streamed.
func TestRecordedExchanges(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ want, first string }{
		"openai-chat": {`
			line 1
			1 "toolu_bdrk_01FnJwNhnbF7UbXLQGHJ5dda" weather({"latitude":"52.5200","longitude":"13.4050"}) -> Current weather at 52.5200, 13.4050: 15°C, Wind: 10 km/h
			5 "toolu_bdrk_01HVmcMRS4tqD3nYTceCxwWE" weather({"latitude":"48.8575","longitude":"2.3514"}) -> Current weather at 48.8575, 2.3514: 15°C, Wind: 10 km/h`, ""},
		"openai-responses": {`
			line 1 unmatched 0 outside 1
			1 "fc_67e554a1de488191af0831d35cbe082e0794405d35281ae2" get_capital({"country":"France"}) -> Paris`,
			`call_kL0PCQV7M2WMoVX8V8OtYSAL get_capital {"country":"France"}`},
		"anthropic-messages": {`
			line 1
			1 "toolu_01MKSN7NHsBVKr7Jvw5pqCQq" weather({"latitude":"52.5200","longitude":"13.4050"}) -> [{"type":"text","text":"Current weather at 52.5200, 13.4050: 15°C, Wind: 10 km/h"}]
			5 "toolu_01WyBDTrFVoidP92YhrB1xZ2" weather({"latitude":"48.8575","longitude":"2.3514"}) -> [{"type":"text","text":"Current weather at 48.8575, 2.3514: 15°C, Wind: 10 km/h"}]`,
			`toolu_01MKSN7NHsBVKr7Jvw5pqCQq weather {"latitude": "52.5200", "longitude": "13.4050"}`},
		"gemini-generate-content": {`
			line 1
			1 "" best_language_to_learn({}) -> {"name":"best_language_to_learn","content":[{"text":"Ruby"}]}
			5 "" best_language_to_learn({}) -> {"name":"best_language_to_learn","content":[{"text":"Ruby"}]}`,
			` best_language_to_learn {}`},
		"bedrock-converse": {`
			line 1
			1 "tooluse_XjTErzm6TpyMMpDviNVY3g" get_weather({"city":"Paris"}) -> [{"text":"Sunny, 22C in Paris"}]`,
			`tooluse_XjTErzm6TpyMMpDviNVY3g get_weather {"city":"Paris"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := load(t, "testdata/recorded", name+".jsonl")
			check(t, string(data), test.want)
			var whole struct {
				Exchanges []struct{ Response json.RawMessage }
			}
			decode(t, data, &whole)
			calls := callsOf(read(t, []byte(`{"request":{},"response":`+string(whole.Exchanges[0].Response)+`}`)))
			got := ""
			if len(calls) > 0 {
				got = strings.Join([]string{calls[0].ID, calls[0].Name, string(calls[0].Arguments)}, " ")
			}
			if got != test.first {
				t.Errorf("first response: got %q, want %q", got, test.first)
			}
		})
	}
}
