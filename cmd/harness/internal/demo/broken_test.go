package demo_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/cmd/harness/internal/demo"
	"github.com/toolharness/harness/cmd/harness/internal/demo/data"
	"github.com/toolharness/harness/internal/redistest"
)

// The checks, as a person reads them.
const (
	checkReady     = "every recorded call is READY"
	checkVerdicts  = "every search has its verdict"
	checkRefusals  = "every refusal has its code and says whether the tool ran"
	checkEntries   = "a tool was entered once for each admission"
	checkResults   = "results are those that were recorded"
	checkPublished = "searches found what is published"
	checkAbsences  = "nothing found was searched to the end"
	checkTogether  = "calls of a message ran at once, answered in order"
	checkTurns     = "an id in another turn is another call"
	checkChinese   = "Chinese text is the same everywhere, byte for byte"
	checkRecords   = "records hold what was sent and returned, byte for byte"
	checkDatabase  = "the database is unchanged"
	checkFacts     = "the facts are complete and count every call"
	checkKeys      = "every key of the run expires"
	checkRemoved   = "nothing of the run is left"
)

// mustFail runs the demo and wants exactly these checks to fail, one of them with the detail.
func mustFail(t *testing.T, o demo.Options, detail string, checks ...string) {
	t.Helper()
	d := run(t, o)
	var failed []string
	var details strings.Builder
	for _, c := range d.Failed() {
		failed = append(failed, c.What)
		details.WriteString(c.Detail + "\n")
	}
	if d.OK || !slices.Equal(failed, checks) || !strings.Contains(details.String(), detail) {
		t.Errorf("got ok %t, failed %q:\n%swant %q with %q", d.OK, failed, details.String(), checks, detail)
	}
}

// replaced is text with one passage replaced, which must be there.
func replaced(t *testing.T, text, old, fresh string) string {
	t.Helper()
	if !strings.Contains(text, old) {
		t.Fatalf("%q is not in the text", old)
	}
	return strings.Replace(text, old, fresh, 1)
}

func TestExpectationsThatAreNotMet(t *testing.T) {
	t.Parallel()
	conversations, chinook := data.ConversationsExpected(), data.ChinookExpected()
	none := demo.Options{}
	for name, c := range map[string]struct {
		options demo.Options
		checks  []string
		detail  string
	}{
		"another number":    {none.ExpectingConversations(replaced(t, conversations, "523.0600000000003", "523.07")), []string{checkResults}, "call_B88EwU44nwwpQL5M9nlcemSU: value 2 of the row"},
		"another text":      {none.ExpectingConversations(replaced(t, conversations, "[('USA', 523.0600000000003)]", "[('Usa', 523.0600000000003)]")), []string{checkResults}, "value 1 of the row"},
		"another width":     {none.ExpectingConversations(replaced(t, conversations, "[('USA', 523.0600000000003)]", "[('USA',)]")), []string{checkResults}, "as many values"},
		"not a tuple":       {none.ExpectingConversations(replaced(t, conversations, "[('USA', 523.0600000000003)]", "USA")), []string{checkResults}, "as many values"},
		"another id":        {none.ExpectingConversations(replaced(t, conversations, `"id": "call_WkHRiPcBoGN9bc58MIupRHKP"`, `"id": "call_x"`)), []string{checkResults}, "no query with a published result was made under call_x"},
		"another count":     {none.ExpectingConversations(replaced(t, conversations, `"calls": 4`, `"calls": 5`)), []string{checkResults}, "conversation 1: 4 calls"},
		"no conversations":  {none.ExpectingConversations("[]"), []string{checkResults}, "no result is published"},
		"unreadable":        {none.ExpectingConversations("x"), []string{checkResults}, "cannot be read"},
		"another digest":    {none.ExpectingDatabase(replaced(t, chinook, `"sqlite_sha256": "7651`, `"sqlite_sha256": "7652`)), []string{checkDatabase}, "digest"},
		"another row count": {none.ExpectingDatabase(replaced(t, chinook, `"Artist": 275`, `"Artist": 274`)), []string{checkPublished, checkDatabase}, "Artist has 275 rows, want 274"},
		"another table":     {none.ExpectingDatabase(replaced(t, chinook, `"Artist": 275`, `"Painter": 0`)), []string{checkPublished, checkDatabase}, "Painter"},
		"another sum":       {none.ExpectingDatabase(replaced(t, chinook, "2328.6", "2328.5")), []string{checkDatabase}, "2328.5"},
		"no database":       {none.ExpectingDatabase("{}"), []string{checkDatabase}, "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mustFail(t, c.options, c.detail, c.checks...)
		})
	}
}

// bodies replaces what runs for a call.
func bodies(body func(ctx context.Context, in boundary.Input, raw io.Writer, real boundary.Executor) error) demo.Options {
	return demo.Options{}.WithExecutor(func(x boundary.Executor) boundary.Executor {
		return boundary.ExecutorFunc(func(ctx context.Context, in boundary.Input, raw io.Writer) error { return body(ctx, in, raw, x) })
	})
}

