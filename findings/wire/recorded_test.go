package wire_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/findings"
	"github.com/toolharness/harness/findings/wire"
	"github.com/toolharness/harness/internal/vectors"
	"github.com/toolharness/harness/lifecycle"
)

// request is one request of a recorded conversation.
type request struct {
	format   wire.Format
	body     []byte
	counted  []string // ids of its results, by the independent count
	previous string   // id of the stored response that it goes on from
	response string   // id of the response to it
}

// formatOf is what a host knows of its own request: recordings of one set may go
// on with another provider.
func formatOf(uri string, otherwise wire.Format) wire.Format {
	for part, format := range map[string]wire.Format{
		"/responses": wire.OpenAIResponses, "/v1/messages": wire.Anthropic, ":generateContent": wire.Gemini,
		":streamGenerateContent": wire.Gemini, "/converse": wire.Bedrock, "/chat/completions": wire.OpenAIChat,
	} {
		if strings.Contains(uri, part) {
			return format
		}
	}
	return otherwise
}

// tally is what the judging of a set comes to.
type tally struct {
	conversations, requests, stored, served, noID int
	admitted, twice, later, elsewhere             int
}

func (c tally) String() string {
	return fmt.Sprintf("%5d %5d %6d  %6d %6d %5d %6d", c.conversations, c.requests, c.served, c.admitted, c.twice, c.later, c.elsewhere)
}

