package conversation_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/toolharness/harness/cmd/harness/internal/conversation"
)

// plain writes calls without what depends on the spelling of a file: lines, and space between tokens.
func plain(all []conversation.Conversation) string {
	var b strings.Builder
	for _, c := range all {
		for _, call := range c.Calls {
			b.WriteString(strings.Join([]string{itoa(call.Turn), call.ID, call.Name, compacted(call.Arguments), compacted(call.Result)}, "|"))
			if !call.HasResult {
				b.WriteString("|none")
			}
			b.WriteString("\n")
		}
		b.WriteString("--\n")
	}
	return b.String()
}

// A file that is cut off anywhere is an error. It never is a shorter conversation.
func TestEveryCutIsAnError(t *testing.T) {
	t.Parallel()
	for name, test := range formats() {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			for cut := range len(test[0]) {
				all, err := conversation.Read("x", []byte(test[0][:cut]))
				if err == nil {
					t.Fatalf("cut at %d of %d: got %v, want an error", cut, len(test[0]), all)
				}
			}
		})
	}
}

// A line that is lost takes no other with it: what is left pairs as before, or is told as unanswered or unmatched.
func TestEveryLostLineIsTold(t *testing.T) {
	t.Parallel()
	lines := []string{`{"role":"user","content":"q"}`, ask("a", "f", "{}"), give("a", "1"), ask("b", "g", "{}"), give("b", "2"), ask("a", "f", "{}"), give("a", "3")}
	for lost := range lines {
		kept := slices.Delete(slices.Clone(lines), lost, lost+1)
		c := counted(read(t, []byte(strings.Join(kept, "\n"))))
		want := count{conversations: 1, calls: 3, results: 3, repeated: 1}
		switch {
		case lost == 0:
		case lost%2 == 1: // a call: its result is left over
			want.calls, want.results, want.strays = 2, 2, 1
		default: // a result: its call is unanswered
			want.results, want.unanswered = 2, 1
		}
		if lost == 1 || lost == 5 {
			want.repeated = 0
		}
		same(t, "without line "+itoa(lost+1), c, want)
	}
}

// The space between tokens says nothing.
func TestSpaceSaysNothing(t *testing.T) {
	t.Parallel()
	for name, test := range formats() {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			want := plain(read(t, []byte(test[0])))
			var indented, compact bytes.Buffer
			if err := json.Indent(&indented, []byte(test[0]), "", "\t"); err != nil {
				t.Fatal(err)
			}
			if err := json.Compact(&compact, []byte(test[0])); err != nil {
				t.Fatal(err)
			}
			for _, text := range []string{indented.String(), compact.String(), "\ufeff \n" + test[0] + "\r\n\r\n"} {
				if got := plain(read(t, []byte(text))); got != want {
					t.Errorf("got %s, want %s", got, want)
				}
			}
		})
	}
}

// reversed writes every object with its members in the opposite order.
func reversed(raw json.RawMessage) json.RawMessage {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	open, _ := decoder.Token()
	delim, nested := open.(json.Delim)
	if !nested {
		return raw
	}
	var parts []string
	for decoder.More() {
		var name string
		if delim == '{' {
			token, _ := decoder.Token()
			name = quote(token.(string)) + ":"
		}
		var inside json.RawMessage
		if decoder.Decode(&inside) != nil {
			return raw
		}
		parts = append(parts, name+string(reversed(inside)))
	}
	if delim == '[' {
		return json.RawMessage("[" + strings.Join(parts, ",") + "]")
	}
	slices.Reverse(parts)
	return json.RawMessage("{" + strings.Join(parts, ",") + "}")
}