func TestToolsThatDoNotBehave(t *testing.T) {
	t.Parallel()
	const query, list = "call_WkHRiPcBoGN9bc58MIupRHKP", "call_tFp7HYD6sAAmCShgeqkVZH6Q"
	t.Run("entered twice", func(t *testing.T) {
		t.Parallel()
		mustFail(t, bodies(func(ctx context.Context, in boundary.Input, raw io.Writer, real boundary.Executor) error {
			if in.Identity.Call.ID == query {
				if err := real.Execute(ctx, in, io.Discard); err != nil {
					return err
				}
			}
			return real.Execute(ctx, in, raw)
		}), query+" was entered more than once", checkEntries)
	})
	t.Run("not entered", func(t *testing.T) {
		t.Parallel()
		raws := rawResults(t)
		mustFail(t, bodies(func(ctx context.Context, in boundary.Input, raw io.Writer, real boundary.Executor) error {
			if in.Identity.Call.ID == list {
				_, err := io.WriteString(raw, raws[list])
				return err
			}
			return real.Execute(ctx, in, raw)
		}), "23 entries, 24 admissions", checkEntries, checkRecords)
	})
	t.Run("another text", func(t *testing.T) {
		t.Parallel()
		mustFail(t, bodies(func(ctx context.Context, in boundary.Input, raw io.Writer, real boundary.Executor) error {
			err := real.Execute(ctx, in, raw)
			if in.Identity.Call.ID == list && err == nil {
				_, err = io.WriteString(raw, ", More")
			}
			return err
		}), list+": the text is not the recorded one", checkResults, checkRecords)
	})
	t.Run("failed", func(t *testing.T) {
		t.Parallel()
		mustFail(t, bodies(func(ctx context.Context, in boundary.Input, raw io.Writer, real boundary.Executor) error {
			if err := real.Execute(ctx, in, raw); err != nil || in.Identity.Call.ID != list {
				return err
			}
			return errors.New("marker_7")
		}), list+" is ERROR TOOL_EXECUTION_FAILED, ran yes", checkReady, checkResults, checkFacts)
	})
	t.Run("refused without its code", func(t *testing.T) {
		t.Parallel()
		mustFail(t, bodies(func(ctx context.Context, in boundary.Input, raw io.Writer, real boundary.Executor) error {
			err := real.Execute(ctx, in, raw)
			if err != nil && in.Identity.Call.ID == "demo_delete" {
				return errors.New("marker_7")
			}
			return err
		}), "got TOOL_EXECUTION_FAILED, ran yes, want SQL_REFUSED, ran yes", checkRefusals)
	})
	t.Run("a delete that is let through", func(t *testing.T) {
		t.Parallel()
		mustFail(t, bodies(func(ctx context.Context, in boundary.Input, raw io.Writer, real boundary.Executor) error {
			if in.Identity.Call.ID == "demo_delete" {
				in.Arguments = []byte(`{"query":"SELECT 1"}`)
			}
			return real.Execute(ctx, in, raw)
		}), "got none, ran yes, want SQL_REFUSED, ran yes", checkRefusals, checkFacts)
	})
	t.Run("no facts", func(t *testing.T) {
		t.Parallel()
		// Absence where a row was recorded: READY, and another result.
		mustFail(t, bodies(func(ctx context.Context, in boundary.Input, raw io.Writer, real boundary.Executor) error {
			if in.Identity.Call.ID == query {
				in.Arguments = []byte(`{"query":"SELECT 1 WHERE 0"}`)
			}
			return real.Execute(ctx, in, raw)
		}), query+": the result is not one row", checkResults)
	})
}

