package retrieval_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/internal/vectors"
	"github.com/toolharness/harness/redact"
	"github.com/toolharness/harness/retrieval"
)

// A recorded session of a coding agent: every result is stored, listed, read back
// in chunks of several sizes, exported and verified, and one flipped bit at each
// of many random places of the exported file is found.
func TestSharedData_coding_session(t *testing.T) {
	results := session(t)
	onStores(t, backends(), []scenario{{"E39_E41_E43_a_recorded_session", func(t *testing.T, d *deck) { wholeSession(t, d, results) }}})
}

type result struct {
	id, tool string
	text     []byte
}

// session is the results of the recorded session, in their order.
func session(t *testing.T) []result {
	t.Helper()
	file, err := os.ReadFile(filepath.Join(vectors.Outside(t, "pi-coding-sessions"), "session-opus-4-5.anthropic.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	type block struct {
		Type      string          `json:"type"`
		ID        string          `json:"id"`
		Name      string          `json:"name"`
		ToolUseID string          `json:"tool_use_id"`
		Content   json.RawMessage `json:"content"`
	}
	tools := map[string]string{}
	var out []result
	for line := range bytes.Lines(file) {
		var message struct{ Content []block }
		if err := json.Unmarshal(line, &message); err != nil {
			t.Fatal(err)
		}
		for _, b := range message.Content {
			if b.Type == "tool_use" {
				tools[b.ID] = b.Name
				continue
			}
			var texts []struct{ Text string }
			if err := json.Unmarshal(b.Content, &texts); err != nil {
				t.Fatal(err)
			}
			r := result{id: b.ToolUseID, tool: tools[b.ToolUseID]}
			for _, part := range texts {
				r.text = append(r.text, part.Text...)
			}
			out = append(out, r)
		}
	}
	if len(out) != 448 {
		t.Fatalf("%d results, the set's own count is 448", len(out))
	}
	return out
}

func wholeSession(t *testing.T, d *deck, results []result) {
	b := newBench(t, d)
	redactor, err := redact.New(redact.Config{})
	if err != nil {
		t.Fatal(err)
	}
	refs := make([]evidence.Reference, len(results))
	for i, r := range results {
		got := b.calls(b.run, tried{id: r.id, tool: r.tool, raw: r.text})
		var ok bool
		if refs[i], ok = got.Outcome.Reference(); got.Err != nil || !ok {
			t.Fatalf("%s: %v", r.id, got.Err)
		}
	}
	entries, _ := pages(t, b.Reader, retrieval.Filter{Run: "run-1"}, 100)
	if len(entries) != len(results) {
		t.Fatalf("%d entries of %d results", len(entries), len(results))
	}
	byTool := 0
	for _, tool := range []string{"read", "write", "edit", "bash"} {
		some, _ := pages(t, b.Reader, retrieval.Filter{Tool: tool}, 37)
		byTool += len(some)
	}
	if byTool != len(results) {
		t.Errorf("%d entries by tool, want %d", byTool, len(results))
	}
	read := 0
	for i, r := range results {
		if ref, ok := entries[i].Reference(); !ok || ref != refs[i] {
			t.Fatalf("entry %d is %+v, want %+v", i, ref, refs[i])
		}
		view, err := redactor.Redact(t.Context(), redact.Result, r.text)
		if err != nil {
			t.Fatal(err)
		}
		for _, max := range sizes(d, i, len(r.text)) {
			if got := readAll(t, b.Reader, refs[i], max); got != string(view.Text) {
				t.Fatalf("%s in chunks of %d: %d bytes, the view has %d", r.id, max, len(got), len(view.Text))
			}
			read++
		}
		raw, err := b.Open(t.Context(), refs[i])
		if err != nil || !bytes.Equal(raw, r.text) {
			t.Fatalf("%s: %d bytes, %v", r.id, len(raw), err)
		}
	}
	if err := b.run.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	file, made := export(t, b.Reader, "run-1")
	if found, err := retrieval.Verify(bytes.NewReader(file)); err != nil || found != made || !made.Complete || made.Calls != int64(len(results)) {
		t.Fatalf("verified %+v, %v, made %+v", found, err, made)
	}
	t.Logf("%d results read %d times, exported in %d bytes", len(results), read, len(file))
	flips := 25
	if os.Getenv("FAULTS") == "full" {
		flips = 1000
	}
	random := rand.New(rand.NewPCG(6, 51266))
	for range flips {
		at, bit := random.IntN(len(file)), byte(1)<<random.IntN(8)
		file[at] ^= bit
		_, err := retrieval.Verify(bytes.NewReader(file))
		wantLine(t, fmt.Sprintf("byte %d", at), err, 1+bytes.Count(file[:at], []byte("\n")), "")
		file[at] ^= bit
	}
}

// sizes are the chunks that a result is read in: one character, 7, 4096 bytes and
// all, where that is not more trips to a server than a test should make.
func sizes(d *deck, i, bytes int) []int {
	all := []int{1, 7, 4096, 0}
	switch {
	case d.client == nil, bytes < 60, i == 0:
		return all
	case bytes < 600:
		return all[1:]
	}
	return all[2:]
}
