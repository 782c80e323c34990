package command_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolharness/harness/cmd/harness/internal/command"
	"github.com/toolharness/harness/internal/redistest"
)

func TestDemoOnTheEmbeddedStore(t *testing.T) {
	t.Parallel()
	status, out, errs := run(t, "demo")
	if status != command.ExitDone || errs != "" || !strings.HasSuffix(out, "\nAll 16 checks passed.\n") || strings.Contains(out, "\x1b") {
		t.Errorf("got %d, %q, %q", status, out, errs)
	}
}

func TestDemoOnRedis(t *testing.T) {
	t.Parallel()
	db := redistest.Shared(t)
	entries := filepath.Join(t.TempDir(), "entries")
	status, out, errs := run(t, "demo", "--redis", db.URL(), "--entries", entries)
	if status != command.ExitDone || errs != "" || !strings.Contains(out, "24 admissions, 24 entries, 24 lines in the file") {
		t.Errorf("got %d, %q, %q", status, out, errs)
	}
	if text, err := os.ReadFile(entries); err != nil || strings.Count(string(text), "\n") != 24 {
		t.Errorf("got %q, %v, want 24 lines", text, err)
	}
	if left, err := db.Client().DBSize(t.Context()).Result(); err != nil || left != 0 {
		t.Errorf("got %d keys, %v, want none", left, err)
	}
	status, out, errs = run(t, "demo", "--redis", db.URL(), "--keep")
	if status != command.ExitDone || errs != "" || !strings.Contains(out, "  redis-cli -h 127.0.0.1 -p ") {
		t.Errorf("got %d, %q, %q", status, out, errs)
	}
	if left, err := db.Client().DBSize(t.Context()).Result(); err != nil || left != 27+1 { // and the list of the scope's runs
		t.Errorf("got %d keys, %v, want 28", left, err)
	}
}

// document is what a script needs of the JSON form.
type document struct {
	OK        bool   `json:"ok"`
	Store     string `json:"store"`
	Questions []struct {
		Calls []struct {
			ID  string `json:"tool_call_id"`
			Ran string `json:"ran"`
		} `json:"calls"`
	} `json:"questions"`
	Messages []struct {
		Turn     string `json:"turn"`
		Question string `json:"question"`
		Calls    []struct {
			ID        string `json:"tool_call_id"`
			Turn      string `json:"turn"`
			Arguments string `json:"arguments"`
			Evidence  string `json:"evidence_status"`
			Code      string `json:"code"`
			Found     string `json:"found"`
		} `json:"calls"`
	} `json:"messages"`
	Refused []struct {
		Code string `json:"code"`
		Ran  string `json:"ran"`
	} `json:"refused"`
	Checks []struct {
		OK bool `json:"ok"`
	} `json:"checks"`
	Kept []struct {
		Key string `json:"key"`
		TTL int64  `json:"ttl_ms"`
	} `json:"kept"`
}

func TestDemoAsJSON(t *testing.T) {
	t.Parallel()
	db := redistest.Shared(t)
	for _, args := range [][]string{{"-o", "json"}, {"--output=json", "--redis", db.URL(), "--keep"}} {
		status, out, errs := run(t, append([]string{"demo"}, args...)...)
		if status != command.ExitDone || errs != "" {
			t.Fatalf("%v: got %d, %q", args, status, errs)
		}
		decoder := json.NewDecoder(strings.NewReader(out))
		var d document
		if !strings.Contains(out, "青松卡的年费是多少？") {
			t.Errorf("%v: Chinese text is not as it was", args)
		}
		if err := decoder.Decode(&d); err != nil || decoder.More() {
			t.Fatalf("%v: got %v, or more than one document", args, err)
		}
		keep := len(args) > 2
		if !d.OK || len(d.Questions) != 3 || len(d.Refused) != 9 || d.Questions[0].Calls[0].ID != "call_tFp7HYD6sAAmCShgeqkVZH6Q" ||
			d.Questions[0].Calls[0].Ran != "yes" || d.Refused[0].Code != "TOOL_BUDGET_EXHAUSTED" || d.Refused[0].Ran != "no" {
			t.Errorf("%v: got %+v", args, d)
		}
		checkMessages(t, d)
		if keep != (len(d.Kept) == 27) || keep != (d.Store == "redis") || keep && d.Kept[0].TTL <= 0 {
			t.Errorf("%v: got store %s, kept %+v", args, d.Store, d.Kept)
		}
	}
}

