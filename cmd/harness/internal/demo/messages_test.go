package demo

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/cmd/harness/internal/demo/data"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/executors/docsearch"
	"github.com/toolharness/harness/lifecycle"
)

// The messages show what the demo promises: parallel calls, ids used again, each kind of tool finding nothing, a search
// that stops, and Chinese text in each kind of tool.
func TestMessagesShowWhatIsPromised(t *testing.T) {
	t.Parallel()
	ids, nothing, chinese, turns := map[canonical.ToolCallID]int{}, map[string]bool{}, map[string]bool{}, map[canonical.Turn]bool{}
	errorsWanted := 0
	for _, m := range messages() {
		if len(m.searches) < 2 || turns[m.turn] || (canonical.CallName{Turn: m.turn, ID: "x"}).Validate() != nil {
			t.Errorf("%s: %d calls, or a turn that is used twice or cannot be", m.turn, len(m.searches))
		}
		turns[m.turn] = true
		for i, call := range m.calls() {
			s := m.searches[i]
			ids[call.ID]++
			if !json.Valid(call.Arguments) || call.Turn != m.turn || !strings.Contains(s.arguments, s.chinese) {
				t.Errorf("%s: got %s", label(m.name(i)), call.Arguments)
			}
			if s.evidence == evidence.None {
				nothing[s.tool] = true
			}
			if s.code != "" {
				errorsWanted++
			}
			if s.chinese != "" {
				chinese[s.tool] = true
				if strings.IndexFunc(s.chinese, func(r rune) bool { return unicode.Is(unicode.Han, r) }) < 0 {
					t.Errorf("%s: %q has no Chinese character", label(m.name(i)), s.chinese)
				}
			}
		}
	}
	if ids[callID(0)] != len(messages()) || len(nothing) != 3 || len(chinese) != 3 || errorsWanted != 1 {
		t.Errorf("got ids %v, nothing found by %v, Chinese in %v, %d errors", ids, nothing, chinese, errorsWanted)
	}
	if !strings.ContainsFunc(chineseRare, func(r rune) bool { return r > 0xffff }) {
		t.Error("no character of four bytes")
	}
	if got := messageOf("none"); len(got.searches) != 0 {
		t.Errorf("got %+v", got)
	}
}

func TestLabel(t *testing.T) {
	t.Parallel()
	for want, name := range map[string]canonical.CallName{"id": {ID: "id"}, "m1:id": {Turn: "m1", ID: "id"}, "": {}} {
		if got := label(name); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestSearchIsAsItMust(t *testing.T) {
	t.Parallel()
	good := Search{Call: Call{Ran: "yes", Evidence: evidence.None}, WantEvidence: evidence.None}
	for name, c := range map[string]struct {
		change func(*Search)
		want   bool
	}{
		"good":           {func(*Search) {}, true},
		"did not run":    {func(s *Search) { s.Ran = "no" }, false},
		"nobody knows":   {func(s *Search) { s.Ran = "unknown" }, false},
		"found":          {func(s *Search) { s.Evidence = evidence.Found }, false},
		"an error":       {func(s *Search) { s.Evidence, s.Code = evidence.Failed, lifecycle.ToolTimeout }, false},
		"another code":   {func(s *Search) { s.WantCode = lifecycle.ToolTimeout }, false},
		"nothing so far": {func(s *Search) { *s = Search{WantEvidence: evidence.None} }, false},
	} {
		s := good
		c.change(&s)
		if got := s.AsItMust(); got != c.want {
			t.Errorf("%s: got %t, want %t", name, got, c.want)
		}
	}
}

// Both files are one collection, in which no id is used twice and every text is printable as it is.
func TestArticles(t *testing.T) {
	t.Parallel()
	count, seen := map[string]int{}, map[string]bool{}
	for d, err := range allArticles() {
		if err != nil || seen[d.ID] || d.Title == "" || d.Text == "" {
			t.Fatalf("%s: %v, or it is there twice, or is empty", d.ID, err)
		}
		seen[d.ID] = true
		count[d.Fields[fieldLanguage]]++
	}
	if count[langEnglish] != 698 || count[langChinese] != 8 || len(count) != 2 {
		t.Errorf("got %v", count)
	}
	for _, id := range chineseAnswers {
		if !seen[id] {
			t.Errorf("there is no article %s", id)
		}
	}
}

func TestArticlesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"no JSON":        "{\"id\":\"a\"}\nx\n",
		"an endless one": strings.Repeat("x", docsearch.MaxTextBytes+1),
	} {
		var problems []error
		for _, err := range articlesOf(text) {
			problems = append(problems, err)
		}
		if errors.Join(problems...) == nil {
			t.Errorf("%s: no error", name)
		}
	}
	stopped := 0
	for range articlesOf(data.ChineseArticles()) {
		if stopped++; stopped == 2 {
			break
		}
	}
	if stopped != 2 {
		t.Errorf("got %d articles, want to stop at 2", stopped)
	}
}

