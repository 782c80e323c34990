package readme

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3/driver"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/cmd/harness/internal/demo/data"
	"github.com/toolharness/harness/cmd/harness/internal/recording"
	"github.com/toolharness/harness/examples/loop"
	"github.com/toolharness/harness/internal/redistest"
	"github.com/toolharness/harness/redisstore"
	"github.com/toolharness/harness/redisstore/embedded"
)

// model answers with one message of its script after the other, the last one made of what it was told.
type model struct {
	script  []loop.Message
	answer  func(history []loop.Message) string
	tools   []boundary.Definition
	history []loop.Message
	err     error // returned when the script is over, in place of an answer
}

func (m *model) Next(_ context.Context, history []loop.Message, tools []boundary.Definition) (loop.Message, error) {
	m.tools, m.history = tools, slices.Clone(history)
	if len(m.script) == 0 {
		if m.err != nil {
			return loop.Message{}, m.err
		}
		return loop.Message{Role: "assistant", Text: m.answer(history)}, nil
	}
	next := m.script[0]
	m.script = m.script[1:]
	return next, nil
}

func calls(list ...boundary.Call) loop.Message {
	return loop.Message{Role: "assistant", Calls: list}
}

func query(id boundary.ToolCallID, statement string) boundary.Call {
	arguments, _ := json.Marshal(loop.Query{SQL: statement}) // a text always marshals
	return boundary.Call{ID: id, Name: "sql", Arguments: arguments}
}

// chinook is the database as a file that could be written, and a digest of what is in it now.
func chinook(t *testing.T) (db *sql.DB, digest func() [32]byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "chinook.sqlite")
	if err := os.WriteFile(path, []byte(data.Chinook()), 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := driver.Open("file:" + filepath.ToSlash(path))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db, func() [32]byte {
		image, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return sha256.Sum256(image)
	}
}

// stores runs a test on the embedded store and on a redis-server.
func stores(t *testing.T, f func(*testing.T, canonical.Store, func() time.Time)) {
	t.Helper()
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		server, err := embedded.Start()
		if err != nil {
			t.Fatal(err)
		}
		defer server.Close()
		f(t, server.Store(), server.Now)
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		store, err := redisstore.Dial(t.Context(), redistest.Shared(t).URL(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		f(t, store, time.Now)
	})
}

// open makes the toolset of the README and a run.
func open(t *testing.T, store canonical.Store, now func() time.Time, db *sql.DB) (*boundary.Toolset, *boundary.Run) {
	t.Helper()
	b, err := boundary.New(boundary.Config{Store: store, Authorizer: boundary.AllowAll{}, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	tools, err := loop.NewTools(b, db)
	if err != nil {
		t.Fatal(err)
	}
	run, err := b.OpenRun(t.Context(), boundary.RunSpec{Scope: boundary.Scope{Tenant: "readme"}})
	if err != nil {
		t.Fatal(err)
	}
	return tools, run
}

// recorded is the recorded query with this id and the question that it belongs to.
func recorded(t *testing.T, id string) (question string, call boundary.Call) {
	t.Helper()
	conversations, err := recording.Parse(data.Conversations())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range conversations {
		for _, asked := range c.Calls {
			if asked.ID == id {
				return c.Question, boundary.Call{ID: boundary.ToolCallID(asked.ID), Name: "sql", Arguments: []byte(asked.Arguments)}
			}
		}
	}
	t.Fatalf("no call %s", id)
	return "", boundary.Call{}
}

// spender reads the answer out of the first tool message, as the recorded model did.
func spender(history []loop.Message) string {
	for _, m := range history {
		var result struct{ Rows [][]any }
		if m.Role == "tool" && json.Unmarshal([]byte(m.Text), &result) == nil && len(result.Rows) == 1 {
			return fmt.Sprintf("The country whose customers spent the most is the %v, with a total spending of %.2f.", result.Rows[0]...)
		}
	}
	return "nothing was found"
}

func TestLoopOfTheReadme(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, store canonical.Store, now func() time.Time) {
		db, digest := chinook(t)
		before := digest()
		tools, run := open(t, store, now, db)
		question, most := recorded(t, "call_B88EwU44nwwpQL5M9nlcemSU")
		_, count := recorded(t, "call_WkHRiPcBoGN9bc58MIupRHKP")
		m := &model{answer: spender, script: []loop.Message{
			calls(most),
			calls(query("call_delete", "DELETE FROM Artist"), count, query("call_none", "SELECT Name FROM Artist WHERE ArtistId = -1")),
			calls(most, boundary.Call{ID: "call_bash", Name: "bash", Arguments: []byte(`{}`)}, boundary.Call{ID: "call_bad", Name: "sql", Arguments: []byte(`{"q":1}`)}),
		}}
		answer, err := loop.Answer(t.Context(), tools, run, m, question)
		if want := "The country whose customers spent the most is the USA, with a total spending of 523.06."; err != nil || answer != want {
			t.Fatalf("got %q, %v, want %q", answer, err, want)
		}
		wantMessages(t, m.history, question)
		if len(m.tools) != 1 || m.tools[0].Name != "sql" || !json.Valid(m.tools[0].Schema) {
			t.Errorf("tools: got %+v", m.tools)
		}
		if digest() != before {
			t.Error("the database file was changed")
		}
		wantFacts(t, run)
	})
}

