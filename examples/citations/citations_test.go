package citations_test

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/findings"
	"github.com/toolharness/harness/findings/wire"
	"github.com/toolharness/harness/projector"
	"github.com/toolharness/harness/redisstore/embedded"
)

//go:embed testdata/weather.json
var recorded []byte

// message is one of OpenAI's chat format, as far as the loop looks into it.
type message struct {
	Role       string          `json:"role"`
	Content    string          `json:"content"`
	ToolCallID string          `json:"tool_call_id,omitempty"`
	ToolCalls  json.RawMessage `json:"tool_calls,omitempty"`
}

type toolCall struct {
	ID       string `json:"id"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// conversation is the host's side: the messages as they are sent, and beside them
// the marks of the results among them.
type conversation struct {
	run      *boundary.Run
	tools    *boundary.Toolset
	messages []message
	marks    []findings.Mark
}

// answer takes the calls of a model's message through the boundary and puts their
// texts into the conversation. The witness is that of the request which the
// message answers: all that was sent before it.
func (c *conversation) answer(t *testing.T, m message) []boundary.Result {
	t.Helper()
	var calls []boundary.Call
	var asked []toolCall
	if err := json.Unmarshal(m.ToolCalls, &asked); err != nil {
		t.Fatal(err)
	}
	w := c.witness(t)
	for _, call := range asked {
		calls = append(calls, boundary.Call{
			ID: boundary.ToolCallID(call.ID), Name: call.Function.Name, Arguments: []byte(call.Function.Arguments), Witness: w,
		})
	}
	c.messages = append(c.messages, m)
	results := c.tools.Dispatch(t.Context(), c.run, calls...)
	for i, result := range results {
		c.messages = append(c.messages, message{Role: "tool", ToolCallID: asked[i].ID, Content: result.Outcome.Text()})
		if mark, known := c.run.Mark(canonical.CallName{ID: calls[i].ID}, result.Outcome); known {
			c.marks = append(c.marks, mark)
		}
	}
	return results
}

// witness reads the request back from the very bytes that would be sent.
func (c *conversation) witness(t *testing.T) *findings.Witness {
	t.Helper()
	body, err := json.Marshal(map[string]any{"model": "any", "messages": c.messages})
	if err != nil {
		t.Fatal(err)
	}
	reading, err := wire.Read(wire.OpenAIChat, body)
	if err != nil {
		t.Fatal(err)
	}
	w, err := c.run.Witness(t.Context(), reading.Served, reading.Stored, c.marks)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestCitations(t *testing.T) {
	server, err := embedded.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	b, err := boundary.New(boundary.Config{Store: server.Store(), Authorizer: boundary.AllowAll{}, Now: server.Now, Findings: true})
	if err != nil {
		t.Fatal(err)
	}
	history, weather := read(t)
	entered := 0
	tools, err := boundary.NewToolset(b, boundary.Tool{
		Name: "weather", Effect: boundary.EffectRead, Projector: projector.Func(asIs),
		Schema: json.RawMessage(`{"type":"object","properties":{"latitude":{"type":"string"},"longitude":{"type":"string"}},"additionalProperties":false}`),
		Executor: boundary.ExecutorFunc(func(_ context.Context, in boundary.Input, raw io.Writer) error {
			entered++
			_, err := io.WriteString(raw, weather[string(in.Arguments)])
			return err
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	run, err := b.OpenRun(t.Context(), boundary.RunSpec{Scope: boundary.Scope{Tenant: "travel"}})
	if err != nil {
		t.Fatal(err)
	}
	c := &conversation{run: run, tools: tools, messages: slices.Clone(history[:1])}

	// Berlin, as recorded.
	if got := c.answer(t, history[1])[0]; got.Err != nil || got.Outcome.Text() != history[2].Content {
		t.Fatalf("Berlin: %v, %v, want the recorded result", got.Outcome, got.Err)
	}
	c.messages = append(c.messages, history[3], history[4])

	// Paris, but the model cites a result that it never got.
	if got := c.answer(t, citing(t, history[5], "call_paris_1", "toolu_never_made"))[0]; got.Outcome.Code() != "REFERENCE_REFUSED" || got.Outcome.Execution().Ran() != "no" {
		t.Fatalf("a made-up citation: %v, want REFERENCE_REFUSED, ran: no", got.Outcome)
	}
	lesson := c.messages[len(c.messages)-1].Content
	if !strings.Contains(lesson, "Cite only ids that you were given") || strings.Contains(lesson, "toolu_never_made") {
		t.Errorf("the model reads %s", lesson)
	}

	// It reads why, and cites what it has.
	berlin := calls(t, history[1])[0].ID
	if got := c.answer(t, citing(t, history[5], "call_paris_2", berlin))[0]; got.Err != nil || got.Outcome.Text() != history[6].Content {
		t.Fatalf("Paris, corrected: %v, %v, want the recorded result", got.Outcome, got.Err)
	}
	if entered != 2 {
		t.Errorf("the tool was entered %d times, want 2", entered)
	}

	// So with the final answer.
	w := c.witness(t)
	if _, err := run.AdmitAnswer(t.Context(), w, findings.RawAnswer, answerCiting(berlin, "call_paris_2")); err != nil {
		t.Errorf("an answer that cites both results: %v", err)
	}
	_, err = run.AdmitAnswer(t.Context(), w, findings.RawAnswer, answerCiting("call_paris_1"))
	if denied, ok := errors.AsType[*findings.AnswerDeniedError](err); !ok {
		t.Errorf("an answer that cites the refused call: %v, want an *AnswerDeniedError", denied)
	}
	if offer := findings.NewOffer(w, run.Findings()); len(offer.IDs) != 2 {
		t.Errorf("%d ids are offered, want the two results", len(offer.IDs))
	}
}

// read gives the recorded messages, and what the tool returned for which
// arguments.
func read(t *testing.T) (history []message, weather map[string]string) {
	t.Helper()
	var file struct {
		Exchanges []struct {
			Request struct{ Messages []message }
		}
	}
	if err := json.Unmarshal(recorded, &file); err != nil {
		t.Fatal(err)
	}
	history, weather = file.Exchanges[0].Request.Messages, map[string]string{}
	for i, m := range history {
		if len(m.ToolCalls) > 0 {
			weather[calls(t, m)[0].Function.Arguments] = history[i+1].Content
		}
	}
	return history, weather
}

func calls(t *testing.T, m message) []toolCall {
	t.Helper()
	var list []toolCall
	if err := json.Unmarshal(m.ToolCalls, &list); err != nil {
		t.Fatal(err)
	}
	return list
}

// citing is the recorded message with another id, and the reserved argument in
// its call.
func citing(t *testing.T, m message, id, cited string) message {
	t.Helper()
	list := calls(t, m)
	list[0].ID = id
	arguments := strings.TrimSuffix(list[0].Function.Arguments, "}")
	list[0].Function.Arguments = arguments + `,"_findings":{"previous":[{"toolCallId":"` + cited + `","standing":"fact","line":"15°C"}]}}`
	text, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	m.ToolCalls = text
	return m
}

func answerCiting(ids ...string) []byte {
	var previous []map[string]string
	for _, id := range ids {
		previous = append(previous, map[string]string{"toolCallId": id, "standing": "fact"})
	}
	text, _ := json.Marshal(map[string]any{"text": "Both have 15°C.", "_findings": map[string]any{"previous": previous}})
	return text
}

func asIs(_ context.Context, in projector.Input) (projector.Projection, error) {
	return projector.Projection{Result: in.Raw, Status: evidence.Found}, nil
}
