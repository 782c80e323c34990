package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/cmd/harness/internal/demo/data"
	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/lifecycle"
)

// searched is what this program reads of a raw result, whichever of the executors wrote it.
type searched struct {
	Sources    []string          `json:"sources"`
	Records    []searchedRecord  `json:"records"`
	Failed     []json.RawMessage `json:"failed"`
	Cursor     string            `json:"cursor"`
	EndReached *bool             `json:"end_reached"`

	Query       string   `json:"query"`
	Collections []string `json:"collections"`
	Hits        []struct {
		Document string `json:"document"`
		Title    string `json:"title"`
		Content  string `json:"content"`
	} `json:"hits"`
	Legs []struct {
		Hits   *int   `json:"hits"`
		Failed string `json:"failed"`
	} `json:"legs"`

	Rows      [][]any `json:"rows"`
	RowCount  *int    `json:"row_count"`
	Truncated *bool   `json:"truncated"`

	Returned *int   `json:"returned"`
	CutBy    string `json:"cut_by"`
}

type searchedRecord struct {
	Time    string `json:"time"`
	Level   string `json:"level"`
	Service string `json:"service"`
	Message string `json:"message"`
}

// checkAbsences wants of each search that found nothing that it is stored as such, counted zero in its own account, went to
// the end of all that there is, and that the thing really is not there, read without any of our search code. Then the
// contrast: a search that stopped says nothing of the kind, though it counted zero too.
func (d *demo) checkAbsences(ctx context.Context) (string, error) {
	var problems []error
	var proved []canonical.CallName
	for _, m := range d.script.messages {
		for i, s := range m.searches {
			if s.evidence != evidence.None {
				continue
			}
			proved = append(proved, m.name(i))
			if err := d.proveAbsence(ctx, m.name(i), s); err != nil {
				problems = append(problems, fmt.Errorf("%s: %w", label(m.name(i)), err))
			}
		}
	}
	var stated []canonical.CallName
	for _, a := range d.document.Facts.Absences {
		if a.Turn == "" {
			continue // of a recorded call, which the check of their results looks at
		}
		stated = append(stated, canonical.CallName{Turn: a.Turn, ID: a.ToolCallID})
		if !a.Coverage.Complete {
			problems = append(problems, fmt.Errorf("%s is stated as an absence without an end", label(stated[len(stated)-1])))
		}
	}
	slices.SortFunc(stated, func(a, b canonical.CallName) int { return strings.Compare(a.String(), b.String()) })
	if !slices.Equal(stated, proved) {
		problems = append(problems, fmt.Errorf("the facts state %d absences, want the %d that are proved", len(stated), len(proved)))
	}
	problems = append(problems, d.notProved(ctx))
	return fmt.Sprintf("%d absences; a search that stopped is none, nor a full page", len(proved)), errors.Join(problems...)
}

// proveAbsence looks at one record.
func (d *demo) proveAbsence(ctx context.Context, name canonical.CallName, s search) error {
	record, err := d.record(ctx, name)
	if err != nil {
		return err
	}
	if record.State != lifecycle.Ready || record.Evidence != evidence.None {
		return fmt.Errorf("the record says %s %s", record.State, record.Evidence)
	}
	var coverage evidence.Coverage
	var raw searched
	var model told
	if json.Unmarshal(record.Coverage, &coverage) != nil || json.Unmarshal(record.Raw.Bytes, &raw) != nil || json.Unmarshal(record.Agent, &model) != nil {
		return errors.New("the record cannot be read")
	}
	if !coverage.Complete || len(coverage.Unchecked)+len(coverage.Uncovered) > 0 || coverage.LookedFor != s.arguments {
		return errors.New("the coverage does not say that all was looked at for what was asked")
	}
	if model.NothingFound == "" || model.RecordCount+model.HitCount+model.RowCount != 0 {
		return errors.New("the model is not told of a counted zero")
	}
	return d.nothingThere(ctx, s, raw, coverage)
}

