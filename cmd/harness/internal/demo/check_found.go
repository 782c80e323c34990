package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/cmd/harness/internal/console"
	"github.com/toolharness/harness/cmd/harness/internal/demo/data"
	"github.com/toolharness/harness/cmd/harness/internal/sqlagent"
)

// publishedLog is what is published of one log file.
type publishedLog struct {
	Levels  map[string]int `json:"levels"`
	First   string         `json:"first_time"`
	Last    string         `json:"last_time"`
	Queries []struct {
		Contains string `json:"contains"`
		Lines    int    `json:"matching_lines"`
	} `json:"queries"`
}

func (d *demo) publishedLogs() (map[string]publishedLog, error) {
	var files map[string]publishedLog
	if json.Unmarshal([]byte(d.options.logsExpected), &files) != nil || len(files) == 0 {
		return nil, errors.New("the expectations of the logs cannot be read")
	}
	return files, nil
}

// checkPublished compares the searches that found something with what is published of the files.
func (d *demo) checkPublished(ctx context.Context) (string, error) {
	files, err := d.publishedLogs()
	if err != nil {
		return "", err
	}
	m := messageOf(turnFound)
	records, err1 := d.checkIncident(ctx, m.name(0), files)
	articles, err2 := d.checkNamed(ctx, m.name(1))
	err3 := d.checkArtists(ctx, m.name(2))
	err4 := d.checkPage(ctx, files)
	return fmt.Sprintf("%d records by level and time, %d articles with a name, one count", records, articles), errors.Join(err1, err2, err3, err4)
}

// read reads a record and both of its results.
func (d *demo) read(ctx context.Context, name canonical.CallName) (raw searched, model told, err error) {
	record, err := d.record(ctx, name)
	if err == nil {
		err = errors.Join(json.Unmarshal(record.Raw.Bytes, &raw), json.Unmarshal(record.Agent, &model))
	}
	if err != nil {
		return raw, model, fmt.Errorf("%s cannot be read", label(name))
	}
	return raw, model, nil
}

const publishedLayout = "2006-01-02 15:04:05"

// inWindow adds up the published levels of the files that lie in the window whole. One that lies in it in part has no
// published count to compare with.
func inWindow(files map[string]publishedLog) (map[string]int, error) {
	from, err1 := time.Parse(time.RFC3339, incidentFrom)
	to, err2 := time.Parse(time.RFC3339, incidentTo)
	sum := map[string]int{}
	err := errors.Join(err1, err2)
	for name, file := range files {
		first, err1 := time.Parse(publishedLayout, file.First)
		last, err2 := time.Parse(publishedLayout, file.Last)
		err = errors.Join(err, err1, err2)
		switch {
		case last.Before(from) || first.After(to):
		case first.Before(from) || last.After(to):
			err = errors.Join(err, fmt.Errorf("%s lies in the window only in part", name))
		default:
			for _, level := range []string{"WARN", "ERROR"} {
				sum[level] += file.Levels[level]
			}
		}
	}
	return sum, err
}

// checkIncident compares records and what the model is told of them, by level, service and pattern.
func (d *demo) checkIncident(ctx context.Context, name canonical.CallName, files map[string]publishedLog) (int, error) {
	want, err := inWindow(files)
	if err != nil {
		return 0, err
	}
	raw, model, err := d.read(ctx, name)
	if err != nil {
		return 0, err
	}
	levels, services := map[string]int{}, map[string]int{}
	for _, r := range raw.Records {
		levels[r.Level]++
		services[r.Service]++
		if at, err := time.Parse(time.RFC3339Nano, r.Time); err != nil || at.Format(time.RFC3339) < incidentFrom || at.Format(time.RFC3339) > incidentTo {
			return 0, fmt.Errorf("%s: a record of another time", label(name))
		}
	}
	var problems []error
	if !maps.Equal(levels, want) || raw.EndReached == nil || !*raw.EndReached || len(raw.Sources) != len(files) {
		problems = append(problems, fmt.Errorf("%s: %v records in %d files, want %v in %d, to the end", label(name), levels, len(raw.Sources), want, len(files)))
	}
	total := len(raw.Records)
	if !maps.Equal(counts(model.Levels), levels) || !maps.Equal(counts(model.Services), services) || sum(model.Patterns)+int(model.OtherPatterns) != total ||
		model.RecordCount != int64(total) || model.RecordCountIs != isExact || model.Window == nil || *model.Window != (windowed{incidentFrom, incidentTo}) {
		problems = append(problems, fmt.Errorf("%s: the model is told other counts than the records have", label(name)))
	}
	return total, errors.Join(problems...)
}

func counts(groups []countedGroup) map[string]int {
	by := map[string]int{}
	for _, g := range groups {
		by[g.Level+g.Service+g.Pattern] = int(g.Count)
	}
	return by
}

// sum adds the groups themselves: two patterns may read alike where they are clipped.
func sum(groups []countedGroup) int {
	total := 0
	for _, g := range groups {
		total += int(g.Count)
	}
	return total
}

