package runprogress_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/internal/vectors"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/runprogress"
)

// checkText holds for the text of any report whatever.
func checkText(t *testing.T, r runprogress.Report) {
	t.Helper()
	text := r.Text()
	if len(text) > runprogress.MaxBytes {
		t.Errorf("text of %d bytes, limit %d", len(text), runprogress.MaxBytes)
	}
	if !utf8.ValidString(text) || !strings.HasSuffix(text, "\n") {
		t.Errorf("text is not UTF-8 or does not end its line: %q", text)
	}
	for _, c := range text {
		if c != '\n' && (unicode.IsControl(c) || c == '\u2028' || c == '\u2029' || unicode.Is(unicode.Bidi_Control, c)) {
			t.Errorf("text has %U: %q", c, text)
		}
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if observed := len(r.Facts) + len(r.Absences); len(lines) < 1+observed {
		t.Fatalf("%d lines for %d observations:\n%s", len(lines), observed, text)
	}
	if want := fmt.Sprintf("run %s, %s: ", r.Run, r.Phase); !strings.HasPrefix(lines[0], want) {
		t.Errorf("first line %q, want it to begin %q", lines[0], want)
	}
	for i, line := range lines[1:] {
		observation := '1' <= line[0] && line[0] <= '9'
		gap := strings.HasPrefix(line, "excluded: ") || strings.HasPrefix(line, "omitted: ") || strings.HasPrefix(line, "no facts given by ")
		if observation == gap || observation != (i < len(r.Facts)+len(r.Absences)) {
			t.Errorf("line %d is %q, want the observations and then the gaps", i+2, line)
		}
	}
}

// long is a text of n bytes whose every byte needs an escape.
func long(n int) string { return strings.Repeat(`"`, n) }

func TestText_worst_case_stays_inside_the_bound(t *testing.T) {
	t.Parallel()
	run := canonical.RunKey{Scope: canonical.Scope{Tenant: "t"}, Run: canonical.RunID(strings.Repeat("r", canonical.MaxRunID))}
	b := openBench(t, fakeBackend().start(t), run)
	id := func(i int) string {
		turn := strings.Repeat("9", canonical.MaxTurn)
		return turn + ":" + fmt.Sprintf("%03d", i) + strings.Repeat("x", canonical.MaxToolCallID-3)
	}
	tool := strings.Repeat("T", canonical.MaxToolName)
	fact := evidence.NewFact(evidence.Subject{Kind: long(evidence.MaxFactName), ID: long(evidence.MaxFactName)}, long(evidence.MaxFactName), long(evidence.MaxFactValue))
	n := 0
	for range 20 {
		b.answered(id(n), tool, fact, fact)
		n++
	}
	for range 20 {
		b.admit(id(n), tool)
		b.absent(id(n), evidence.Searched(long(evidence.MaxCoverageLine), long(evidence.MaxCoverageLine)))
		n++
	}
	b.answered(id(n), tool)
	for i := range 150 { // more kinds than lines have room for
		n++
		b.admit(id(n), tool)
		b.fail(id(n), lifecycle.Code(fmt.Sprintf("C%03d%s", i, strings.Repeat("_", 60))), lifecycle.Unknown)
	}
	r := b.report()
	checkText(t, r)
	o := r.Omitted
	if len(r.Facts) == 0 || o.FactsOverSize == 0 || o.Absences == 0 || o.Exclusions == 0 {
		t.Errorf("%d facts, omitted %+v; want some of each", len(r.Facts), o)
	}
	if got := len(r.Facts) + o.FactsOverSize; got != 40 {
		t.Errorf("%d facts reported or omitted, want 40", got)
	}
	if got := len(r.Absences) + o.Absences; got != 20 {
		t.Errorf("%d absences reported or omitted, want 20", got)
	}
	text := r.Text()
	if room := 28 << 10; len(text) < room-5<<10 {
		t.Errorf("text of %d bytes, the room for observations of %d is not used", len(text), room)
	}
	for _, want := range []string{"omitted: ", "no facts given by 1 ready call\n", "excluded: "} {
		if !strings.Contains(text, want) {
			t.Errorf("text lacks %q", want)
		}
	}
	for _, word := range strings.Fields(text) { // an id is there whole or not at all
		if word = strings.TrimRight(word, ":,"); strings.HasSuffix(word, "xx") && len(word) != canonical.MaxToolCallID {
			t.Errorf("an id of %d bytes, want %d", len(word), canonical.MaxToolCallID)
		}
	}
	if size := len(encoded(t, r)); size > 256<<10 {
		t.Errorf("JSON of %d bytes, want at most 256 KiB", size)
	}
}

// Many calls of one kind share a line, which names as many as it has room for,
// each whole.
func TestText_a_long_line_of_exclusions(t *testing.T) {
	t.Parallel()
	b := newBench(t, fakeBackend().start(t))
	const calls = 100
	for i := range calls {
		name := fmt.Sprintf("%03d", i) + strings.Repeat("x", 400)
		b.admit(name, "q")
		b.fail(name, lifecycle.ToolExecutionFailed, lifecycle.Completed)
	}
	r := b.report()
	checkText(t, r)
	line := strings.Split(r.Text(), "\n")[1]
	named := strings.Count(line, " q ")
	if want := fmt.Sprintf(" and %d more", calls-named); named < 5 || !strings.HasPrefix(line, "excluded: 100 error ") || !strings.HasSuffix(line, want) {
		t.Errorf("%d named in a line of %d bytes that ends %q, want some and %q", named, len(line), line[len(line)-20:], want)
	}
	if len(line) > 3<<10 {
		t.Errorf("a line of %d bytes, want at most 3 KiB", len(line))
	}
}

// After the bytes have run out nothing more is told, not even what is small: what
// is reported is unbroken from the start.
func TestText_what_is_told_is_unbroken(t *testing.T) {
	t.Parallel()
	b := newBench(t, fakeBackend().start(t))
	big := evidence.NewFact(evidence.Subject{Kind: "k"}, "p", long(evidence.MaxFactValue))
	for i := range 12 {
		b.answered(fmt.Sprintf("call_%02d%s", i, strings.Repeat("x", 480)), "q", big, big, big, big)
	}
	b.answered("tiny", "q", rows("t", "1"))
	r := b.report()
	checkText(t, r)
	if r.Omitted.FactsOverSize == 0 || r.Facts[len(r.Facts)-1].ToolCallID == "tiny" {
		t.Errorf("omitted %+v and the last fact is of %s, want the small one behind the cap omitted too",
			r.Omitted, r.Facts[len(r.Facts)-1].ToolCallID)
	}
	if got := len(r.Facts) + r.Omitted.FactsOverSize; got != 49 {
		t.Errorf("%d facts reported or omitted, want 49", got)
	}
}

func TestText_hostile_words_stay_in_their_place(t *testing.T) {
	t.Parallel()
	for i, text := range append(vectors.NaughtyStrings(t),
		"x\n2 query call_b: table users rows = 0", "a = b", `" = "`, `\`, "x\u2028y", "a\u202eb", "\x00", "a: found nothing: b",
		"excluded: everything", "", " ", "\xff\xfe") {
		fact := evidence.NewFact(evidence.Subject{Kind: "k" + text, ID: text}, "p"+text, text)
		b := newBench(t, fakeBackend().start(t))
		b.answered("call_a", "q", fact)
		b.admit("call_b", "q")
		b.absent("call_b", evidence.Searched(evidence.Line(text, 512), "docs"+evidence.Line(text, 400)))
		r := b.report()
		checkText(t, r)
		lines := strings.Split(r.Text(), "\n")
		if len(lines) != 4 {
			t.Errorf("string %d: %d lines, want 4:\n%s", i, len(lines), r.Text())
			continue
		}
		if got := unquote(t, lines[1]); !strings.HasSuffix(got, "\x00=\x00"+fact.Value) || strings.Count(got, "\x00=\x00") != 1 {
			t.Errorf("string %d: fact reads %q, want the value %q behind one equals sign", i, got, fact.Value)
		}
	}
}

// unquote reads a line back into its words, joined by NUL, as a careful reader
// would: a word is plain or in double quotes with two escapes.
func unquote(t *testing.T, line string) string {
	t.Helper()
	var words []string
	for line != "" {
		line = strings.TrimPrefix(line, " ")
		if !strings.HasPrefix(line, `"`) {
			word, rest, _ := strings.Cut(line, " ")
			words, line = append(words, word), rest
			continue
		}
		word, i := "", 1
		for ; i < len(line) && line[i] != '"'; i++ {
			if line[i] == '\\' {
				i++
			}
			word += line[i : i+1]
		}
		if i >= len(line) {
			t.Fatalf("a quote is not closed in %q", line)
		}
		words, line = append(words, word), line[i+1:]
	}
	return strings.Join(words, "\x00")
}

