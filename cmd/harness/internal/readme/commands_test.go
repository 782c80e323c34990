package readme

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolharness/harness/cmd/harness/internal/command"
	"github.com/toolharness/harness/internal/vectors"
)

// kept is the section of the README on the commands, without its title.
func kept(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(vectors.Root(t), "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(page), "\n## Looking at what was kept\n")
	if !found {
		t.Fatal("the section is missing")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	return section
}

// block is the lines of the first block that begins with this fence.
func block(t *testing.T, section, fence string) []string {
	t.Helper()
	_, rest, _ := strings.Cut(section, "\n"+fence+"\n")
	lines, _, found := strings.Cut(rest, "\n```")
	if !found {
		t.Fatalf("no block %s", fence)
	}
	return strings.Split(lines, "\n")
}

// The commands that the README shows are run as they stand there, in a directory of their own, and print what it shows.
func TestCommandsOfTheReadme(t *testing.T) {
	t.Parallel()
	section, dir := kept(t), t.TempDir()
	places := map[string]string{"kept": filepath.Join(dir, "kept"), "run.jsonl": filepath.Join(dir, "run.jsonl")}
	printed := map[string]string{}
	for _, line := range block(t, section, "```sh") {
		words, ours := strings.CutPrefix(line, "go run ./cmd/harness ")
		if !ours {
			t.Fatalf("%q is not a command of ours", line)
		}
		args := strings.Fields(words)
		for i, word := range args {
			if word == "RUN" {
				args[i] = demoRun(t, places["kept"])
			} else if place, ok := places[word]; ok {
				args[i] = place
			}
		}
		var out, errs strings.Builder
		if status := command.Run(t.Context(), args, command.Streams{Out: &out, Err: &errs}); status != command.ExitDone || out.Len() == 0 {
			t.Fatalf("%s: got %d, %q", line, status, errs.String())
		}
		printed[words] = out.String()
	}
	if len(printed) != 7 {
		t.Errorf("got %d commands, want 7", len(printed))
	}
	table := printed["ls RUN --data kept"]
	_, shown, _ := strings.Cut(section, "\n```\n\n") // behind the commands
	for _, line := range block(t, shown, "```") {
		if !strings.Contains("\n"+table, "\n"+line+"\n") {
			t.Errorf("the README shows\n%s\nwhich is not in\n%s", line, table)
		}
	}
}

// demoRun is the run of the demo that has its calls.
func demoRun(t *testing.T, dir string) string {
	t.Helper()
	var out strings.Builder
	status := command.Run(t.Context(), []string{"ls", "--data", dir, "-o", "json"}, command.Streams{Out: &out, Err: &out})
	var list struct {
		Runs []struct {
			ID    string `json:"run_id"`
			Calls int    `json:"calls"`
		} `json:"runs"`
	}
	if err := json.Unmarshal([]byte(out.String()), &list); err != nil || status != command.ExitDone {
		t.Fatalf("got %d, %s", status, out.String())
	}
	for _, run := range list.Runs {
		if run.Calls > 0 {
			return run.ID
		}
	}
	t.Fatalf("got no run with calls in %s", out.String())
	return ""
}
