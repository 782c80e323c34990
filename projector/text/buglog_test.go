package text_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/projector"
	"github.com/toolharness/harness/projector/text"
)

// Reports from the field on results that are cut.
func TestBugLog(t *testing.T) {
	t.Parallel()
	t.Run("B80_text_is_cut_between_characters", textCut)
	t.Run("B80_strings_and_facts_are_cut_between_characters", stringsCut)
	t.Run("B82_cut_JSON_is_JSON_or_an_error", jsonCut)
	t.Run("B82_half_a_document_is_no_result", halfDocument)
}

// samples are texts of characters of two, three and four bytes, with combining
// marks and with emoji that are joined.
func samples() []string {
	return []string{
		strings.Repeat("äöüßéñ", 40), strings.Repeat("訂單失敗한국어", 30), strings.Repeat("😀🚀𝄞", 30), strings.Repeat("e\u0301o\u0308", 50),
		strings.Repeat("👨\u200d👩\u200d👧\u200d👦 ", 12), strings.Repeat("aé漢😀", 30), strings.Repeat("line of 漢字\n", 20), "x" + strings.Repeat("€", 100),
	}
}

func within(t *testing.T, raw []byte, bound int) (projector.Projection, error) {
	t.Helper()
	return projector.Drive(t.Context(), text.New(text.Options{}), projector.Input{
		Tool: "tool", Request: []byte("{}"), Raw: raw, Limits: projector.Limits{AgentBytes: bound}}, projector.Options{})
}

var omitted = regexp.MustCompile(`\n\[omitted: (\d+) bytes, (\d+) lines\]$`)

func textCut(t *testing.T) {
	t.Parallel()
	for _, sample := range samples() {
		shown := 0
		for bound := 1; bound <= len(sample)+1; bound++ {
			p, err := within(t, []byte(sample), bound)
			if err != nil {
				continue // too small for anything but the mark
			}
			shown++
			got := string(p.Result)
			if len(got) > bound || !utf8.ValidString(got) || strings.ContainsRune(got, utf8.RuneError) {
				t.Fatalf("%d bytes of %.20q: %d bytes: %q", bound, sample, len(got), got)
			}
			whole := strings.TrimRight(sample, "\n ")
			if bound >= len(sample) && got == whole {
				continue
			}
			mark := omitted.FindStringSubmatch(got)
			if mark == nil {
				if got != whole {
					t.Fatalf("%d bytes of %.20q: cut and not said: %q", bound, sample, got)
				}
				continue
			}
			head := strings.TrimSuffix(got[:len(got)-len(mark[0])], evidence.ClipMark)
			if missing, _ := strconv.Atoi(mark[1]); !strings.HasPrefix(whole, head) || len(head)+missing != len(whole) {
				t.Fatalf("%d bytes of %.20q: %d bytes from the beginning and %s omitted, of %d: %q", bound, sample, len(head), mark[1], len(whole), got)
			}
		}
		if shown < len(sample)/2 {
			t.Errorf("%.20q was shown under %d bounds only", sample, shown)
		}
	}
}

func stringsCut(t *testing.T) {
	t.Parallel()
	clipped := regexp.MustCompile(`^(?s)(.*)…\[(\d+) bytes\]$`)
	for _, sample := range samples() {
		raw, err := json.Marshal(map[string]any{"message": sample, "n": 1})
		if err != nil {
			t.Fatal(err)
		}
		cuts := 0
		for bound := 1; bound <= len(raw)+1; bound++ {
			p, err := within(t, raw, bound)
			if err != nil {
				continue
			}
			var got struct{ Message *string }
			if err := json.Unmarshal(p.Result, &got); err != nil || len(p.Result) > bound || !utf8.Valid(p.Result) || bytes.ContainsRune(p.Result, utf8.RuneError) {
				t.Fatalf("%d bytes of %.20q: %v: %q", bound, sample, err, p.Result)
			}
			if got.Message == nil || *got.Message == sample {
				continue
			}
			cuts++
			m := clipped.FindStringSubmatch(*got.Message)
			if m == nil || !strings.HasPrefix(sample, m[1]) {
				t.Fatalf("%d bytes of %.20q: %q is not its beginning with a mark", bound, sample, *got.Message)
			}
			for _, fact := range p.Facts {
				if !utf8.ValidString(fact.Value) || len(fact.Value) > evidence.MaxFactValue || strings.ContainsRune(fact.Value, utf8.RuneError) {
					t.Fatalf("%.20q: fact %q", sample, fact.Value)
				}
			}
		}
		if cuts == 0 {
			t.Errorf("%.20q was never cut", sample)
		}
	}
}

// jsonCut: whatever the bound, what stands for a document is a document, and what
// is missing is said in it.
func jsonCut(t *testing.T) {
	t.Parallel()
	var list []any
	for i := range 30 {
		list = append(list, map[string]any{"id": i, "name": strings.Repeat("n漢", i%7), "tags": []string{"a", `b"c`, "d\\e"}})
	}
	for i, document := range []any{list, map[string]any{"rows": list, "total": 30}, map[string]any{"a": map[string]any{"b": list}}, strings.Repeat(`quote " and \ `, 40)} {
		raw, err := json.Marshal(document)
		if err != nil {
			t.Fatal(err)
		}
		full, err := within(t, raw, len(raw)+1)
		if err != nil {
			t.Fatal(err)
		}
		cuts := 0
		for bound := 1; bound <= len(full.Result); bound++ {
			p, err := within(t, raw, bound)
			if err != nil {
				continue
			}
			if !json.Valid(p.Result) || len(p.Result) > bound {
				t.Fatalf("document %d in %d bytes is %q", i, bound, p.Result)
			}
			if !bytes.Equal(p.Result, full.Result) {
				cuts++
				if !bytes.Contains(p.Result, []byte("omitted")) && !bytes.Contains(p.Result, []byte("…[")) {
					t.Fatalf("document %d in %d bytes is cut and does not say so: %q", i, bound, p.Result)
				}
			}
		}
		if cuts < len(full.Result)/2 {
			t.Errorf("document %d was cut under %d of %d bounds only", i, cuts, len(full.Result))
		}
	}
}

// halfDocument: JSON that a tool, or whoever stood between, has cut.
func halfDocument(t *testing.T) {
	t.Parallel()
	whole := `{"rows":[{"id":1,"name":"a\u00e4"},{"id":2,"name":"b"}],"total":2,"ok":true}`
	for cut := 1; cut < len(whole); cut++ {
		if p, err := within(t, []byte(whole[:cut]), 16<<10); err == nil {
			t.Errorf("%s is taken for a result: %s", whole[:cut], p.Result)
		}
	}
	if _, err := within(t, fmt.Appendf(nil, "%s", whole), 16<<10); err != nil {
		t.Errorf("the whole document: %v", err)
	}
}
