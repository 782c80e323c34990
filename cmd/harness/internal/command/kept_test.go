package command_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/redis/go-redis/v9"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/cmd/harness/internal/command"
	"github.com/toolharness/harness/cmd/harness/internal/demo"
	"github.com/toolharness/harness/cmd/harness/internal/place"
	"github.com/toolharness/harness/internal/redistest"
	"github.com/toolharness/harness/localstore"
)

// listed is what a script needs of a list.
type listed struct {
	Runs []struct {
		ID    string `json:"run_id"`
		Phase string `json:"phase"`
		Calls int    `json:"calls"`
	} `json:"runs"`
	Calls []keptCall `json:"calls"`
	Next  string     `json:"next"`
}

type keptCall struct {
	Seq       int    `json:"seq"`
	Name      string `json:"call"`
	State     string `json:"state"`
	HasResult bool   `json:"has_result"`
	RawSHA256 string `json:"raw_sha256"`
	Evidence  string `json:"evidence_id"`
}

type readPart struct {
	Text string `json:"text"`
	Next int64  `json:"next"`
	View string `json:"view_sha256"`
	Size int64  `json:"view_bytes"`
}

// asked runs a command that must succeed and gives what it printed.
func asked(t *testing.T, args ...string) string {
	t.Helper()
	status, out, errs := run(t, args...)
	if status != command.ExitDone || errs != "" {
		t.Fatalf("%v: got %d, %q", args, status, errs)
	}
	return out
}

// documentOf reads what a command printed as one JSON document.
func documentOf[T any](t *testing.T, args ...string) (d T) {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(asked(t, append(args, "-o", "json")...)))
	if err := decoder.Decode(&d); err != nil || decoder.More() {
		t.Fatalf("%v: got %v, or more than one document", args, err)
	}
	return d
}

// refused runs a command that must end with the status and one line that has the words.
func refused(t *testing.T, status int, words string, args ...string) {
	t.Helper()
	got, out, errs := run(t, args...)
	lines := 1
	if status == command.ExitUsage {
		lines = 2
	}
	if got != status || out != "" || !strings.Contains(errs, words) || !strings.HasPrefix(errs, "harness: ") || strings.Count(errs, "\n") != lines {
		t.Errorf("%v: got %d, %q, %q, want status %d and %q", args, got, out, errs, status, words)
	}
}

// keptRun leaves the run of a demo in the store and gives its id and calls.
func keptRun(t *testing.T, store ...string) (id string, calls []keptCall) {
	t.Helper()
	made := documentOf[struct {
		Run string `json:"run_id"`
	}](t, append([]string{"demo"}, store...)...)
	calls = documentOf[listed](t, append([]string{"ls", made.Run}, flagsOf(store)...)...).Calls
	if len(calls) != 24 {
		t.Fatalf("got %d calls, want those of the demo", len(calls))
	}
	return made.Run, calls
}

// flagsOf are the flags that name a store, without the word to keep.
func flagsOf(store []string) []string {
	var flags []string
	for _, f := range store {
		if f != "--keep" {
			flags = append(flags, f)
		}
	}
	return flags
}

// What a demo kept is listed, shown, read, exported and verified by the commands as a script would use them.
func TestKeptRunsOnRedis(t *testing.T) {
	t.Parallel()
	db := redistest.Shared(t)
	store := []string{"--redis", db.URL()}
	id, calls := keptRun(t, append(store, "--keep")...)
	checkKept(t, id, calls, store)
	refused(t, command.ExitMissing, "no such run", append([]string{"ls", id, "--prefix", "another"}, store...)...)
	t.Run("stored bytes that are altered", func(t *testing.T) {
		alterInRedis(t, db.Client(), id, calls[3].Name)
		checkAltered(t, id, calls[3].Name, store)
	})
}

// The same of a demo that kept its run in a directory.
func TestKeptRunsInADirectory(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "数据")
	store := []string{"--data", dir}
	id, calls := keptRun(t, store...)
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("got %v, %v, want a directory for its owner alone", info, err)
	}
	checkKept(t, id, calls, store)
	t.Run("a second demo beside it", func(t *testing.T) {
		text := asked(t, append([]string{"demo"}, store...)...)
		if !strings.HasSuffix(text, "\nAll 15 checks passed.\n") || !strings.Contains(text, "\n26 runs and records are left in the directory until they expire. To look at one record:\n  harness show demo-") {
			t.Errorf("got\n%s", text)
		}
		if all := documentOf[listed](t, append([]string{"ls"}, store...)...); len(all.Runs) != 4 {
			t.Errorf("got %+v, want four runs", all.Runs)
		}
	})
	t.Run("stored bytes that are altered", func(t *testing.T) {
		alterInFile(t, filepath.Join(dir, localstore.FileName), asked(t, append([]string{"read", id, calls[3].Name, "--raw"}, store...)...))
		checkAltered(t, id, calls[3].Name, store)
	})
}