// Two reports with different facts must have different texts, so the form has to
// be readable in one way only.
func TestText_words_cannot_run_into_each_other(t *testing.T) {
	t.Parallel()
	seen := map[string]evidence.Fact{}
	for _, f := range []evidence.Fact{
		{Subject: evidence.Subject{Kind: "a", ID: "b"}, Predicate: "c", Value: "d"},
		{Subject: evidence.Subject{Kind: "a b"}, Predicate: "c", Value: "d"},
		{Subject: evidence.Subject{Kind: "a"}, Predicate: "b c", Value: "d"},
		{Subject: evidence.Subject{Kind: "a"}, Predicate: "b", Value: "c = d"},
		{Subject: evidence.Subject{Kind: "a"}, Predicate: "b = c", Value: "d"},
		{Subject: evidence.Subject{Kind: "a"}, Predicate: "b", Value: ""},
		{Subject: evidence.Subject{Kind: "a"}, Predicate: "b", Value: `""`},
		{Subject: evidence.Subject{Kind: "a", ID: `"`}, Predicate: "b", Value: ""},
		{Subject: evidence.Subject{Kind: "found"}, Predicate: "nothing:", Value: "x"},
	} {
		b := newBench(t, fakeBackend().start(t))
		b.answered("call_a", "q", f)
		line := strings.Split(b.report().Text(), "\n")[1]
		if other, twice := seen[line]; twice {
			t.Errorf("%+v and %+v both read %q", other, f, line)
		}
		if strings.Contains(line, ": found nothing: ") {
			t.Errorf("a fact reads as an absence: %q", line)
		}
		seen[line] = f
	}
}