// checkNamed compares the articles found by a name with the published number of those that have it, and with the articles
// themselves.
func (d *demo) checkNamed(ctx context.Context, name canonical.CallName) (int, error) {
	var published struct {
		Documents  int            `json:"documents"`
		Containing map[string]int `json:"documents_containing"`
	}
	if json.Unmarshal([]byte(d.options.articlesExpected), &published) != nil || published.Documents == 0 {
		return 0, errors.New("the expectations of the articles cannot be read")
	}
	documents, want := 0, []string{}
	for a, err := range articlesOf(data.BankArticles()) {
		if err != nil {
			return 0, err
		}
		if documents++; strings.Contains(a.Content, namedTool) {
			want = append(want, a.ID)
		}
	}
	raw, model, err := d.read(ctx, name)
	if err != nil {
		return 0, err
	}
	var got []string
	for _, hit := range raw.Hits {
		got = append(got, hit.Document)
	}
	slices.Sort(got)
	n := published.Containing[namedTool]
	if documents != published.Documents || len(want) != n || !slices.Equal(got, want) || model.HitCount != int64(n) || model.HitCountIs != isExact {
		return 0, fmt.Errorf("%s: %d of %d articles, the model is told of %s %d, want %d of %d",
			label(name), len(got), documents, model.HitCountIs, model.HitCount, n, published.Documents)
	}
	return n, nil
}

// checkArtists compares a count with the published rows of the table.
func (d *demo) checkArtists(ctx context.Context, name canonical.CallName) error {
	var published expectedDatabase
	if json.Unmarshal([]byte(d.options.chinookExpected), &published) != nil || len(published.Rows) == 0 {
		return nil // told by the check of the database
	}
	raw, model, err := d.read(ctx, name)
	if err != nil {
		return err
	}
	want := [][]any{{float64(published.Rows["Artist"])}}
	if fmt.Sprint(raw.Rows) != fmt.Sprint(want) || fmt.Sprint(model.Rows) != fmt.Sprint(want) {
		return fmt.Errorf("%s: %v artists, the model is told %v, want %v", label(name), raw.Rows, model.Rows, want)
	}
	return nil
}

// checkPage wants more warnings published than the full page has, or it would not show what it is to show.
func (d *demo) checkPage(ctx context.Context, files map[string]publishedLog) error {
	name := messageOf(turnPart).name(1)
	raw, _, err := d.read(ctx, name)
	if err != nil {
		return err
	}
	all := 0
	for _, file := range files {
		all += file.Levels["WARN"]
	}
	if len(raw.Records) != pageRecords || all <= pageRecords || slices.ContainsFunc(raw.Records, func(r searchedRecord) bool { return r.Level != "WARN" }) {
		return fmt.Errorf("%s: %d records of %d, want %d", label(name), len(raw.Records), all, pageRecords)
	}
	return nil
}

// checkChinese follows each Chinese text through request, raw result, agent result and facts, and to the screen.
func (d *demo) checkChinese(ctx context.Context) (string, error) {
	articles := map[string]article{}
	for a, err := range articlesOf(data.ChineseArticles()) {
		if err != nil {
			return "", err
		}
		articles[a.ID] = a
	}
	var problems []error
	m, facts, followed := messageOf(turnChinese), d.document.Facts.Text(), 0
	for i, s := range m.searches {
		record, err := d.record(ctx, m.name(i))
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", label(m.name(i)), err))
			continue
		}
		for _, place := range []struct{ what, text string }{
			{"request", string(record.Request)}, {"raw result", string(record.Raw.Bytes)}, {"agent result", string(record.Agent)}, {"facts", facts},
			{"screen", console.Plain(m.question + s.chinese)},
		} {
			if followed++; !strings.Contains(place.text, s.chinese) {
				problems = append(problems, fmt.Errorf("%s: the text in the %s is another", label(m.name(i)), place.what))
			}
		}
		if s.tool == nameSearchArticles {
			problems = append(problems, sameArticle(label(m.name(i)), record, articles[chineseAnswers[s.chinese]]))
		}
		if s.tool == sqlagent.NameQuery && !strings.Contains(string(record.Raw.Bytes), `[["`+chineseArtist+`",0]]`) {
			problems = append(problems, fmt.Errorf("%s: the row is another", label(m.name(i))))
		}
	}
	return fmt.Sprintf("%d texts at %d places, %d articles searched", len(m.searches), followed, len(articles)), errors.Join(problems...)
}

// sameArticle wants the article that answers first, whole, and shown as it can be printed.
func sameArticle(name string, record canonical.Record, want article) error {
	var raw searched
	var model told
	if json.Unmarshal(record.Raw.Bytes, &raw) != nil || json.Unmarshal(record.Agent, &model) != nil || len(raw.Hits) == 0 || len(model.Hits) == 0 {
		return fmt.Errorf("%s: no article was found", name)
	}
	is, shown := raw.Hits[0], model.Hits[0]
	if is.Document != want.ID || is.Title != want.Title || is.Content != want.Content || shown.Title != want.Title ||
		shown.Snippet == "" || !strings.Contains(want.Content, strings.Trim(shown.Snippet, "… ")) || console.Plain(want.Content) != want.Content {
		return fmt.Errorf("%s: the first article is not the one that answers, or not whole", name)
	}
	return nil
}