// What demo and replay say of a directory is what is in it, and the command that they print works.
func TestKeptReplayInADirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := asked(t, "replay", "--data", dir, "--turns", chatFile(t, recordedChat), chatFile(t, recordedChat))
	if !strings.Contains(text, "\nAll 4 ready results, read back from the file, are what was recorded. Store: local.\n") ||
		!strings.Contains(text, "\n6 runs and records are left in the directory until they expire.\nTo look at one record:\n  harness show replay-") {
		t.Errorf("got\n%s", text)
	}
	_, printed, _ := strings.Cut(text, "  harness ")
	shown := asked(t, strings.Fields(strings.ReplaceAll(printed, "'", ""))...)
	if !strings.Contains(shown, "\ntool           get, read\n") {
		t.Errorf("got\n%s", shown)
	}
	var document struct{ Admitted int }
	if err := json.Unmarshal([]byte(asked(t, "replay", "--data", dir, "-o", "json", chatFile(t, recordedChat))), &document); err != nil || document.Admitted != 1 {
		t.Errorf("got %+v, %v", document, err)
	}
	if all := documentOf[listed](t, "ls", "--data", dir, "--tenant", "replay"); len(all.Runs) != 3 {
		t.Errorf("got %+v, want three runs", all.Runs)
	}
}

func TestKeptInADirectoryThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	refused(t, command.ExitMissing, "ls: no such store: there is no "+localstore.FileName, "ls", "--data", t.TempDir())
	refused(t, command.ExitMissing, "no such store", "read", "run", "call", "--data", filepath.Join(t.TempDir(), "none"))
	broken, held := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(broken, localstore.FileName), []byte(strings.Repeat("no database ", 4096)), 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, command.ExitDiffers, "the file is damaged", "ls", "--data", broken)
	store, err := localstore.Open(filepath.Join(held, localstore.FileName), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for _, args := range [][]string{{"ls"}, {"demo"}, {"replay", chatFile(t, recordedChat)}} {
		refused(t, command.ExitFailed, "another process holds the file", append(args, "--data", held)...)
	}
	file := chatFile(t, recordedChat)
	refused(t, command.ExitFailed, "the given directory cannot be used", "demo", "--data", file)
	refused(t, command.ExitFailed, "the given directory cannot be used", "ls", "--data", file)
	for _, args := range [][]string{
		{"demo", "--data", "", "--keep"}, {"demo", "--data", held, "--redis", "redis://u:marker_7@h"}, {"replay", file, "--data", ""}, {"replay", file, "--data", held, "--redis", "redis://u:marker_7@h"},
		{"ls", "--data", ""}, {"ls", "--data", held, "--redis", "redis://u:marker_7@h"}, {"ls", "--data", held, "--prefix", "p"},
	} {
		refused(t, command.ExitUsage, "", args...)
	}
}

// checkKept is what must be true of the run of a demo in any store.
func checkKept(t *testing.T, id string, calls []keptCall, store []string) {
	t.Run("runs in pages", func(t *testing.T) { checkRuns(t, id, store) })
	t.Run("calls in pages", func(t *testing.T) { checkCalls(t, id, calls, store) })
	t.Run("records", func(t *testing.T) { checkShown(t, id, calls, store) })
	t.Run("results", func(t *testing.T) { checkReadBack(t, id, calls, store) })
	t.Run("file", func(t *testing.T) { checkFile(t, id, store) })
	t.Run("missing", func(t *testing.T) {
		for _, args := range [][]string{
			{"ls", "nobody"}, {"show", id, "nobody"}, {"show", "nobody", calls[0].Name}, {"read", id, "nobody"}, {"export", "nobody"},
			{"ls", id, "--tenant", "demo"}, {"show", id, calls[0].Name, "--tenant", "other"},
			{"read", "--evidence", "00000000-0000-4000-8000-000000000000"},
		} {
			refused(t, command.ExitMissing, "no such", append(args, store...)...)
		}
	})
}