// nothingThere wants the tool's own end of the search, everywhere, and then reads for itself.
func (d *demo) nothingThere(ctx context.Context, s search, raw searched, coverage evidence.Coverage) error {
	var problem error
	switch s.tool {
	case nameSearchLogs:
		text := argument(s.arguments, "text")
		files, _ := fs.Glob(data.KafkaLogs(), "*.log") // fails for bad patterns only
		if !isZero(raw.Returned) || raw.EndReached == nil || !*raw.EndReached || raw.Cursor != "" || len(raw.Failed) > 0 || raw.CutBy != "" {
			return errors.New("the tool did not count zero records and reach the end")
		}
		if !slices.Equal(raw.Sources, files) || len(coverage.Checked) != len(files) || !strings.Contains(raw.Query, text) {
			return fmt.Errorf("%d of %d files were searched for the text", len(raw.Sources), len(files))
		}
		problem = errors.Join(notInLogs(files, text), d.publishedAsNone(text))
	case nameSearchArticles:
		word := argument(s.arguments, "query")
		if !isZero(raw.Returned) || len(raw.Legs) != 1 || !isZero(raw.Legs[0].Hits) || raw.Legs[0].Failed != "" || raw.CutBy != "" {
			return errors.New("the tool did not count zero hits in all articles")
		}
		if !slices.Equal(raw.Collections, []string{collectionName}) || len(coverage.Checked) != 1 || raw.Query != word {
			return errors.New("the collection was not searched for the word")
		}
		problem = notInArticles(word)
	default:
		if !isZero(raw.RowCount) || raw.Truncated == nil || *raw.Truncated || len(raw.Rows) > 0 {
			return errors.New("the tool did not count zero rows to the end")
		}
		var count int
		if err := d.scan(ctx, "SELECT COUNT(*) FROM Artist WHERE Name = '"+noSuchArtist+"'", &count); err != nil || count != 0 {
			problem = fmt.Errorf("there are %d such artists", count)
		}
	}
	return problem
}

func isZero(n *int) bool { return n != nil && *n == 0 }

// argument is one text member of an argument object.
func argument(arguments, member string) string {
	var members map[string]any
	if json.Unmarshal([]byte(arguments), &members) != nil {
		return ""
	}
	text, _ := members[member].(string)
	return text
}

// notInLogs reads the files as they are.
func notInLogs(files []string, text string) error {
	for _, name := range files {
		content, err := fs.ReadFile(data.KafkaLogs(), name)
		if err != nil || text == "" || strings.Contains(string(content), text) {
			return fmt.Errorf("the text is in %s", name)
		}
	}
	return nil
}

// notInArticles reads the articles as they are.
func notInArticles(word string) error {
	for d, err := range allArticles() {
		if err != nil || word == "" || strings.Contains(strings.ToLower(d.Title+" "+d.Text), word) {
			return fmt.Errorf("the word is in %s", d.ID)
		}
	}
	return nil
}

// publishedAsNone wants zero from every count of the text that is published. A text of ours has none.
func (d *demo) publishedAsNone(text string) error {
	files, err := d.publishedLogs()
	if err != nil {
		return err
	}
	counts := 0
	for name, file := range files {
		for _, q := range file.Queries {
			if q.Contains != text {
				continue
			}
			if counts++; q.Lines != 0 {
				return fmt.Errorf("%d lines with the text are published for %s", q.Lines, name)
			}
		}
	}
	if text == noSuchText && counts != len(files) {
		return fmt.Errorf("%d of %d files have a published count of the text", counts, len(files))
	}
	return nil
}

// notProved wants of the search that stopped that nobody takes it for an absence, and of the full page that nobody takes
// its number for all there is.
func (d *demo) notProved(ctx context.Context) error {
	m, proved := messageOf(turnPart), messageOf(turnNothing)
	stopped, err1 := d.record(ctx, m.name(0))
	whole, err2 := d.record(ctx, proved.name(0))
	page, err3 := d.record(ctx, m.name(1))
	if err := errors.Join(err1, err2, err3); err != nil {
		return fmt.Errorf("%s: %w", m.turn, err)
	}
	var problems []error
	if stopped.State != lifecycle.Error || stopped.Evidence == evidence.None || len(stopped.Coverage) > 0 || string(stopped.Request) != string(whole.Request) {
		problems = append(problems, fmt.Errorf("%s: a search that stopped before the end is taken for more than an error", label(m.name(0))))
	}
	var model told
	var coverage evidence.Coverage
	if json.Unmarshal(page.Agent, &model) != nil || json.Unmarshal(page.Coverage, &coverage) != nil ||
		model.EndReached || model.RecordCount != pageRecords || model.RecordCountIs != isAtLeast || coverage.Complete {
		problems = append(problems, fmt.Errorf("%s: a full page is taken for all there is", label(m.name(1))))
	}
	return errors.Join(problems...)
}