func TestInWindow(t *testing.T) {
	t.Parallel()
	file := func(first, last string) publishedLog {
		return publishedLog{First: "2016-12-19 " + first, Last: "2016-12-19 " + last, Levels: map[string]int{"WARN": 1, "ERROR": 10, "INFO": 100}}
	}
	sum, err := inWindow(map[string]publishedLog{
		"before": file("17:00:00,000", "17:59:59,999"), "a": file("18:00:00,000", "18:30:00,000"), "b": file("19:00:00,000", "20:00:00,000"), "after": file("20:00:00,001", "20:30:00,000"),
	})
	if err != nil || sum["WARN"] != 2 || sum["ERROR"] != 20 || len(sum) != 2 {
		t.Errorf("got %v, %v", sum, err)
	}
	for name, bad := range map[string]publishedLog{
		"begins before": file("17:59:59,999", "18:30:00,000"), "ends behind": file("19:00:00,000", "20:00:00,001"), "no time": {First: "x", Last: "y"},
	} {
		if _, err := inWindow(map[string]publishedLog{name: bad}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestArgument(t *testing.T) {
	t.Parallel()
	for arguments, want := range map[string]string{`{"text":"青"}`: "青", `{"text":1}`: "", `{}`: "", `x`: ""} {
		if got := argument(arguments, "text"); got != want {
			t.Errorf("%s: got %q, want %q", arguments, got, want)
		}
	}
}

// What is read without our search code tells what is there from what is not.
func TestPlainReading(t *testing.T) {
	t.Parallel()
	files := []string{"kafka0_server-2016-12-19-20.log"}
	for text, in := range map[string]bool{"OutOfMemory": false, "Expanding ISR": true, "": true} {
		if err := notInLogs(files, text); (err != nil) != in {
			t.Errorf("log, %q: got %v", text, err)
		}
	}
	if notInLogs([]string{"no such file"}, "x") == nil {
		t.Error("a file that is not there has no error")
	}
	for word, in := range map[string]bool{"yacht": false, "overdraft": true, "年费": true, "彗星": false, "": true} {
		if err := notInArticles(word); (err != nil) != in {
			t.Errorf("articles, %q: got %v", word, err)
		}
	}
}

func TestSentencesOnWhatWasFound(t *testing.T) {
	t.Parallel()
	if got, want := (told{HitCount: 1, HitCountIs: isExact}).hits(), "exactly 1 article: "; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := (told{RowCount: 0, Columns: []string{"a", "b"}}).rows(), "0 rows of a, b: []"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	one := told{RecordCount: 2, RecordCountIs: isAtLeast, Sources: []string{"s"}, OtherSources: 3, Levels: []countedGroup{{Level: "WARN", Count: 2}}}
	if got, want := one.records(), "at least 2 records in 4 files at any time, the end was not reached. WARN=2. "; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
