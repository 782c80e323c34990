package demo_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/cmd/harness/internal/console"
	"github.com/toolharness/harness/cmd/harness/internal/demo"
	"github.com/toolharness/harness/internal/redistest"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/redisstore"
)

// everywhere runs a test on the embedded store and on a redis-server.
func everywhere(t *testing.T, f func(t *testing.T, o demo.Options)) {
	t.Helper()
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		f(t, demo.Options{})
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		f(t, demo.Options{Redis: redistest.Shared(t).URL()})
	})
}

func run(t *testing.T, o demo.Options) demo.Document {
	t.Helper()
	document, err := demo.Run(t.Context(), quick(t, o), demo.Silent{})
	if err != nil {
		t.Fatal(err)
	}
	return document
}

func keysOf(t *testing.T, client *redis.Client) []string {
	t.Helper()
	keys, err := client.Keys(t.Context(), "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(keys)
	return keys
}

func TestDemoIsAsItMustBe(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, o demo.Options) {
		d, err := demo.Run(t.Context(), o, demo.Silent{}) // with an index of its own, as anybody's demo
		if err != nil {
			t.Fatal(err)
		}
		if failed := d.Failed(); !d.OK || len(failed) > 0 || len(d.Checks) != 16 {
			t.Fatalf("got ok %t, %d checks, failed %+v", d.OK, len(d.Checks), failed)
		}
		var ids []string
		for _, q := range d.Questions {
			for _, c := range q.Calls {
				ids = append(ids, string(c.ID))
				if c.State != lifecycle.Ready || c.Evidence != "EVIDENCE_FOUND" || c.Ran != "yes" || c.RawBytes == 0 || c.ModelBytes == 0 || len(c.RawSHA256) != 64 {
					t.Errorf("got %+v", c)
				}
			}
		}
		want := []string{
			"call_tFp7HYD6sAAmCShgeqkVZH6Q", "call_KJZ1Jx6JazyDdJa0uH1UeiOz", "call_AQuTGbgH63u4gPgyV723yrjX", "call_B88EwU44nwwpQL5M9nlcemSU",
			"call_fMF8eTmX5TJDJjc3Mhdg52TI", "call_W8Vkk4NEodkAAIg8nexAszUH", "call_8ryjsRPLAr79mM3Qvnq6gTOH", "call_NJjtCpU89MBMplssjn1z0xzq",
			"call_1BfrueC9koSIyi4OfMu2Ao8q", "call_Kn09w9jd9swcNzIZ1b5MlKID", "call_WkHRiPcBoGN9bc58MIupRHKP",
		}
		if !slices.Equal(ids, want) {
			t.Errorf("ids: got %v, want %v", ids, want)
		}
		var refused []string
		for _, r := range d.Refused {
			refused = append(refused, string(r.Code)+" "+r.Ran)
		}
		wantRefused := []string{
			"TOOL_BUDGET_EXHAUSTED no", "SQL_REFUSED yes", "NOT_READ_ONLY no", "INVALID_TOOL_CALL_ID no", "RUN_MISMATCH no",
			"DUPLICATE_TOOL_CALL no", "DUPLICATE_TOOL_CALL no", "RUN_BUDGET_EXHAUSTED no", "RUN_DEADLINE_EXCEEDED no",
		}
		if !slices.Equal(refused, wantRefused) {
			t.Errorf("refused: got %v, want %v", refused, wantRefused)
		}
		for _, fact := range []string{
			"22 ready", "4 absences; complete\n", "Country = \"\\\"USA\\\"\"", "TotalSpent = 523.06", `"COUNT(*)" = 1`, `nearest_name = "Alice In Chains"`,
			"excluded: 1 error SQL_REFUSED, ran yes: 24 sql_db_query demo_delete", "excluded: 1 error LOG_SCAN_LIMIT, ran yes: 18 search_logs_part call_0 turn m3",
			"level WARN record_count = \"exact 141, ", "level ERROR record_count = \"exact 14, ", "hit_count = \"exact 4 for query", "artists = 275",
			"search_logs call_0 turn m2: found nothing: ", "search_articles call_1 turn m2: found nothing: ", "at least 10, ",
			"document zh_qingsong_card_fee retrieved = \"for query \\\"青松卡的年费是多少？\\\"", "𠮷", `"歌手" = "\"邓丽君\""`,
		} {
			if !strings.Contains(d.Facts.Text(), fact) {
				t.Errorf("facts: got\n%s\nwant %q in them", d.Facts.Text(), fact)
			}
		}
	})
}

