package command_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolharness/harness/cmd/harness/internal/command"
	"github.com/toolharness/harness/internal/redistest"
)

// recordedChat has two calls with the same id in two messages, as real agents have sent them.
const recordedChat = `{"messages":[
{"role":"assistant","tool_calls":[{"id":"call_1","type":"function","function":{"name":"get","arguments":"{\"x\":1}"}}]},
{"role":"tool","tool_call_id":"call_1","content":"one"},
{"role":"assistant","tool_calls":[{"id":"call_1","type":"function","function":{"name":"get","arguments":"{\"x\":2}"}}]},
{"role":"tool","tool_call_id":"call_1","content":"two"}]}
`

func chatFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "chat.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReplay(t *testing.T) {
	t.Parallel()
	path := chatFile(t, recordedChat)
	status, out, errs := run(t, "replay", path)
	if status != command.ExitDone || errs != "" || !strings.Contains(out, "\nrefused  1  DUPLICATE_TOOL_CALL\n") ||
		!strings.HasSuffix(out, "\nAll 1 ready results, read back through a second client, are what was recorded. Store: embedded.\n") || strings.Contains(out, "\x1b") {
		t.Errorf("got %d, %q, %q", status, out, errs)
	}
	status, out, errs = run(t, "replay", "--turns", path)
	if status != command.ExitDone || errs != "" || strings.Contains(out, "refused  ") && strings.Contains(out, "DUPLICATE") || !strings.Contains(out, "\nAll 2 ready") {
		t.Errorf("with turns: got %d, %q, %q", status, out, errs)
	}
}

// The fields are exactly those, in all and for each file.
func TestReplayAsJSON(t *testing.T) {
	t.Parallel()
	path := chatFile(t, recordedChat)
	status, out, errs := run(t, "replay", "-o", "json", path, path)
	if status != command.ExitDone || errs != "" {
		t.Fatalf("got %d, %q", status, errs)
	}
	decoder := json.NewDecoder(strings.NewReader(out))
	var all map[string]any
	if err := decoder.Decode(&all); err != nil || decoder.More() {
		t.Fatalf("got %v, or more than one document", err)
	}
	fields := []string{"admitted", "agent_bytes", "calls", "no_id", "raw_bytes", "raw_mismatch", "ready", "refused", "results", "unanswered"}
	files, _ := all["files"].([]any)
	delete(all, "files")
	if got := slices.Sorted(maps.Keys(all)); !slices.Equal(got, fields) {
		t.Errorf("got fields %q, want %q", got, fields)
	}
	if got, want := fmt.Sprint(all), "map[admitted:2 agent_bytes:6 calls:4 no_id:0 raw_bytes:6 raw_mismatch:0 ready:2 refused:map[DUPLICATE_TOOL_CALL:2] results:4 unanswered:0]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if len(files) != 2 {
		t.Fatalf("got %d files, want 2", len(files))
	}
	for _, f := range files {
		one, _ := f.(map[string]any)
		if one["file"] != path {
			t.Errorf("got file %v, want %s", one["file"], path)
		}
		delete(one, "file")
		if got := slices.Sorted(maps.Keys(one)); !slices.Equal(got, fields) || one["calls"] != 2.0 {
			t.Errorf("got fields %q, %v, want %q", got, one, fields)
		}
	}
}

func TestReplayOfAFileThatCannotBeRead(t *testing.T) {
	t.Parallel()
	good, bad := chatFile(t, recordedChat), chatFile(t, "{\"messages\":[]}\n{\"messages\":[\n")
	for _, format := range []string{"text", "json"} {
		status, out, errs := run(t, "replay", "-o", format, bad, good)
		want := "harness: replay: conversation: " + bad + ": line 2: not valid JSON\n"
		if status != command.ExitFailed || errs != want || !strings.Contains(out, good) || strings.Contains(out, bad) {
			t.Errorf("%s: got %d, %q, %q, want status 1, the good file and %q", format, status, out, errs, want)
		}
	}
	status, out, errs := run(t, "replay", filepath.Join(t.TempDir(), "no\x1b[2J\nfile"))
	if status != command.ExitFailed || out != "" || strings.Count(errs, "\n") != 1 || strings.Contains(errs, "\x1b") || !strings.Contains(errs, "no such file") {
		t.Errorf("got %d, %q, %q, want status 1 and one harmless line", status, out, errs)
	}
}

func TestReplayThatIsNotUnderstoodRunsNothing(t *testing.T) {
	t.Parallel()
	path := chatFile(t, recordedChat)
	for _, args := range [][]string{
		{}, {"--unknown", path}, {"-o", "yaml", path}, {"--keep", path}, {"--redis", "", path}, {"--redis", "marker_7", path},
		{"--redis", "redis://u:marker_7@a,b", path},
	} {
		status, out, errs := run(t, append([]string{"replay"}, args...)...)
		if status != command.ExitUsage || out != "" || !strings.HasPrefix(errs, "harness: ") || strings.Count(errs, "\n") != 2 || strings.Contains(errs, "marker_7") {
			t.Errorf("%v: got %d, %q, %q, want status 2 and a message that quotes nothing", args, status, out, errs)
		}
	}
	status, out, errs := run(t, "replay", "--redis", "redis://user:marker_7@127.0.0.1:1", path)
	if status != command.ExitFailed || out != "" || !strings.HasPrefix(errs, "harness: replay: ") || strings.Count(errs, "\n") != 1 || strings.Contains(errs, "marker_7") {
		t.Errorf("no server: got %d, %q, %q, want status 1 and one line", status, out, errs)
	}
}

func TestReplayOnRedis(t *testing.T) {
	t.Parallel()
	db := redistest.Shared(t)
	path := chatFile(t, recordedChat)
	status, out, errs := run(t, "replay", "--redis", db.URL(), path)
	if status != command.ExitDone || errs != "" || !strings.Contains(out, "Store: redis.") {
		t.Errorf("got %d, %q, %q", status, out, errs)
	}
	if left, err := db.Client().DBSize(t.Context()).Result(); err != nil || left != 0 {
		t.Errorf("got %d keys, %v, want none", left, err)
	}
	status, out, errs = run(t, "replay", "--redis", db.URL(), "--keep", "--turns", path)
	if status != command.ExitDone || errs != "" || !strings.Contains(out, "\n4 keys are left in Redis until they expire.\n") || !strings.Contains(out, "  redis-cli -h 127.0.0.1 -p ") {
		t.Errorf("got %d, %q, %q", status, out, errs)
	}
	if left, err := db.Client().DBSize(t.Context()).Result(); err != nil || left != 4+1 { // and the list of the scope's runs
		t.Errorf("got %d keys, %v, want 5", left, err)
	}
}

// What could not be printed was not shown, however well it went.
func TestReplayWhoseOutputIsLost(t *testing.T) {
	t.Parallel()
	path := chatFile(t, recordedChat)
	for _, format := range []string{"text", "json"} {
		var stderr strings.Builder
		status := command.Run(t.Context(), []string{"replay", "-o", format, path}, command.Streams{Out: closedPipe{}, Err: &stderr})
		if status != command.ExitFailed || !strings.Contains(stderr.String(), "could not be printed") {
			t.Errorf("%s: got %d, %q", format, status, stderr.String())
		}
	}
}