// The order of members says nothing: type may come last, and so may the id.
func TestOrderOfMembersSaysNothing(t *testing.T) {
	t.Parallel()
	for name, test := range formats() {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			ordered := plain(read(t, []byte(test[0])))
			turned := plain(read(t, reversed(json.RawMessage(test[0]))))
			// Arguments and results that are objects are turned too, so only their letters can be compared.
			if sorted(turned) != sorted(ordered) || strings.Count(turned, "\n") != strings.Count(ordered, "\n") {
				t.Errorf("got %s, want %s", turned, ordered)
			}
		})
	}
	for name, test := range streams() {
		var pieces []string
		for _, piece := range test.pieces {
			pieces = append(pieces, string(reversed(json.RawMessage(piece))))
		}
		got, want := plain(read(t, []byte(sse(pieces)))), plain(read(t, []byte(sse(test.pieces))))
		if sorted(got) != sorted(want) {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

func sorted(text string) string {
	letters := []byte(text)
	slices.Sort(letters)
	return string(letters)
}

// Conversations of all formats stand in one file, one a line, in one list, or in one recording, and are read as alone.
func TestFormatsTogether(t *testing.T) {
	t.Parallel()
	var lines, requests []string
	var want, wantRecorded strings.Builder
	var names []string
	for name := range formats() {
		names = append(names, name)
	}
	slices.Sort(names)
	for i, name := range names {
		var compact bytes.Buffer
		if err := json.Compact(&compact, []byte(formats()[name][0])); err != nil {
			t.Fatal(err)
		}
		wrapped := `{"n":` + itoa(i) + `,"run":` + compact.String() + `}`
		lines = append(lines, wrapped)
		alone := plain(read(t, []byte(wrapped)))
		want.WriteString(alone)
		if strings.HasPrefix(formats()[name][0], `{"messages"`) || strings.HasPrefix(formats()[name][0], `{"contents"`) {
			recorded := exchangesOf(formats()[name][0], "null")
			requests = append(requests, recorded)
			wantRecorded.WriteString(plain(read(t, []byte(recorded))))
			same(t, name+" as a recorded request", plain(read(t, []byte(recorded))), alone)
		}
	}
	if len(requests) < 8 {
		t.Fatalf("got %d formats as requests, want at least 8", len(requests))
	}
	same(t, "lines", plain(read(t, []byte(strings.Join(lines, "\n")))), want.String())
	same(t, "a list", plain(read(t, []byte("["+strings.Join(lines, ",")+"]"))), want.String())
	same(t, "recordings", plain(read(t, []byte(strings.Join(requests, "\n")))), wantRecorded.String())
}

// What a stream says is what the same response says whole.
func TestStreamsSayWhatWholeResponsesSay(t *testing.T) {
	t.Parallel()
	for name, whole := range map[string]string{
		"chat":      `{"choices":[{"index":0,"message":{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{ \"k\":1}"}},{"id":"b","function":{"name":"g","arguments":"{}"}}]}}]}`,
		"responses": `{"id":"r1","object":"response","output":[{"type":"reasoning"},{"type":"function_call","call_id":"a","name":"f","arguments":"{\"k\":1}"},{"type":"custom_tool_call","call_id":"b","name":"code","input":"print(1)"}]}`,
		"anthropic": `{"type":"message","role":"assistant","stop_reason":"tool_use","content":[{"type":"text","text":"t"},{"type":"tool_use","id":"a","name":"f","input":{"k": 1}},{"type":"tool_use","id":"b","name":"g","input":{ }},{"type":"server_tool_use","id":"s","name":"web","input":{}}]}`,
		"gemini":    `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"k": 1}}},{"functionCall":{"name":"f","args":{"k": 2}}}]}}]}`,
		"bedrock":   `{"output":{"message":{"role":"assistant","content":[{"text":"t"},{"toolUse":{"toolUseId":"a","name":"f","input":{"k": 1}}}]}}}`,
	} {
		stream := `{"request":{},"response":` + quote(sse(streams()[name].pieces)) + `}`
		same(t, name, show(read(t, []byte(stream))), show(read(t, []byte(`{"request":{},"response":`+whole+`}`))))
		same(t, name+", whole as a text", show(read(t, []byte(`{"request":{},"response":`+quote(whole)+`}`))), show(read(t, []byte(stream))))
	}
}

// Each reason has its own text, and an error without a line names none.
func TestErrorTexts(t *testing.T) {
	t.Parallel()
	seen := map[conversation.Reason]bool{}
	for _, reason := range []conversation.Reason{conversation.ReasonTooLarge, conversation.ReasonSyntax, conversation.ReasonYAML, conversation.ReasonUnknown,
		conversation.ReasonText, conversation.ReasonDuplicate, conversation.ReasonShape, conversation.ReasonDepth} {
		if reason == "" || seen[reason] {
			t.Errorf("the text of a reason is missing or used twice: %q", reason)
		}
		seen[reason] = true
		with := (&conversation.Error{File: "f.json", Line: 3, Reason: reason}).Error()
		without := (&conversation.Error{File: "f.json", Reason: reason}).Error()
		if with != "conversation: f.json: line 3: "+string(reason) || without != "conversation: f.json: "+string(reason) {
			t.Errorf("got %q and %q", with, without)
		}
	}
}

func TestReadAtOnce(t *testing.T) {
	t.Parallel()
	data := []byte(exchangesOf(request(ask("a", "f", "{}"), give("a", "1")), choice(ask("b", "f", "{}"))))
	want := show(read(t, data))
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 50 {
				all, err := conversation.Read("x", data)
				if err != nil || show(all) != want {
					t.Errorf("got %v, %v, want %s", all, err, want)
					return
				}
			}
		})
	}
	wait.Wait()
}