// Anyone can count the file: a line for each entry, and as many entries as admissions.
func TestEntriesFile(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, o demo.Options) {
		o.Entries = filepath.Join(t.TempDir(), "entries")
		const before = "written by somebody else\n"
		if err := os.WriteFile(o.Entries, []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
		first, second := run(t, o), run(t, o)
		text, err := os.ReadFile(o.Entries)
		if err != nil {
			t.Fatal(err)
		}
		rest, kept := strings.CutPrefix(string(text), before)
		lines := strings.Split(strings.TrimSuffix(rest, "\n"), "\n")
		if !kept || len(lines) != 48 {
			t.Fatalf("got %d lines, the old one kept %t, want 48 behind it", len(lines), kept)
		}
		for i, d := range []demo.Document{first, second} {
			want := []string{string(d.Run) + "\tdemo_delete\tsql_db_query"}
			for _, q := range d.Questions {
				for _, c := range q.Calls {
					want = append(want, string(d.Run)+"\t"+string(c.ID)+"\t"+c.Tool)
				}
			}
			for _, m := range d.Messages {
				for _, c := range m.Calls {
					want = append(want, string(d.Run)+"\t"+string(m.Turn)+":"+string(c.ID)+"\t"+c.Tool)
				}
			}
			got := slices.Sorted(slices.Values(lines[24*i : 24*i+24])) // calls of one message are entered in either order
			if slices.Sort(want); !slices.Equal(got, want) {
				t.Errorf("run %d: got %q, want %q", i, got, want)
			}
		}
		if int64(len(lines)/2) != first.Facts.Totals.Admitted {
			t.Errorf("got %d entries, want the %d admissions", len(lines)/2, first.Facts.Totals.Admitted)
		}
	})
}