// Whatever is wrong on the server is seen by the demo's own look at it.
func TestServersThatDoNotBehave(t *testing.T) {
	t.Parallel()
	const id = "call_KJZ1Jx6JazyDdJa0uH1UeiOz"
	for name, c := range map[string]struct {
		do     func(ctx context.Context, client *redis.Client, run canonical.RunKey) error
		detail string
		checks []string
	}{
		"a record without expiry": {func(ctx context.Context, client *redis.Client, run canonical.RunKey) error {
			return client.Persist(ctx, demo.RecordOf(run, callName(id))).Err()
		}, id + " has no expiry", []string{checkKeys}},
		"a ledger without expiry": {func(ctx context.Context, client *redis.Client, run canonical.RunKey) error {
			return client.Persist(ctx, demo.PrefixOf(run)+"run").Err()
		}, "run has no expiry", []string{checkEntries, checkKeys}}, // the store refuses to read such a ledger
		"a key of its own without expiry": {func(ctx context.Context, client *redis.Client, run canonical.RunKey) error {
			return client.Set(ctx, demo.PrefixOf(run)+"new", "x", 0).Err()
		}, "new has no expiry", []string{checkKeys}},
		"a record that is gone": {func(ctx context.Context, client *redis.Client, run canonical.RunKey) error {
			return client.Del(ctx, demo.RecordOf(run, callName(id))).Err()
		}, id + " is missing", []string{checkResults, checkRecords, checkKeys}},
		"one record more": {func(ctx context.Context, client *redis.Client, run canonical.RunKey) error {
			key := demo.RecordOf(run, callName("more"))
			return errors.Join(client.HSet(ctx, key, "st", "READY").Err(), client.Expire(ctx, key, 1e12).Err())
		}, "25 records, want 24", []string{checkKeys}},
		"a request that was changed": {func(ctx context.Context, client *redis.Client, run canonical.RunKey) error {
			return client.HSet(ctx, demo.RecordOf(run, callName(id)), "rq", "{}").Err()
		}, id, []string{checkResults, checkRecords}},
		"a raw result that was changed": {func(ctx context.Context, client *redis.Client, run canonical.RunKey) error {
			return changeRaw(ctx, client, demo.RecordOf(run, callName(id)))
		}, id, []string{checkResults, checkRecords}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := redistest.Shared(t)
			mustFail(t, demo.Options{Redis: db.URL()}.BeforeChecks(func(ctx context.Context, runs []canonical.RunKey) {
				if err := c.do(ctx, db.Client(), runs[0]); err != nil {
					t.Error(err)
				}
			}), c.detail, c.checks...)
			if left := keysOf(t, db.Client()); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

func changeRaw(ctx context.Context, client *redis.Client, key string) error {
	fields, err := client.HKeys(ctx, key).Result()
	if err != nil {
		return err
	}
	for _, field := range fields {
		if strings.HasPrefix(field, "raw:") {
			return client.HSet(ctx, key, field, "another").Err()
		}
	}
	return errors.New("the record has no raw field")
}

func TestKeysThatComeBack(t *testing.T) {
	t.Parallel()
	db := redistest.Shared(t)
	mustFail(t, demo.Options{Redis: db.URL()}.AfterRemoval(func(ctx context.Context, runs []canonical.RunKey) {
		if err := db.Client().Set(ctx, demo.PrefixOf(runs[1])+"late", "x", 0).Err(); err != nil {
			t.Error(err)
		}
	}), "1 keys are left", checkRemoved)
	if left := keysOf(t, db.Client()); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestEntriesFileThatWasChanged(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(path string, run canonical.RunID) error{
		"a line more": func(path string, run canonical.RunID) error {
			file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = file.WriteString(string(run) + "\tcall_x\tsql_db_query\n")
			return errors.Join(err, file.Close())
		},
		"no lines": func(path string, _ canonical.RunID) error { return os.Truncate(path, 0) },
		"no file":  func(path string, _ canonical.RunID) error { return os.Remove(path) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "entries")
			mustFail(t, demo.Options{Entries: path}.BeforeChecks(func(_ context.Context, runs []canonical.RunKey) {
				if err := change(path, runs[0].Run); err != nil {
					t.Error(err)
				}
			}), "the entries file", checkEntries)
		})
	}
}

// A pipe or a terminal takes the lines, but cannot be read back.
func TestEntriesGoToWhatIsNoFile(t *testing.T) {
	t.Parallel()
	if d := run(t, demo.Options{Entries: os.DevNull}); !d.OK {
		t.Errorf("got %+v", d.Failed())
	}
}

// An interrupt in the middle of a call leaves nothing behind.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	for _, at := range []canonical.ToolCallID{"call_tFp7HYD6sAAmCShgeqkVZH6Q", "call_NJjtCpU89MBMplssjn1z0xzq", "call_2", "demo_delete"} {
		t.Run(string(at), func(t *testing.T) {
			t.Parallel()
			db := redistest.Shared(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			o := bodies(func(body context.Context, in boundary.Input, raw io.Writer, real boundary.Executor) error {
				if in.Identity.Call.ID == at {
					cancel()
					<-body.Done()
					return body.Err()
				}
				return real.Execute(body, in, raw)
			})
			o.Redis = db.URL()
			_, err := demo.Run(ctx, quick(t, o), demo.Silent{})
			if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "stopped") {
				t.Errorf("got %v, want that it was stopped", err)
			}
			if left := keysOf(t, db.Client()); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// A server that goes away ends the demo at once, with the store's reason.
func TestServerThatDies(t *testing.T) {
	t.Parallel()
	server := redistest.Server(t)
	o := bodies(func(ctx context.Context, in boundary.Input, raw io.Writer, real boundary.Executor) error {
		if in.Identity.Call.ID == "call_AQuTGbgH63u4gPgyV723yrjX" {
			server.Kill()
		}
		return real.Execute(ctx, in, raw)
	})
	o.Redis = server.URL()
	_, err := demo.Run(t.Context(), o, demo.Silent{})
	if err == nil || !strings.Contains(err.Error(), "RESULT_NOT_STORED, ran: yes") || !strings.Contains(err.Error(), "redisstore: complete:") {
		t.Errorf("got %v, want the code and the store's reason", err)
	}
}
