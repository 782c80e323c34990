package demo

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/cmd/harness/internal/demo/data"
	"github.com/toolharness/harness/cmd/harness/internal/recording"
	"github.com/toolharness/harness/cmd/harness/internal/sqlagent"
)

// expectedConversation is one entry of the published expectations.
type expectedConversation struct {
	Line  int `json:"line"`
	Calls int `json:"calls"`
	SQL   []struct {
		ID     string `json:"id"`
		Query  string `json:"query"`
		Result string `json:"result_on_chinook_1_4"`
	} `json:"sql"`
}

// expectedDatabase is what is published of the database.
type expectedDatabase struct {
	SHA256 string         `json:"sqlite_sha256"`
	Rows   map[string]int `json:"rows"`
	Sum    float64        `json:"sum_invoice_total"`
}

// checkResults compares each stored raw result with what the recorded tool returned: texts byte for byte, a query's row
// by its values, a search by the name that it found first. A query is compared with the published result as well.
func (d *demo) checkResults(ctx context.Context) (string, error) {
	var expected []expectedConversation
	if err := json.Unmarshal([]byte(d.options.conversationsExpected), &expected); err != nil {
		return "", errors.New("the expectations cannot be read")
	}
	published := map[string]string{} // by id
	for _, c := range expected {
		for _, q := range c.SQL {
			published[q.ID] = q.Result
		}
	}
	var problems []error
	count := map[string]int{}
	for _, call := range d.script.recorded() {
		record, err := d.record(ctx, canonical.CallName{ID: canonical.ToolCallID(call.ID)})
		if err == nil {
			var kind string
			kind, err = compareResult(string(record.Raw.Bytes), call, published)
			count[kind]++
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", call.ID, err))
		}
	}
	problems = append(problems, d.compareCounts(expected), unused(published))
	return fmt.Sprintf("%d texts byte for byte, %d query results, %d searches; %d without one",
		count[kindText], count[kindQuery], count[kindSearch], count[kindNone]), errors.Join(problems...)
}

// compareCounts holds the number of calls that were sent against the published one.
func (d *demo) compareCounts(expected []expectedConversation) error {
	var problems []error
	for i, c := range d.script.conversations {
		at := slices.IndexFunc(expected, func(e expectedConversation) bool { return e.Line == c.Line })
		if at < 0 || expected[at].Calls != len(d.document.Questions[i].Calls) {
			problems = append(problems, fmt.Errorf("conversation %d: %d calls were made, which is not what is published", c.Line, len(d.document.Questions[i].Calls)))
		}
	}
	return errors.Join(problems...)
}

// unused tells of published results that no call was compared with.
func unused(published map[string]string) error {
	if len(published) == 0 {
		return nil
	}
	return fmt.Errorf("no query with a published result was made under %s", strings.Join(slices.Sorted(maps.Keys(published)), ", "))
}

const (
	kindText   = "text"
	kindQuery  = "query"
	kindSearch = "search"
	kindNone   = "none"
)

// compareResult compares one raw result and takes the published one that it used out of the map.
func compareResult(raw string, call recording.Call, published map[string]string) (kind string, err error) {
	switch {
	case call.Tool == sqlagent.NameQuery:
		result, known := published[call.ID]
		delete(published, call.ID)
		if !known {
			return kindQuery, errors.New("no result is published for this query")
		}
		return kindQuery, errors.Join(compareRow(raw, call.Recorded), compareRow(raw, result))
	case !call.HasResult:
		return kindNone, nil
	case call.Tool == sqlagent.NameProperNouns:
		return kindSearch, compareNearest(raw, call.Recorded)
	case raw != call.Recorded:
		return kindText, errors.New("the text is not the recorded one")
	}
	return kindText, nil
}

// compareNearest compares the first name. What follows differs, since the recorded tool compared names in another way.
func compareNearest(raw, recorded string) error {
	var search sqlagent.NounSearch
	nearest, _, _ := strings.Cut(recorded, "\n")
	if json.Unmarshal([]byte(raw), &search) != nil || len(search.Names) == 0 || search.Names[0].Name != nearest {
		return errors.New("the nearest name is not the recorded one")
	}
	return nil
}

// compareRow compares the only row of a result with a list of one tuple as Python prints it.
func compareRow(raw, tuple string) error {
	var result struct {
		Rows      [][]any `json:"rows"`
		Truncated bool    `json:"truncated"`
	}
	if json.Unmarshal([]byte(raw), &result) != nil || len(result.Rows) != 1 || result.Truncated {
		return errors.New("the result is not one row")
	}
	want := tupleValues(tuple)
	if len(want) == 0 || len(want) != len(result.Rows[0]) {
		return errors.New("the row has not as many values as the expected one")
	}
	for i, value := range result.Rows[0] {
		if !equalValue(value, want[i]) {
			return fmt.Errorf("value %d of the row is not the expected one", i+1)
		}
	}
	return nil
}

var tupleValue = regexp.MustCompile(`'[^']*'|[^,' ]+`)

func tupleValues(text string) []string {
	inner, opened := strings.CutPrefix(text, "[(")
	inner, closed := strings.CutSuffix(inner, ")]")
	if !opened || !closed {
		return nil
	}
	return tupleValue.FindAllString(inner, -1)
}

// tolerance is what the expectations themselves call equal: engines add up floats in different orders.
const tolerance = 1e-6

func equalValue(got any, want string) bool {
	if text, ok := got.(string); ok {
		return "'"+text+"'" == want
	}
	number, err := strconv.ParseFloat(want, 64)
	value, ok := got.(float64)
	return err == nil && ok && math.Abs(value-number) <= tolerance
}

// checkDatabase digests the image again and counts every row anew.
func (d *demo) checkDatabase(ctx context.Context) (string, error) {
	var expected expectedDatabase
	if json.Unmarshal([]byte(d.options.chinookExpected), &expected) != nil || len(expected.Rows) == 0 {
		return "", errors.New("the expectations cannot be read")
	}
	var problems []error
	sum := sha256.Sum256([]byte(data.Chinook()))
	if digest := hex.EncodeToString(sum[:]); digest != expected.SHA256 {
		problems = append(problems, errors.New("its digest is not the published one"))
	}
	total := 0
	for _, table := range slices.Sorted(maps.Keys(expected.Rows)) {
		var rows int
		if err := d.scan(ctx, "SELECT COUNT(*) FROM "+table, &rows); err != nil || rows != expected.Rows[table] {
			problems = append(problems, fmt.Errorf("%s has %d rows, want %d", table, rows, expected.Rows[table]))
		}
		total += rows
	}
	var invoiced float64
	if err := d.scan(ctx, "SELECT SUM(Total) FROM Invoice", &invoiced); err != nil || math.Abs(invoiced-expected.Sum) > tolerance {
		problems = append(problems, fmt.Errorf("the invoices add up to %v, want %v", invoiced, expected.Sum))
	}
	return fmt.Sprintf("%d rows in %d tables, sha256 %s…", total, len(expected.Rows), expected.SHA256[:min(16, len(expected.SHA256))]), errors.Join(problems...)
}

// scan reads the only value of a statement.
func (d *demo) scan(ctx context.Context, statement string, value any) error {
	return d.sources.database.Read(ctx, statement, func(rs *sql.Rows) error {
		if !rs.Next() {
			return sql.ErrNoRows
		}
		return rs.Scan(value)
	})
}