func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	db := redistest.Shared(t)
	for _, key := range []string{"foreign", demo.PrefixOf(runKey("demo-other")) + "run"} {
		if err := db.Client().Set(t.Context(), key, "x", 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	before := keysOf(t, db.Client())
	run(t, demo.Options{Redis: db.URL()})
	if after := keysOf(t, db.Client()); !slices.Equal(after, before) {
		t.Errorf("got %v, want %v", after, before)
	}
}

// What is kept is all there, expires, holds what the tools returned, and is not touched by a demo that keeps nothing.
func TestKeep(t *testing.T) {
	t.Parallel()
	db := redistest.Shared(t)
	d := run(t, demo.Options{Redis: db.URL(), Keep: true})
	if !d.OK || len(d.Checks) != 15 {
		t.Fatalf("got ok %t, checks %+v", d.OK, d.Checks)
	}
	run(t, demo.Options{Redis: db.URL()})
	keys := keysOf(t, db.Client())
	var named []string
	for _, key := range d.Kept {
		named = append(named, key.Name)
	}
	// Beside them stands the list of the scope's runs, which is everybody's.
	list := fmt.Sprintf("%s:v%d:{%s}:runs", redisstore.DefaultPrefix, canonical.SchemaVersion, demo.Scope().Digest())
	if !slices.Equal(keys, slices.Sorted(slices.Values(append(named, list)))) || len(named) != 27 { // two ledgers, one order, 24 records
		t.Errorf("got %d keys %v, want those in the document: %v", len(keys), keys, named)
	}
	for _, key := range keys {
		left, err := db.Client().PTTL(t.Context(), key).Result()
		if err != nil || left <= 0 || left > 25*time.Hour {
			t.Errorf("%s: got a life of %v, %v", key, left, err)
		}
	}
	store, err := redisstore.New(db.Client(), nil)
	if err != nil {
		t.Fatal(err)
	}
	returned := rawResults(t)
	for _, q := range d.Questions {
		for _, c := range q.Calls {
			record, err := store.Record(t.Context(), runKey(d.Run), callName(c.ID))
			if err != nil {
				t.Fatal(err)
			}
			if got, want := string(record.Raw.Bytes), returned[string(c.ID)]; got != want || want == "" {
				t.Errorf("%s: stored raw: got %q, want %q", c.ID, got, want)
			}
		}
	}
	if want := "HGETALL '" + demo.RecordOf(runKey(d.Run), callName("call_WkHRiPcBoGN9bc58MIupRHKP")) + "'"; !strings.HasSuffix(d.LookWith, want) {
		t.Errorf("got %q, want it to end in %q", d.LookWith, want)
	}
}

func TestTwoDemosAtOnce(t *testing.T) {
	t.Parallel()
	db := redistest.Shared(t)
	entries := filepath.Join(t.TempDir(), "entries")
	o := quick(t, demo.Options{Redis: db.URL(), Entries: entries})
	documents := make([]demo.Document, 4)
	problems := make([]error, len(documents))
	done := make(chan int)
	for i := range documents {
		go func() {
			documents[i], problems[i] = demo.Run(t.Context(), o, demo.Silent{})
			done <- i
		}()
	}
	for range documents {
		<-done
	}
	for i, d := range documents {
		if problems[i] != nil || !d.OK {
			t.Errorf("got %v, failed %+v", problems[i], d.Failed())
		}
	}
	text, err := os.ReadFile(entries)
	if lines := strings.Count(string(text), "\n"); err != nil || lines != 4*24 {
		t.Errorf("got %d lines, %v, want %d", lines, err, 4*24)
	}
	if left := keysOf(t, db.Client()); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestOptionsThatCannotBe(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]demo.Options{
		"keep without a server": {Keep: true},
		"two servers":           {Redis: "redis://:marker_7@a,b"},
		"no address":            {Redis: "marker_7"},
		"another scheme":        {Redis: "http://u:marker_7@localhost"},
		"bad escape":            {Redis: "redis://u:%zzmarker_7@localhost"},
	} {
		_, err := demo.Run(t.Context(), o, demo.Silent{})
		var option *demo.OptionError
		var address *redisstore.URLError
		if !errors.As(err, &option) && !errors.As(err, &address) || strings.Contains(err.Error(), "marker_7") {
			t.Errorf("%s: got %v, want an error of the options that quotes nothing", name, err)
		}
	}
}

func TestNoServer(t *testing.T) {
	t.Parallel()
	_, err := demo.Run(t.Context(), demo.Options{Redis: "redis://user:marker_7@127.0.0.1:1"}, demo.Silent{})
	if err == nil || strings.Contains(err.Error(), "marker_7") || !strings.Contains(err.Error(), "the given Redis cannot be used") {
		t.Errorf("got %v, want an error without the password", err)
	}
}

func TestEntriesFileThatCannotBe(t *testing.T) {
	t.Parallel()
	_, err := demo.Run(t.Context(), demo.Options{Entries: t.TempDir()}, demo.Silent{})
	if err == nil || !strings.Contains(err.Error(), "entries file") {
		t.Errorf("got %v, want an error that names the file", err)
	}
}

// A server that evicts keys could lose a guard; the reason must reach the person who asked.
func TestServerThatEvicts(t *testing.T) {
	t.Parallel()
	server := redistest.Server(t, "--maxmemory", "64mb", "--maxmemory-policy", "allkeys-lru")
	_, err := demo.Run(t.Context(), demo.Options{Redis: server.URL()}, demo.Silent{})
	if err == nil || !strings.Contains(err.Error(), "maxmemory-policy") {
		t.Errorf("got %v, want the policy named", err)
	}
	if left := keysOf(t, server.Client()); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestDocumentIsOneJSONObject(t *testing.T) {
	t.Parallel()
	encoded, err := json.Marshal(run(t, demo.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(encoded, &members); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ok", "store", "run_id", "questions", "messages", "refused", "facts", "checks"} {
		if len(members[name]) == 0 {
			t.Errorf("no member %s", name)
		}
	}
}

// text runs the demo and returns what a person reads in a pipe.
func text(t *testing.T, o demo.Options) string {
	t.Helper()
	o = quick(t, o)
	var out strings.Builder
	c := console.New(&out, 0)
	if _, err := demo.Run(context.WithoutCancel(t.Context()), o, demo.NewText(c)); err != nil || c.Err() != nil {
		t.Fatal(err, c.Err())
	}
	return out.String()
}