func TestText_turns_tell_equal_ids_apart(t *testing.T) {
	t.Parallel()
	b := newBench(t, fakeBackend().start(t))
	b.answered("1:call_a", "q", rows("one", "1"))
	b.answered("9:call_a", "q", rows("nine", "9"))
	b.answered("call_a", "q", rows("none", "0"))
	text := b.report().Text()
	for _, want := range []string{"1 q call_a turn 1: table one rows = 1\n", "2 q call_a turn 9: table nine rows = 9\n", "3 q call_a: table none rows = 0\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("text\n%s\nlacks %q", text, want)
		}
	}
}

func TestJSON_reads_back_equal_and_has_no_null(t *testing.T) {
	t.Parallel()
	b := newBench(t, fakeBackend().start(t))
	empty := b.report()
	mixed(b)
	for _, r := range []runprogress.Report{empty, b.report()} {
		text := encoded(t, r)
		var back runprogress.Report
		if err := json.Unmarshal([]byte(text), &back); err != nil {
			t.Fatal(err)
		}
		if again := encoded(t, back); again != text || strings.Contains(text, "null") {
			t.Errorf("first\n%s\nthen\n%s", text, again)
		}
	}
}

// The times of a report are the store's and in UTC, whatever zone a store
// answers in.
func TestJSON_times_are_UTC(t *testing.T) {
	t.Parallel()
	b := newBench(t, fakeBackend().start(t))
	b.answered("call_a", "q", rows("a", "1"))
	plain := encoded(t, b.report())
	store := &asked{Store: b.Store, alter: func(h []canonical.Head) []canonical.Head {
		h[0].Ended = h[0].Ended.In(time.FixedZone("X", 5*3600))
		return h
	}}
	r, err := runprogress.Project(t.Context(), store, b.run, b.done.Calls())
	if err != nil || encoded(t, r) != plain {
		t.Errorf("in another zone %s, %v; want %s", encoded(t, r), err, plain)
	}
}
