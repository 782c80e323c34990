package replay_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/cmd/harness/internal/conversation"
	"github.com/toolharness/harness/cmd/harness/internal/replay"
	"github.com/toolharness/harness/internal/vectors"
	"github.com/toolharness/harness/lifecycle"
)

// sharedData is the folder of the recorded sets, which are too large to live here.
func sharedData(t *testing.T) string {
	t.Helper()
	return vectors.Outside(t, "")
}

// want is what a set says of one file.
type want struct {
	calls, results, noID int
	// reused are calls whose id was used before in their conversation, reusedInTurn those of them whose message has the id
	// already.
	reused, reusedInTurn int
}

// set is a folder with what its expected.json says of each of its files.
type set struct {
	folder string
	files  map[string]want
}

func expected(t *testing.T, data, folder string, to any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(data, folder, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, to); err != nil {
		t.Fatal(err)
	}
}

func sets(t *testing.T, data string) []set {
	return []set{airline(t, data), sessions(t, data, "pi-coding-sessions"), recordings(t, data),
		sessions(t, data, "swe-agent-trajectories"), langchain(t, data), sessions(t, data, "gemini-adk-sessions")}
}

func airline(t *testing.T, data string) set {
	const folder = "tau-bench-airline"
	var e struct {
		Calls, Results int
		Reused         int `json:"same_id_in_conversation"`
	}
	expected(t, data, folder, &e)
	return set{folder, map[string]want{"conversations.jsonl": {calls: e.Calls, results: e.Results, reused: e.Reused}}}
}

// sessions are sets of one conversation a file.
func sessions(t *testing.T, data, folder string) set {
	var files map[string]struct {
		Calls, Results int
		NoID           int            `json:"calls_without_id"`
		Twice          map[string]int `json:"ids_used_more_than_once"`
	}
	expected(t, data, folder, &files)
	s := set{folder, map[string]want{}}
	for name, e := range files {
		w := want{calls: e.Calls, results: e.Results, noID: e.NoID}
		for _, uses := range e.Twice {
			w.reused += uses - 1
		}
		s.files[name] = w
	}
	return s
}

func langchain(t *testing.T, data string) set {
	const folder = "langchain-sql-agent"
	var lines []struct{ Calls, Results int }
	expected(t, data, folder, &lines)
	w := want{}
	for _, line := range lines {
		w.calls, w.results = w.calls+line.Calls, w.results+line.Results
	}
	return set{folder, map[string]want{"conversations.jsonl": w}}
}

func recordings(t *testing.T, data string) set {
	const folder = "provider-recordings"
	var wires map[string]struct {
		Calls, Results int
		NoID           int `json:"null_ids"`
		Detail         []struct {
			IDs []*string `json:"call_ids"`
		} `json:"recordings_detail"`
	}
	expected(t, data, folder, &wires)
	s := set{folder, map[string]want{}}
	for wire, e := range wires {
		if len(e.Detail) == 0 {
			continue // a remark about all of them
		}
		w := want{calls: e.Calls, results: e.Results, noID: e.NoID}
		for _, recording := range e.Detail {
			seen := map[string]bool{}
			for _, id := range recording.IDs {
				if id != nil && seen[*id] {
					w.reused++
				} else if id != nil {
					seen[*id] = true
				}
			}
		}
		s.files[wire+".jsonl"] = w
	}
	return s
}

// bytesOf are all results of the file that its reader finds, for the calls that have an id.
func bytesOf(t *testing.T, path string) (n int64) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	all, err := conversation.Read(path, text)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		for _, call := range c.Calls {
			if call.ID != "" {
				n += int64(len(call.Result))
			}
		}
	}
	return n
}

func TestCheckData_replay(t *testing.T) {
	t.Parallel()
	data := sharedData(t)
	for _, s := range sets(t, data) {
		t.Run(s.folder, func(t *testing.T) {
			t.Parallel()
			for name, w := range s.files {
				path := filepath.Join(data, s.folder, name)
				compareReplays(t, path, w)
			}
		})
	}
}

// compareReplays replays without turns and with them. In these sets every name and every argument is one that the
// boundary takes, so nothing but ids is refused.
func compareReplays(t *testing.T, path string, w want) {
	t.Helper()
	for _, turns := range []bool{false, true} {
		d := replayed(t, replay.Options{Files: []string{path}, Turns: turns})
		refused := map[boundary.Code]int{}
		if w.noID > 0 {
			refused[lifecycle.InvalidToolCallID] = w.noID
		}
		duplicates := w.reused
		if turns {
			duplicates = w.reusedInTurn
		}
		if duplicates > 0 {
			refused[lifecycle.DuplicateToolCall] = duplicates
		}
		got := shown(replay.Counts{Calls: d.Calls, Results: d.Results, Admitted: d.Admitted, Refused: d.Refused, NoID: d.NoID, Unanswered: d.Unanswered, RawMismatch: d.RawMismatch})
		wanted := shown(replay.Counts{
			Calls: w.calls, Results: w.results, Admitted: w.calls - w.noID - duplicates, Refused: refused, NoID: w.noID, Unanswered: w.calls - w.results,
		})
		if got != wanted || !d.OK() {
			t.Errorf("%s, turns %t:\ngot  %s\nwant %s", filepath.Base(path), turns, got, wanted)
		}
		if failed := d.Failed(); failed[lifecycle.ToolExecutionFailed] != d.Unanswered || d.Ready+d.Unanswered+failed[lifecycle.ProjectionFailed] != d.Admitted {
			t.Errorf("%s, turns %t: %d ready, failed %v", filepath.Base(path), turns, d.Ready, failed)
		}
		if n := bytesOf(t, path); turns && d.RawBytes != n {
			t.Errorf("%s: got %d raw bytes, want %d", filepath.Base(path), d.RawBytes, n)
		}
		t.Logf("%s, turns %t: %s", filepath.Base(path), turns, strings.TrimSuffix(shown(d.Counts), "}"))
	}
}

// The numbers that are stated in words, whatever expected.json says.
func TestCheckData_replay_airline(t *testing.T) {
	t.Parallel()
	path := filepath.Join(sharedData(t), "tau-bench-airline", "conversations.jsonl")
	d := replayed(t, replay.Options{Files: []string{path}})
	if d.Calls != 862 || d.Admitted != 806 || len(d.Refused) != 1 || d.Refused[lifecycle.DuplicateToolCall] != 56 || d.RawMismatch != 0 {
		t.Errorf("without turns: got %s", shown(d.Counts))
	}
	if d := replayed(t, replay.Options{Files: []string{path}, Turns: true}); d.Calls != 862 || d.Admitted != 862 || len(d.Refused) != 0 || d.RawMismatch != 0 {
		t.Errorf("with turns: got %s", shown(d.Counts))
	}
}