// checkRuns: a run on Redis has another beside it, which was opened to outlive its deadline.
func checkRuns(t *testing.T, id string, store []string) {
	all := documentOf[listed](t, append([]string{"ls"}, store...)...)
	if len(all.Runs) != 2 || all.Next != "" {
		t.Fatalf("got %+v, want two runs", all)
	}
	first := documentOf[listed](t, append([]string{"ls", "--limit", "1"}, store...)...)
	second := documentOf[listed](t, append([]string{"ls", "--limit", "1", "--after", first.Next}, store...)...)
	if got, want := fmt.Sprint(append(first.Runs, second.Runs...)), fmt.Sprint(all.Runs); got != want || second.Next != "" {
		t.Errorf("got %s in pages, want %s", got, want)
	}
	text := asked(t, append([]string{"ls"}, store...)...)
	if head, rest, _ := strings.Cut(text, "\n"); !strings.HasPrefix(head, "run  ") || !strings.Contains(rest, id+"  closed     24  ") {
		t.Errorf("got\n%s", text)
	}
	if got, want := asked(t, append([]string{"ls", "--tenant", "nobody"}, store...)...), "no runs in the scope tenant \"nobody\"\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func checkCalls(t *testing.T, id string, calls []keptCall, store []string) {
	var got []keptCall
	after := ""
	for {
		page := documentOf[listed](t, append([]string{"ls", id, "--limit", "7", "--after", after}, store...)...)
		got = append(got, page.Calls...)
		if after = page.Next; after == "" {
			break
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(calls) {
		t.Errorf("got %+v in pages, want %+v", got, calls)
	}
	none := documentOf[listed](t, append([]string{"ls", id, "--status", "NO_EVIDENCE", "--tool", "search_logs"}, store...)...)
	if len(none.Calls) != 2 || none.Calls[0].Name != "m2:call_0" || none.Calls[1].Name != "m4:call_2" {
		t.Errorf("got %+v, want the two searches of logs that found nothing", none.Calls)
	}
	if text := asked(t, append([]string{"ls", id}, store...)...); strings.Count(text, "\n") != 25 || !strings.Contains(text, " 12  m1:call_0                      search_logs           READY ") {
		t.Errorf("got\n%s", text)
	}
}

// checkShown: the record of each call is there, by its name and by its evidence id, and without a body unless asked.
func checkShown(t *testing.T, id string, calls []keptCall, store []string) {
	facts := 0
	for i, c := range calls {
		shown := documentOf[struct {
			keptCall
			Facts   []any `json:"facts"`
			Request any   `json:"request"`
			Raw     any   `json:"raw"`
		}](t, append([]string{"show", id, c.Name}, store...)...)
		facts += len(shown.Facts)
		if shown.Seq != i+1 || shown.State != c.State || shown.Request != nil || shown.Raw != nil || (shown.RawSHA256 != "") != c.HasResult {
			t.Errorf("%s: got %+v", c.Name, shown)
		}
	}
	if facts < 30 {
		t.Errorf("got %d facts", facts)
	}
	c := calls[3]
	text := asked(t, append([]string{"show", id, c.Name}, store...)...)
	if text != asked(t, append([]string{"show", "--evidence", c.Evidence}, store...)...) || !strings.Contains(text, "evidence id    "+c.Evidence+"\n") ||
		!strings.Contains(text, "\nFacts\n  ") || strings.Contains(text, "523.06") && strings.Contains(text, "\nRaw result\n") {
		t.Errorf("got\n%s", text)
	}
	if text := asked(t, append([]string{"show", id, c.Name, "--raw"}, store...)...); !strings.Contains(text, "\nRequest\n  {") || !strings.Contains(text, "\nRaw result\n  {") {
		t.Errorf("got\n%s", text)
	}
}

// checkReadBack: the text is the view whose digest is told, parts of it put together are it, and the raw bytes are those
// whose digest the record has.
func checkReadBack(t *testing.T, id string, calls []keptCall, store []string) {
	for _, c := range calls {
		if !c.HasResult {
			refused(t, command.ExitMissing, "no stored result", append([]string{"read", id, c.Name}, store...)...)
			continue
		}
		text := asked(t, append([]string{"read", id, c.Name}, store...)...)
		whole := documentOf[readPart](t, append([]string{"read", id, c.Name}, store...)...)
		if whole.Text != text || whole.View != digest(text) || whole.Size != int64(len(text)) || whole.Next != 0 {
			t.Errorf("%s: got %+v for %q", c.Name, whole, text)
		}
		shown := documentOf[keptCall](t, append([]string{"show", id, c.Name}, store...)...)
		if raw := asked(t, append([]string{"read", id, c.Name, "--raw"}, store...)...); digest(raw) != shown.RawSHA256 {
			t.Errorf("%s: the raw bytes have another digest than the record says", c.Name)
		}
	}
	inParts(t, id, "m4:call_0", 300, store) // Chinese
}

func inParts(t *testing.T, id, name string, size int, store []string) {
	t.Helper()
	args := append([]string{"read", id, name}, store...)
	text, whole := "", asked(t, args...)
	part := readPart{}
	for {
		more := append(args, "--bytes", strconv.Itoa(size), "--offset", strconv.FormatInt(part.Next, 10))
		if part.View != "" {
			more = append(more, "--view", part.View)
		}
		part = documentOf[readPart](t, more...)
		if text += part.Text; len(part.Text) > size || !utf8.ValidString(part.Text) {
			t.Errorf("got %q", part.Text)
		}
		if part.Next == 0 {
			break
		}
	}
	if text != whole || !strings.Contains(text, "青松卡") || len(text) < 3*size {
		t.Errorf("in parts of %d: got %q, want %q", size, text, whole)
	}
	refused(t, command.ExitFailed, "view: the view is not the one", append(args, "--view", strings.Repeat("0", 64))...)
}

// checkFile exports the run, verifies it, and flips a byte in a record.
func checkFile(t *testing.T, id string, store []string) {
	name := filepath.Join(t.TempDir(), "run.jsonl")
	export := append([]string{"export", id, "-o", name}, store...)
	var made struct {
		OK     bool   `json:"ok"`
		Calls  int    `json:"calls"`
		SHA256 string `json:"sha256"`
		Line   int    `json:"line"`
		Record string `json:"record"`
		Reason string `json:"reason"`
	}
	if err := json.Unmarshal([]byte(asked(t, append(export, "--summary", "json")...)), &made); err != nil || !made.OK || made.Calls != 24 || len(made.SHA256) != 64 {
		t.Fatalf("got %+v, %v", made, err)
	}
	refused(t, command.ExitFailed, name+": file exists", export...)
	if text := asked(t, "verify", name, "--sha256", made.SHA256); !strings.Contains(text, "\nrun          "+id+"\n") || !strings.HasSuffix(text, "\nEvery record fits its digests, and every line the manifest.\n") {
		t.Errorf("got\n%s", text)
	}
	refused(t, command.ExitDiffers, "another digest", "verify", name, "--sha256", strings.Repeat("0", 64))
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	line := bytes.Index(content, []byte(`{"type":"call","seq":16,`))
	content[line+bytes.Index(content[line:], []byte(`"raw"`))+40] ^= 1
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, command.ExitDiffers, name+": line 17 (call m2:call_1): ", "verify", name)
	status, out, errs := run(t, "verify", name, "-o", "json")
	if err := json.Unmarshal([]byte(out), &made); err != nil || status != command.ExitDiffers || made.OK || made.Line != 17 || made.Record != "call m2:call_1" || made.Reason == "" || errs == "" {
		t.Errorf("got %d, %s, %q", status, out, errs)
	}
	if err := os.WriteFile(name, []byte(asked(t, append([]string{"export", id}, store...)...)), 0o600); err != nil {
		t.Fatal(err)
	}
	asked(t, "verify", name)
	refused(t, command.ExitMissing, "no such file", "verify", filepath.Join(t.TempDir(), "none"))
	refused(t, command.ExitFailed, "is a directory", "verify", t.TempDir())
	refused(t, command.ExitFailed, "no such file", append([]string{"export", id, "-o", filepath.Join(t.TempDir(), "none", "run.jsonl")}, store...)...)
}

// alterInRedis flips a byte of a raw result.
func alterInRedis(t *testing.T, client redis.UniversalClient, id, name string) {
	t.Helper()
	key := place.RecordOf(canonical.RunKey{Scope: demo.Scope(), Run: canonical.RunID(id)}, canonical.CallName{ID: canonical.ToolCallID(name)})
	fields, err := client.HGetAll(t.Context(), key).Result()
	if err != nil {
		t.Fatal(err)
	}
	flipped := 0
	for field, value := range fields {
		if strings.HasPrefix(field, "raw:") {
			altered := []byte(value)
			altered[len(altered)/2] ^= 1
			if err := client.HSet(t.Context(), key, field, altered).Err(); err != nil {
				t.Fatal(err)
			}
			flipped++
		}
	}
	if flipped != 1 {
		t.Fatalf("got %d raw fields, want 1", flipped)
	}
}

// alterInFile flips a byte of a raw result, wherever the file has it.
func alterInFile(t *testing.T, name, raw string) {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	altered := []byte(raw)
	altered[len(altered)/2] ^= 1
	if bytes.Count(content, []byte(raw)) == 0 {
		t.Fatal("the raw result is not in the file as it is")
	}
	if err := os.WriteFile(name, bytes.ReplaceAll(content, []byte(raw), altered), 0o600); err != nil {
		t.Fatal(err)
	}
}

// checkAltered: of a record whose raw result was altered nothing is served, and the export of its run names it.
func checkAltered(t *testing.T, id, name string, store []string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "run.jsonl")
	for _, args := range [][]string{{"read", id, name}, {"read", id, name, "--raw"}, {"show", id, name}} {
		refused(t, command.ExitDiffers, "stored bytes do not match their digest", append(args, store...)...)
	}
	refused(t, command.ExitDiffers, "call :"+name+": stored bytes do not match their digest", append([]string{"export", id, "-o", file}, store...)...)
	if _, err := os.Stat(file); err == nil {
		t.Error("a file was left")
	}
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// A replay's runs are in a scope of its own, and what they returned is read without credentials unless asked.
func TestKeptReplayHidesCredentials(t *testing.T) {
	t.Parallel()
	db := redistest.Shared(t)
	path := chatFile(t, strings.ReplaceAll(recordedChat, `"one"`, `"{\"user\":\"邓丽君\",\"password\":\"marker_7\"}"`))
	asked(t, "replay", "--redis", db.URL(), "--keep", "--turns", path)
	store := []string{"--redis", db.URL(), "--tenant", "replay"}
	list := documentOf[listed](t, append([]string{"ls"}, store...)...)
	if len(list.Runs) != 1 || list.Runs[0].Phase != "closed" || list.Runs[0].Calls != 2 {
		t.Fatalf("got %+v", list)
	}
	id := list.Runs[0].ID
	if got, want := asked(t, append([]string{"read", id, "0:call_1"}, store...)...), `{"user":"邓丽君","password":"[REDACTED]"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := asked(t, append([]string{"read", id, "0:call_1", "--raw"}, store...)...), `{"user":"邓丽君","password":"marker_7"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, format := range []string{"text", "json"} {
		if out := asked(t, append([]string{"show", id, "0:call_1", "-o", format}, store...)...); strings.Contains(out, "marker_7") {
			t.Errorf("got\n%s", out)
		}
	}
}

func TestKeptThatIsNotUnderstoodAsksNobody(t *testing.T) {
	t.Parallel()
	const nobody = "redis://u:marker_7@127.0.0.1:1"
	for _, args := range [][]string{
		{"ls"}, {"ls", "--redis", ""}, {"ls", "--redis", "marker_7"}, {"ls", "--redis", "redis://u:%zzmarker_7@h"}, {"ls", "a", "b", "--redis", nobody}, {"ls", "a/b", "--redis", nobody},
		{"ls", "--redis", nobody, "--limit", "0"}, {"ls", "--redis", nobody, "--limit", "101"}, {"ls", "--redis", nobody, "-o", "yaml"},
		{"ls", "--redis", nobody, "--tool", "sql"}, {"ls", "--redis", nobody, "--tenant", ""}, {"ls", "--redis", nobody, "--tenant", "\xff"}, {"ls", "--redis", nobody, "--prefix", "{marker_7}"},
		{"show", "--redis", nobody}, {"show", "run", "--redis", nobody}, {"show", "run", "a b", "--redis", nobody}, {"show", "run", "call", "--evidence", "x", "--redis", nobody},
		{"show", "run", "--evidence", "a b", "--redis", nobody}, {"show", "a/b", "call", "--redis", nobody},
		{"read", "run", "call", "--redis", nobody, "--bytes", "0"}, {"read", "run", "call", "--redis", nobody, "--bytes", "x"}, {"read", "run", "call", "--redis", nobody, "--raw", "--view", "00"},
		{"export", "--redis", nobody}, {"export", "run", "--redis", nobody, "-o", ""}, {"export", "run", "--redis", nobody, "-o", "json"}, {"export", "run", "--redis", nobody, "--summary", "json"},
		{"export", "run", "--redis", nobody, "-o", "file", "--summary", "yaml"}, {"export", "a/b", "--redis", nobody},
		{"verify"}, {"verify", "a", "b"}, {"verify", "a", "-o", "yaml"}, {"verify", "a", "--sha256", "AB"}, {"verify", "a", "--redis", nobody},
	} {
		status, out, errs := run(t, args...)
		if status != command.ExitUsage || out != "" || !strings.HasPrefix(errs, "harness: ") || strings.Count(errs, "\n") != 2 || strings.Contains(errs, "marker_7") {
			t.Errorf("%v: got %d, %q, %q, want status 2 and a message that quotes nothing", args, status, out, errs)
		}
	}
	for _, args := range [][]string{{"ls"}, {"ls", "run"}, {"show", "run", "call"}, {"read", "run", "call"}, {"export", "run"}} {
		status, out, errs := run(t, append(args, "--redis", nobody)...)
		if status != command.ExitFailed || out != "" || !strings.HasPrefix(errs, "harness: "+args[0]+": ") || strings.Count(errs, "\n") != 1 ||
			strings.Contains(errs, "marker_7") || strings.Contains(errs, "127.0.0.1") {
			t.Errorf("%v: got %d, %q, %q, want status 1 and one line", args, status, out, errs)
		}
	}
}

// Arguments that only the store can judge are still arguments.
func TestKeptWithWrongArguments(t *testing.T) {
	t.Parallel()
	db := redistest.Shared(t)
	asked(t, "replay", "--redis", db.URL(), "--keep", chatFile(t, recordedChat))
	store := []string{"--redis", db.URL(), "--tenant", "replay"}
	id := documentOf[listed](t, append([]string{"ls"}, store...)...).Runs[0].ID
	for _, args := range [][]string{
		{"ls", "--after", "x"}, {"ls", id, "--after", "x"}, {"ls", id, "--status", "FOUND"}, {"ls", id, "--state", "OPEN"}, {"ls", id, "--tool", "a b"},
		{"read", id, "call_1", "--offset", "4"}, {"read", id, "call_1", "--offset", "-1"}, {"read", id, "call_1", "--raw", "--offset", "4"}, {"read", id, "call_1", "--bytes", "8388609"}, {"read", id, "call_1", "--view", "00"},
	} {
		status, out, errs := run(t, append(args, store...)...)
		if status != command.ExitUsage || out != "" || !strings.HasSuffix(errs, "\nTry 'harness help'.\n") {
			t.Errorf("%v: got %d, %q, %q, want status 2", args, status, out, errs)
		}
	}
}

// What could not be printed was not shown, however well it went.
func TestKeptWhoseOutputIsLost(t *testing.T) {
	t.Parallel()
	db := redistest.Shared(t)
	asked(t, "replay", "--redis", db.URL(), "--keep", chatFile(t, recordedChat))
	store := []string{"--redis", db.URL(), "--tenant", "replay"}
	id := documentOf[listed](t, append([]string{"ls"}, store...)...).Runs[0].ID
	file := filepath.Join(t.TempDir(), "run.jsonl")
	asked(t, append([]string{"export", id, "-o", file}, store...)...)
	for _, args := range [][]string{
		append([]string{"ls"}, store...), append([]string{"ls", id, "-o", "json"}, store...), append([]string{"show", id, "call_1"}, store...),
		append([]string{"read", id, "call_1"}, store...), append([]string{"read", id, "call_1", "-o", "json"}, store...), append([]string{"export", id}, store...), {"verify", file},
	} {
		var stderr strings.Builder
		status := command.Run(t.Context(), args, command.Streams{Out: closedPipe{}, Err: &stderr})
		if status != command.ExitFailed || !strings.Contains(stderr.String(), "could not be printed") {
			t.Errorf("%v: got %d, %q", args, status, stderr.String())
		}
	}
}
