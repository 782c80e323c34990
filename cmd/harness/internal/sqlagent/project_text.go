package sqlagent

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/toolharness/harness/evidence"
	"github.com/toolharness/harness/projector"
	"github.com/toolharness/harness/projector/rows"
)

// projectTables counts the names. A name with a comma counts as two, since the raw text does not tell them apart.
func (t *Tools) projectTables() projector.Projector {
	return projector.Func(func(_ context.Context, in projector.Input) (projector.Projection, error) {
		if err := readable(in.Raw); err != nil {
			return projector.Projection{}, err
		}
		names := strings.Split(string(in.Raw), ", ")
		database := evidence.Subject{Kind: "database", ID: t.name}
		return textFound(in, "tables", names, []evidence.Fact{
			evidence.NewFact(database, "tables", decimal(len(names))),
			evidence.NewFact(database, "table_names", string(in.Raw)),
		})
	})
}

// projectCheck reads the statement back from its code block.
func (t *Tools) projectCheck() projector.Projector {
	return projector.Func(func(_ context.Context, in projector.Input) (projector.Projection, error) {
		if err := readable(in.Raw); err != nil {
			return projector.Projection{}, err
		}
		body, opened := strings.CutPrefix(string(in.Raw), "```sql\n")
		statement, closed := strings.CutSuffix(body, "\n```")
		if !opened || !closed || strings.TrimSpace(statement) == "" {
			return projector.Projection{}, errUnreadable
		}
		subject := evidence.Subject{Kind: "statement", ID: rows.Fingerprint(statement)}
		return textFound(in, "statements", []string{statement}, []evidence.Fact{
			evidence.NewFact(subject, "check", "compiles and only reads; was not run"),
		})
	})
}

// projectSchema finds the definition of each table that was asked for, in the order asked, and counts its columns.
func (t *Tools) projectSchema() projector.Projector {
	return projector.Func(func(_ context.Context, in projector.Input) (projector.Projection, error) {
		if err := readable(in.Raw); err != nil {
			return projector.Projection{}, err
		}
		var asked SchemaInput
		if err := json.Unmarshal(in.Request, &asked); err != nil {
			return projector.Projection{}, errUnreadable
		}
		names := splitNames(asked.TableNames)
		parts, err := splitSchema(string(in.Raw), names)
		if err != nil {
			return projector.Projection{}, err
		}
		var facts []evidence.Fact
		for i, part := range parts {
			table := evidence.Subject{Kind: "table", ID: names[i]}
			columns := definedColumns(part)
			facts = append(facts, evidence.NewFact(table, "columns", decimal(len(columns))),
				evidence.NewFact(table, "column_names", strings.Join(columns, ", ")))
		}
		return textFound(in, "tables", parts, facts)
	})
}

// splitSchema cuts the text at the start of each table. A start that stands there more than once may be text of a row.
func splitSchema(raw string, names []string) ([]string, error) {
	if !strings.HasPrefix(raw, head(names[0])) || !strings.HasSuffix(raw, sampleEnd) {
		return nil, errUnreadable
	}
	parts := make([]string, 0, len(names))
	for _, next := range names[1:] {
		border := sampleEnd + partGap + head(next)
		part, rest, found := strings.Cut(raw, border)
		if !found || strings.Contains(rest, border) {
			return nil, errUnreadable
		}
		parts = append(parts, part+sampleEnd)
		raw = head(next) + rest
	}
	return append(parts, raw), nil
}

// definedColumns reads the names of the columns from the lines of a definition, which end before the first line that
// begins with a parenthesis.
func definedColumns(part string) []string {
	var names []string
	for line := range strings.Lines(part) {
		if strings.HasPrefix(line, ")") {
			break
		}
		if quoted, ok := strings.CutPrefix(line, "\t\""); ok {
			name, _, _ := strings.Cut(strings.ReplaceAll(quoted, `""`, "\x00"), `"`)
			names = append(names, strings.ReplaceAll(name, "\x00", `"`))
		}
	}
	return names
}

// textFound is the projection of a text in which something was counted.
func textFound(in projector.Input, array string, items []string, facts []evidence.Fact) (projector.Projection, error) {
	result, err := asText(in, array, items)
	if err != nil {
		return projector.Projection{}, err
	}
	facts, err = fitting(facts, in.Limits.FactsBytes)
	return projector.Projection{Result: result, Status: evidence.Found, Facts: facts}, err
}

func decimal(n int) string { return strconv.Itoa(n) }