func TestRecorded_F01_F15_F29_T80_T86(t *testing.T) {
	t.Parallel()
	for format, want := range map[wire.Format]tally{
		wire.OpenAIChat:      {conversations: 1, requests: 1, served: 2, admitted: 2, elsewhere: 3},
		wire.OpenAIResponses: {conversations: 1, requests: 2, served: 1, admitted: 1, later: 1, elsewhere: 6},
		wire.Anthropic:       {conversations: 1, requests: 4, served: 4, admitted: 4, later: 4, elsewhere: 12},
		wire.Gemini:          {conversations: 1, requests: 4, served: 4, noID: 4, elsewhere: 12},
		wire.Bedrock:         {conversations: 1, requests: 2, served: 1, admitted: 1, later: 1, elsewhere: 6},
	} {
		t.Run(string(format), func(t *testing.T) {
			t.Parallel()
			got := judgeSet(t, exchanges(t, format, filepath.Join("testdata", "recorded", string(format)+".jsonl")))
			if got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

// Every id of every recorded conversation, cited at every request of it and of all
// others. The counts are the lines of doc.go.
func TestCheckData_T80_T83_T85_T86_recorded_conversations(t *testing.T) {
	t.Parallel()
	documented, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	check := func(t *testing.T, name string, got tally) {
		t.Helper()
		row := fmt.Sprintf("//	%-23s %s\n", name, got)
		t.Logf("%s(%d requests go on from a stored one, %d results have no id)", row, got.stored, got.noID)
		if !strings.Contains(string(documented), row) {
			t.Errorf("doc.go does not have the line\n%s", row)
		}
	}
	t.Run("tau-bench-airline", func(t *testing.T) {
		t.Parallel()
		var set [][]request
		for line := range bytes.Lines(load(t, "tau-bench-airline", "conversations.jsonl")) {
			var chat struct{ Messages []json.RawMessage }
			decode(t, line, &chat)
			set = append(set, replayed(t, wire.OpenAIChat, chat.Messages))
		}
		check(t, "tau-bench-airline", judgeSet(t, set))
	})
	t.Run("pi-coding-sessions", func(t *testing.T) {
		t.Parallel()
		var messages []json.RawMessage
		for line := range bytes.Lines(load(t, "pi-coding-sessions", "session-opus-4-5.anthropic.jsonl")) {
			messages = append(messages, line)
		}
		check(t, "pi-coding-sessions", judgeSet(t, [][]request{replayed(t, wire.Anthropic, messages)}))
	})
	for _, format := range []wire.Format{wire.OpenAIChat, wire.OpenAIResponses, wire.Anthropic, wire.Gemini, wire.Bedrock} {
		t.Run(string(format), func(t *testing.T) {
			t.Parallel()
			folder := vectors.Outside(t, "provider-recordings")
			check(t, string(format), judgeSet(t, exchanges(t, format, filepath.Join(folder, string(format)+".jsonl"))))
		})
	}
}

// replayed are the requests of a conversation of which only the messages are
// known: before each message of the model stands a request with all before it.
func replayed(t *testing.T, format wire.Format, messages []json.RawMessage) []request {
	t.Helper()
	var all []request
	for i, m := range messages {
		var message struct{ Role string }
		decode(t, m, &message)
		if message.Role == "assistant" && i > 0 {
			body := append([]byte(`{"model":"m","messages":[`), bytes.Join(raws(messages[:i]), []byte(","))...)
			body = append(body, "]}"...)
			all = append(all, request{format: format, body: body, counted: naive(t, format, body)})
		}
	}
	return all
}

func raws(messages []json.RawMessage) [][]byte {
	all := make([][]byte, len(messages))
	for i, m := range messages {
		all[i] = m
	}
	return all
}

// exchanges are the requests of recordings, as they were sent.
func exchanges(t *testing.T, otherwise wire.Format, file string) [][]request {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var set [][]request
	for line := range bytes.Lines(data) {
		var recording struct {
			Exchanges []struct {
				URI               string
				Request, Response json.RawMessage
			}
		}
		decode(t, line, &recording)
		var all []request
		for _, e := range recording.Exchanges {
			var sent struct {
				Previous string `json:"previous_response_id"`
			}
			decode(t, e.Request, &sent)
			var answer struct{ ID string }
			_ = json.Unmarshal(e.Response, &answer) // a streamed one is a string, and has no id here
			format := formatOf(e.URI, otherwise)
			all = append(all, request{format: format, body: e.Request, counted: naive(t, format, e.Request), previous: sent.Previous, response: answer.ID})
		}
		set = append(set, all)
	}
	return set
}

// strangers are ids that a provider made in conversations of no set here.
func strangers() []string {
	return []string{"call_b7Tq0vC2mYwXkR9sLpZ4HnJd", "toolu_01XyZzYxWvUtSrQpOnMlKjIh", "tooluse_9aBcDeFgHiJkLmNoPqRsTu"}
}

// judgeSet cites at each request every id that any conversation of the set serves
// anywhere, as a fact, and compares each verdict with the independent count.
func judgeSet(t *testing.T, set [][]request) tally {
	t.Helper()
	c := tally{conversations: len(set)}
	ids := map[string]map[int]bool{} // the conversations that serve an id
	for n, conversation := range set {
		for _, r := range conversation {
			for _, id := range r.counted {
				if id != "" && ids[id] == nil {
					ids[id] = map[int]bool{}
				}
				if id != "" {
					ids[id][n] = true
				}
			}
		}
	}
	for _, stranger := range strangers() {
		if ids[stranger] == nil {
			ids[stranger] = map[int]bool{}
		}
	}
	var declaration findings.Declaration
	for id := range ids {
		declaration.Previous = append(declaration.Previous, findings.Citation{ID: id, Standing: findings.StandingFact})
	}
	for n, conversation := range set {
		readings, counts := map[string]wire.Reading{}, map[string][]string{}
		for _, r := range conversation {
			reading, err := wire.Read(r.format, r.body)
			if err != nil {
				t.Fatal(err)
			}
			counted := r.counted
			if earlier, ok := readings[r.previous]; ok && r.previous != "" {
				reading, counted = reading.After(earlier), slices.Concat(counts[r.previous], counted)
			}
			if r.response != "" {
				readings[r.response], counts[r.response] = reading, counted
			}
			c.requests++
			if reading.Stored {
				c.stored++
			}
			c.judge(t, n, ids, reading, counted, declaration)
		}
	}
	return c
}

func (c *tally) judge(t *testing.T, n int, ids map[string]map[int]bool, reading wire.Reading, counted []string, d findings.Declaration) {
	t.Helper()
	times := map[string]int{}
	for _, id := range counted {
		times[id]++
		c.served++
	}
	c.noID += times[""]
	admission := findings.Admit(witness(t, reading, counted), d)
	for _, v := range admission.Verdicts {
		want := findings.Reason("")
		switch {
		case reading.Stored:
			want = findings.Incomplete
		case times[v.ID] == 1:
			c.admitted++
		case times[v.ID] > 1:
			want = findings.Ambiguous
			c.twice++
		case ids[v.ID][n]:
			want = findings.NotServed
			c.later++
		default:
			want = findings.NotServed
			c.elsewhere++
		}
		if v.Refused != want || want == "" && v.Backing != findings.BacksFact {
			t.Fatalf("an id that was served %d times: got %q backing %q, want %q", times[v.ID], v.Refused, v.Backing, want)
		}
	}
}

// witness has the host's part made of the independent count: each result is of a
// call of its own, executed, with a READY record.
func witness(t *testing.T, reading wire.Reading, counted []string) *findings.Witness {
	t.Helper()
	capture := findings.Capture{Run: run, Served: reading.Served, Incomplete: reading.Stored}
	for i, id := range counted {
		if id == "" {
			continue
		}
		call := canonical.Identity{RunKey: run, Call: canonical.CallName{Turn: canonical.Turn(fmt.Sprint(i)), ID: canonical.ToolCallID(id)}}
		capture.Marks = append(capture.Marks, findings.Mark{Call: call, Dispatch: findings.Executed})
		capture.Records = append(capture.Records, findings.Record{Call: call, State: lifecycle.Ready, Status: evidence.Found})
	}
	w, err := findings.NewWitness(capture)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

var run = canonical.RunKey{Scope: canonical.Scope{Tenant: "t"}, Run: "r"}

func load(t *testing.T, set, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(vectors.Outside(t, set), name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func decode(t *testing.T, data []byte, to any) {
	t.Helper()
	if err := json.Unmarshal(data, to); err != nil {
		t.Fatal(err)
	}
}
