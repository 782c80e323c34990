package sqlagent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/toolharness/harness/cmd/harness/internal/sqlread"
)

// errDefinitionTooLarge is for a table with more columns or keys than a result may have rows: half a definition would
// read as the whole one.
var errDefinitionTooLarge = errors.New("sqlagent: the definition of the table is over the limits of a result")

// The marks by which the text of several tables can be taken apart again.
const (
	partGap   = "\n\n\n"
	sampleEnd = "*/"
)

// head is the first line of a table's definition.
func head(table string) string { return "CREATE TABLE " + quote(table) + " (\n" }

const (
	sampleRows  = 3
	sampleRunes = 100 // of one value; the rest of a longer one is left out of the sample
)

// Schema writes, per asked table and in the order asked, a definition made from what the engine knows of it, and its
// first rows in a comment. NULL is written None, as the recorded tool wrote it.
func (t *Tools) Schema(ctx context.Context, in SchemaInput, raw io.Writer) error {
	asked, err := t.askedTables(ctx, in.TableNames)
	if err != nil {
		return err
	}
	parts := make([]string, len(asked))
	for i, table := range asked {
		definition, err := t.definition(ctx, table)
		if err != nil {
			return err
		}
		sample, err := t.sample(ctx, table)
		if err != nil {
			return err
		}
		parts[i] = definition + "\n\n" + sample
	}
	_, err = io.WriteString(raw, strings.Join(parts, partGap))
	return err
}

// askedTables refuses the whole list for one unknown name: a schema with a table left out would read as complete.
func (t *Tools) askedTables(ctx context.Context, list string) ([]string, error) {
	if strings.TrimSpace(list) == "" {
		return nil, ErrNothingAsked
	}
	known, err := t.tableNames(ctx)
	if err != nil {
		return nil, err
	}
	asked := splitNames(list)
	for _, name := range asked {
		if !slices.Contains(known, name) {
			return nil, ErrUnknownTable
		}
	}
	return asked, nil
}

// splitNames reads a list of names; it is never empty.
func splitNames(list string) []string {
	names := strings.Split(list, ",")
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	return names
}

const (
	columnsStatement = `SELECT name, type, "notnull", pk FROM pragma_table_info(?) ORDER BY cid`
	foreignStatement = `SELECT id, "table", "from", "to" FROM pragma_foreign_key_list(?) ORDER BY id, seq`
)

func (t *Tools) definition(ctx context.Context, table string) (string, error) {
	columns, err := t.db.Table(ctx, columnsStatement, table)
	if err != nil {
		return "", err
	}
	foreign, err := t.db.Table(ctx, foreignStatement, table)
	if err != nil {
		return "", err
	}
	if columns.Cut != sqlread.Whole || foreign.Cut != sqlread.Whole {
		return "", errDefinitionTooLarge
	}
	var lines []string
	for _, row := range columns.Rows {
		line := quote(text(row[0])) + " " + spaced(text(row[1]))
		if row[2] != int64(0) {
			line += " NOT NULL"
		}
		lines = append(lines, line)
	}
	if key := primaryKey(columns.Rows); len(key) > 0 {
		lines = append(lines, "PRIMARY KEY ("+strings.Join(key, ", ")+")")
	}
	lines = append(lines, foreignKeys(foreign.Rows)...)
	return head(table) + "\t" + strings.Join(lines, ", \n\t") + "\n)", nil
}

// spaced writes a declared type as the recorded tool did, NUMERIC(10, 2) for NUMERIC(10,2).
func spaced(declared string) string {
	return strings.ReplaceAll(strings.ReplaceAll(declared, ", ", ","), ",", ", ")
}

// primaryKey orders the columns by their place in the key, which is not always their place in the table.
func primaryKey(columns [][]any) []string {
	keyed := slices.DeleteFunc(slices.Clone(columns), func(row []any) bool { return row[3] == int64(0) })
	slices.SortFunc(keyed, func(a, b []any) int { return int(a[3].(int64) - b[3].(int64)) })
	names := make([]string, len(keyed))
	for i, row := range keyed {
		names[i] = quote(text(row[0]))
	}
	return names
}

// foreignKeys joins the rows of one key: a key over several columns has one row for each, all with the same id.
func foreignKeys(rows [][]any) []string {
	var lines []string
	for start := 0; start < len(rows); {
		end := start
		var from, to []string
		for ; end < len(rows) && rows[end][0] == rows[start][0]; end++ {
			from = append(from, quote(text(rows[end][2])))
			to = append(to, quote(text(rows[end][3])))
		}
		lines = append(lines, fmt.Sprintf("FOREIGN KEY(%s) REFERENCES %s (%s)",
			strings.Join(from, ", "), quote(text(rows[start][1])), strings.Join(to, ", ")))
		start = end
	}
	return lines
}

func (t *Tools) sample(ctx context.Context, table string) (string, error) {
	rows, err := t.db.Table(ctx, fmt.Sprintf("SELECT * FROM %s LIMIT %d", quote(table), sampleRows))
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "/*\n%d rows from %s table:\n%s\n", len(rows.Rows), table, strings.Join(rows.Columns, "\t"))
	for _, row := range rows.Rows {
		cells := make([]string, len(row))
		for i, value := range row {
			cells[i] = clip(text(value))
		}
		b.WriteString(strings.Join(cells, "\t") + "\n")
	}
	b.WriteString(sampleEnd)
	return b.String(), nil
}

func text(value any) string {
	switch v := value.(type) {
	case nil:
		return "None"
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case []byte:
		return fmt.Sprintf("x'%x'", v)
	default:
		return fmt.Sprint(v)
	}
}

// clip cuts between runes; bytes of a half rune would not be valid UTF-8.
func clip(s string) string {
	if runes := []rune(s); len(runes) > sampleRunes {
		return string(runes[:sampleRunes])
	}
	return s
}

// quote makes an identifier of SQL from any name.
func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