// wantMessages: one tool message for each call, in the order asked, with all that the model has to know.
func wantMessages(t *testing.T, history []loop.Message, question string) {
	t.Helper()
	want := []struct{ role, id, contains string }{
		{"user", "", question},
		{"assistant", "", ""},
		{"tool", "call_B88EwU44nwwpQL5M9nlcemSU", `"rows":[["USA",523.0`},
		{"assistant", "", ""},
		{"tool", "call_delete", `{"error":{"code":"TOOL_EXECUTION_FAILED","message":"The tool failed.","ran":"yes"}}`},
		{"tool", "call_WkHRiPcBoGN9bc58MIupRHKP", `"rows":[[1]]`},
		{"tool", "call_none", `"nothing_found":"searched database shop for`},
		{"assistant", "", ""},
		{"tool", "call_B88EwU44nwwpQL5M9nlcemSU", `"code":"DUPLICATE_TOOL_CALL"`},
		{"tool", "call_bash", `"code":"UNKNOWN_TOOL"`},
		{"tool", "call_bad", `"code":"INVALID_INPUT"`},
	}
	if len(history) != len(want) {
		t.Fatalf("got %d messages, want %d", len(history), len(want))
	}
	for i, w := range want {
		if got := history[i]; got.Role != w.role || string(got.CallID) != w.id || !strings.Contains(got.Text, w.contains) {
			t.Errorf("message %d: got %s %s %s, want %+v", i, got.Role, got.CallID, got.Text, w)
		}
	}
}

// wantFacts: four calls were admitted, three observed something, and the refused ones left nothing.
func wantFacts(t *testing.T, run *boundary.Run) {
	t.Helper()
	if err := run.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	report, err := run.Facts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n := report.Totals; !report.Complete || n.Admitted != 4 || n.Ready != 3 || len(report.Absences) != 1 || len(report.Excluded) != 1 {
		t.Errorf("got %+v, complete %t, absences %d, excluded %+v", n, report.Complete, len(report.Absences), report.Excluded)
	}
	if text := report.Text(); !strings.Contains(text, `Country = "\"USA\""`) || !strings.Contains(text, "ran yes: ") || !strings.Contains(text, "call_delete") {
		t.Errorf("got\n%s", text)
	}
}

// A model that fails ends the loop with its error, and what was called stays recorded.
func TestLoopWhoseModelFails(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, store canonical.Store, now func() time.Time) {
		db, _ := chinook(t)
		tools, run := open(t, store, now, db)
		question, call := recorded(t, "call_WkHRiPcBoGN9bc58MIupRHKP")
		broken := errors.New("the model is gone")
		answer, err := loop.Answer(t.Context(), tools, run, &model{script: []loop.Message{calls(call)}, err: broken}, question)
		if !errors.Is(err, broken) || answer != "" {
			t.Errorf("got %q, %v, want the model's error", answer, err)
		}
		kept, err := run.Lookup(t.Context(), canonical.CallName{ID: call.ID})
		if err != nil || !strings.Contains(kept.Text(), `"rows":[[1]]`) {
			t.Errorf("got %s, %v, want the stored answer", kept.Text(), err)
		}
	})
}

// A model that never stops is told so by every further call, and no tool is entered for it any more.
func TestLoopOverItsBudget(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, store canonical.Store, now func() time.Time) {
		db, _ := chinook(t)
		tools, run := open(t, store, now, db)
		var script []loop.Message
		for i := range 12 {
			script = append(script, calls(query(boundary.ToolCallID(fmt.Sprintf("call_%d", i)), "SELECT 1")))
		}
		last := func(history []loop.Message) string { return history[len(history)-1].Text }
		answer, err := loop.Answer(t.Context(), tools, run, &model{script: script, answer: last}, "again and again")
		if want := `{"error":{"code":"TOOL_BUDGET_EXHAUSTED"`; err != nil || !strings.HasPrefix(answer, want) || !strings.Contains(answer, `"ran":"no"`) {
			t.Errorf("got %s, %v, want %s", answer, err, want)
		}
		report, err := run.Facts(t.Context())
		if err != nil || report.Totals.Admitted != 8 { // the default budget of one tool
			t.Errorf("got %d admissions, %v, want 8", report.Totals.Admitted, err)
		}
	})
}
