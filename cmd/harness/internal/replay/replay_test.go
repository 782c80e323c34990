package replay_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/cmd/harness/internal/replay"
	"github.com/toolharness/harness/internal/redistest"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/redisstore"
)

// call and result write one message each of the OpenAI Chat format.
func call(id, name, arguments string) string {
	return fmt.Sprintf(`{"id":%q,"type":"function","function":{"name":%q,"arguments":%q}}`, id, name, arguments)
}

func asks(calls ...string) string {
	return `{"role":"assistant","content":null,"tool_calls":[` + strings.Join(calls, ",") + `]}`
}

func result(id, text string) string {
	return fmt.Sprintf(`{"role":"tool","tool_call_id":%q,"content":%q}`, id, text)
}

func chat(messages ...string) string { return `{"messages":[` + strings.Join(messages, ",") + "]}\n" }

// everything has a call of each kind that is counted, and ids as an airline's agent repeats them: in a later message and
// in another conversation.
func everything() string {
	return chat(
		asks(call("a", "get", `{"x":1}`), call("b", "get", `{}`)), result("a", "first"), result("b", "[1,2]"),
		asks(call("a", "get", `{"x":2}`)), result("a", "second"), // the id again, in a later message
		asks(call("c", "get", `{}`), call("c", "get", `{}`)), result("c", "one"), result("c", "other"), // twice in one message
		asks(call("", "get", `{}`)), result("", "without id"),
		asks(call("d", "bad name", `{}`)), result("d", "x"),
		asks(call("e", "get", `[]`)), result("e", "x"),
		asks(call("f\u00fc", "get", `{}`)), result("f\u00fc", "x"),
		asks(call("g", "get", `{"x":1,"x":2}`)), result("g", "x"),
		asks(call("h", "get", `{}`)), result("h", ""), // nothing to judge
		asks(call("i", "get", `{}`)), result("i", `{"error":"down"}`),
		asks(call("j", "get", `{}`)), // never answered
	) + chat(asks(call("a", "get", `{}`)), result("a", "elsewhere"))
}