// checkMessages wants the turns with the same ids in each, every verdict, and Chinese text as text and not as escapes.
func checkMessages(t *testing.T, d document) {
	t.Helper()
	var verdicts []string
	for _, m := range d.Messages {
		for i, c := range m.Calls {
			if c.Turn != m.Turn || c.ID != fmt.Sprintf("call_%d", i) || c.Found == "" {
				t.Errorf("%s: got %+v", m.Turn, c)
			}
			verdicts = append(verdicts, strings.TrimSpace(c.Evidence+" "+c.Code))
		}
	}
	const found, none = "EVIDENCE_FOUND", "NO_EVIDENCE"
	if want := []string{found, found, found, none, none, none, "ERROR LOG_SCAN_LIMIT", found, found, found, none, found}; !slices.Equal(verdicts, want) {
		t.Fatalf("got %q, want %q", verdicts, want)
	}
	if last := d.Messages[3]; !strings.Contains(last.Question, "邓丽君") || !strings.Contains(last.Calls[1].Arguments, "𠮷") || !strings.Contains(last.Calls[3].Found, "邓丽君") {
		t.Errorf("got %+v", last)
	}
}

func TestDemoThatIsNotUnderstoodRunsNothing(t *testing.T) {
	t.Parallel()
	entries := filepath.Join(t.TempDir(), "entries")
	for _, args := range [][]string{
		{"extra"}, {"--unknown"}, {"-o", "yaml"}, {"--keep"}, {"--redis", ""}, {"--entries", ""}, {"--redis", "marker_7"},
		{"--redis", "http://u:marker_7@localhost"}, {"--redis", "redis://u:marker_7@a,b"}, {"--redis", "redis://u:%zzmarker_7@localhost"},
		{"--keep", "--entries", entries},
	} {
		status, out, errs := run(t, append([]string{"demo"}, args...)...)
		if status != command.ExitUsage || out != "" || !strings.HasPrefix(errs, "harness: ") || strings.Count(errs, "\n") != 2 || strings.Contains(errs, "marker_7") {
			t.Errorf("%v: got %d, %q, %q, want status 2 and a message that quotes nothing", args, status, out, errs)
		}
	}
	if _, err := os.Stat(entries); err == nil {
		t.Error("the entries file was made")
	}
}

func TestDemoThatCannotGoOnIsAFailure(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"--redis", "redis://user:marker_7@127.0.0.1:1"}, {"--entries", t.TempDir()}, {"-o", "json", "--entries", t.TempDir()},
	} {
		status, out, errs := run(t, append([]string{"demo"}, args...)...)
		if status != command.ExitFailed || out != "" || !strings.HasPrefix(errs, "harness: demo: ") || strings.Count(errs, "\n") != 1 || strings.Contains(errs, "marker_7") {
			t.Errorf("%v: got %d, %q, %q, want status 1 and one line", args, status, out, errs)
		}
	}
}

func TestDemoWithAWrongPassword(t *testing.T) {
	t.Parallel()
	server := redistest.Server(t, "--requirepass", "right")
	status, out, errs := run(t, "demo", "--redis", "redis://:marker_7@"+server.Addr())
	if status != command.ExitFailed || out != "" || !strings.Contains(errs, "WRONGPASS") || strings.Contains(errs, "marker_7") {
		t.Errorf("got %d, %q, %q", status, out, errs)
	}
}

// What could not be printed was not shown, however well it went.
func TestDemoWhoseOutputIsLost(t *testing.T) {
	t.Parallel()
	db := redistest.Shared(t)
	for _, format := range []string{"text", "json"} {
		var stderr strings.Builder
		status := command.Run(t.Context(), []string{"demo", "-o", format, "--redis", db.URL()}, command.Streams{Out: closedPipe{}, Err: &stderr})
		if status != command.ExitFailed || !strings.Contains(stderr.String(), "could not be printed") {
			t.Errorf("%s: got %d, %q", format, status, stderr.String())
		}
	}
	if left, err := db.Client().DBSize(t.Context()).Result(); err != nil || left != 0 {
		t.Errorf("got %d keys, %v, want none", left, err)
	}
}