func file(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "chat.jsonl")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func replayed(t *testing.T, o replay.Options) replay.Document {
	t.Helper()
	d, err := replay.Run(t.Context(), o, replay.Silent{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// shown is what two counts are compared by: maps print in the order of their keys.
func shown(c replay.Counts) string { return fmt.Sprintf("%+v", c) }

func TestEveryCallIsCounted(t *testing.T) {
	t.Parallel()
	path := file(t, everything())
	for _, address := range []string{"", redistest.Shared(t).URL()} {
		for turns, want := range map[bool]string{
			false: "{Calls:14 Results:13 Admitted:7 Ready:4 " +
				"Refused:map[DUPLICATE_TOOL_CALL:2 INVALID_INPUT:2 INVALID_TOOL_CALL_ID:2 UNKNOWN_TOOL:1] NoID:1 Unanswered:1 " +
				"RawBytes:38 AgentBytes:22 RawMismatch:0 failed:map[PROJECTION_FAILED:2 TOOL_EXECUTION_FAILED:1]}",
			true: "{Calls:14 Results:13 Admitted:8 Ready:5 " +
				"Refused:map[DUPLICATE_TOOL_CALL:1 INVALID_INPUT:2 INVALID_TOOL_CALL_ID:2 UNKNOWN_TOOL:1] NoID:1 Unanswered:1 " +
				"RawBytes:44 AgentBytes:28 RawMismatch:0 failed:map[PROJECTION_FAILED:2 TOOL_EXECUTION_FAILED:1]}",
		} {
			d := replayed(t, replay.Options{Files: []string{path}, Turns: turns, Redis: address})
			if got := shown(d.Counts); got != want || !d.OK() {
				t.Errorf("turns %t:\ngot  %s\nwant %s", turns, got, want)
			}
			if len(d.Files) != 1 || d.Files[0].Name != path || shown(d.Files[0].Counts) != want {
				t.Errorf("turns %t: got files %+v, want one with the same counts", turns, d.Files)
			}
		}
	}
}

func TestFilesAreSummed(t *testing.T) {
	t.Parallel()
	one, other := file(t, everything()), file(t, chat(asks(call("a", "get", `{}`)), result("a", "text")))
	d := replayed(t, replay.Options{Files: []string{one, other, one}})
	if len(d.Files) != 3 || d.Calls != 2*14+1 || d.Admitted != 2*7+1 || d.Ready != 2*4+1 || d.Refused[lifecycle.DuplicateToolCall] != 4 ||
		d.NoID != 2 || d.Unanswered != 2 || d.RawBytes != 2*38+4 || d.AgentBytes != 2*22+4 || d.Failed()[lifecycle.ProjectionFailed] != 4 {
		t.Errorf("got %s", shown(d.Counts))
	}
	if d.Files[1].Calls != 1 || shown(d.Files[0].Counts) != shown(d.Files[2].Counts) {
		t.Errorf("got %+v", d.Files)
	}
}

// The recordings of five providers that live with their reader, four of them streamed.
func TestRecordedExchanges(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"openai-chat":             "{Calls:2 Results:2 Admitted:2 Ready:2 Refused:map[] NoID:0 Unanswered:0 RawBytes:",
		"openai-responses":        "{Calls:1 Results:1 Admitted:1 Ready:1 Refused:map[] NoID:0 Unanswered:0 RawBytes:5 AgentBytes:5 ",
		"anthropic-messages":      "{Calls:2 Results:2 Admitted:2 Ready:2 Refused:map[] NoID:0 Unanswered:0 RawBytes:",
		"gemini-generate-content": "{Calls:2 Results:2 Admitted:0 Ready:0 Refused:map[INVALID_TOOL_CALL_ID:2] NoID:2 Unanswered:0 RawBytes:0 ",
		"bedrock-converse":        "{Calls:1 Results:1 Admitted:1 Ready:1 Refused:map[] NoID:0 Unanswered:0 RawBytes:",
	} {
		path := filepath.Join("..", "conversation", "testdata", "recorded", name+".jsonl")
		d := replayed(t, replay.Options{Files: []string{path}})
		if got := shown(d.Counts); !strings.HasPrefix(got, want) || !d.OK() {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

// More conversations than run at once, and one without any call.
func TestManyConversations(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	all.WriteString(chat(`{"role":"user","content":"hello"}`))
	const conversations = 5 * replay.Parallel
	for i := range conversations {
		id := fmt.Sprint("call_", i)
		all.WriteString(chat(asks(call(id, "get", "{}")), result(id, strings.Repeat("x", i+1)), asks(call(id, "get", "{}")), result(id, "again")))
	}
	d := replayed(t, replay.Options{Files: []string{file(t, all.String())}})
	const sum = conversations * (conversations + 1) / 2
	if d.Calls != 2*conversations || d.Ready != conversations || d.Refused[lifecycle.DuplicateToolCall] != conversations ||
		d.RawBytes != sum || d.AgentBytes != sum || !d.OK() {
		t.Errorf("got %s", shown(d.Counts))
	}
}

// A file that cannot be read is told with its line, and the others are replayed.
func TestUnreadFiles(t *testing.T) {
	t.Parallel()
	good := file(t, everything())
	cut := file(t, everything()+`{"messages":[`)
	none := filepath.Join(t.TempDir(), "none")
	empty := file(t, "")
	folder := t.TempDir()
	d := replayed(t, replay.Options{Files: []string{cut, good, none, empty, folder}})
	if d.OK() || len(d.Files) != 1 || d.Files[0].Name != good || d.Calls != 14 || len(d.Unread) != 4 {
		t.Fatalf("got %+v", d)
	}
	for i, want := range []string{
		"replay: conversation: " + cut + ": line 3: not valid JSON", "open " + none + ": ",
		"replay: conversation: " + empty + ": no conversation in a known format", folder,
	} {
		if got := d.Unread[i].Error(); !strings.Contains(got, want) || !strings.HasPrefix(got, "replay: ") {
			t.Errorf("got %q, want %q in it", got, want)
		}
	}
	if d := replayed(t, replay.Options{Files: []string{none}}); d.OK() || d.Calls != 0 || d.Refused == nil || d.Files == nil {
		t.Errorf("got %+v", d)
	}
}

func TestOptionsThatCannotBe(t *testing.T) {
	t.Parallel()
	path := file(t, everything())
	for name, o := range map[string]replay.Options{
		"no file":               {},
		"keep without a server": {Files: []string{path}, Keep: true},
		"no address":            {Files: []string{path}, Redis: "marker_7"},
		"two servers":           {Files: []string{path}, Redis: "redis://:marker_7@a,b"},
	} {
		_, err := replay.Run(t.Context(), o, replay.Silent{})
		if !errors.As(err, new(*replay.OptionError)) && !errors.As(err, new(*redisstore.URLError)) || strings.Contains(err.Error(), "marker_7") {
			t.Errorf("%s: got %v, want an error of the options that quotes nothing", name, err)
		}
	}
	_, err := replay.Run(t.Context(), replay.Options{Files: []string{path}, Redis: "redis://u:marker_7@127.0.0.1:1"}, replay.Silent{})
	if err == nil || !strings.HasPrefix(err.Error(), "replay: the given Redis cannot be used") || strings.Contains(err.Error(), "marker_7") {
		t.Errorf("no server: got %v", err)
	}
}

// record is a screen that notes what it was told.
type record struct {
	files    []string
	done, of []int
	ended    int
}

func (r *record) Reading(file string, n, of int) {
	r.files = append(r.files, fmt.Sprintf("%s %d/%d", filepath.Base(file), n, of))
}
func (r *record) Replayed(calls, of int) { r.done, r.of = append(r.done, calls), append(r.of, of) }
func (r *record) End(replay.Document)    { r.ended++ }

func TestScreenIsToldOfEveryCall(t *testing.T) {
	t.Parallel()
	seen := &record{}
	path := file(t, everything())
	if _, err := replay.Run(t.Context(), replay.Options{Files: []string{path, path}}, seen); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(seen.files); got != "[chat.jsonl 1/2 chat.jsonl 2/2]" || seen.ended != 1 || len(seen.done) != 28 {
		t.Errorf("got %v, %d calls, %d ends", seen.files, len(seen.done), seen.ended)
	}
	for i := range seen.done {
		if seen.done[i] != i%14+1 || seen.of[i] != 14 {
			t.Fatalf("got %v of %v", seen.done, seen.of)
		}
	}
}

// An interrupt ends everything at once, and is told as one.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	db := redistest.Shared(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	o := replay.Options{Files: []string{file(t, everything())}, Redis: db.URL()}.BeforeReading(func(context.Context, canonical.RunKey) {
		cancel(errors.New("interrupted"))
	})
	d, err := replay.Run(ctx, o, replay.Silent{})
	if err == nil || !strings.Contains(err.Error(), "replay: stopped: interrupted") || len(d.Files) != 0 {
		t.Errorf("got %v, %+v", err, d)
	}
	if left, err := db.Client().DBSize(t.Context()).Result(); err != nil || left != 0 {
		t.Errorf("got %d keys left, %v", left, err)
	}
}

// A body that stops the caller's context leaves nothing behind either.
func TestInterruptDuringACall(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	o := replay.Options{Files: []string{file(t, everything())}}.WithExecutor(func(x boundary.Executor) boundary.Executor {
		cancel()
		return x
	})
	if _, err := replay.Run(ctx, o, replay.Silent{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}
