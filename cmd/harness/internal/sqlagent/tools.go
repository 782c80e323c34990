package sqlagent

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/toolharness/harness/cmd/harness/internal/sqlread"
	"github.com/toolharness/harness/projector/rows"
)

// The names of the tools, as the recording has them.
const (
	NameListTables   = "sql_db_list_tables"
	NameSchema       = "sql_db_schema"
	NameQueryChecker = "sql_db_query_checker"
	NameQuery        = "sql_db_query"
	NameProperNouns  = "search_proper_nouns"
)

var (
	// ErrUnknownTable is returned when at least one of the asked tables does not exist. Nothing is written then.
	ErrUnknownTable = errors.New("sqlagent: no such table")
	// ErrNothingAsked is returned for an argument that is empty or blank.
	ErrNothingAsked = errors.New("sqlagent: the argument is empty")
)

// NoInput is the argument object of a tool that takes none.
type NoInput struct{}

// SchemaInput is the argument object of sql_db_schema.
type SchemaInput struct {
	TableNames string `json:"table_names"` // separated by commas; blanks around a name do not count
}

// QueryInput is the argument object of sql_db_query, sql_db_query_checker and search_proper_nouns.
type QueryInput struct {
	Query string `json:"query"`
}

// Tools are the tools on one database. The database stays the caller's: closing it is not done here.
type Tools struct {
	name string
	db   *sqlread.Database
}

// New makes the tools for a database that has the tables Artist, Album and Genre. The name is what results and facts call
// the database; a model sees it.
func New(name string, db *sqlread.Database) *Tools { return &Tools{name: name, db: db} }

// Query runs one statement and writes its columns and rows as rows.Encode does, up to the row and byte limits of the
// database; a result that met one says so. The statement is kept in it without its literals.
func (t *Tools) Query(ctx context.Context, in QueryInput, raw io.Writer) error {
	limits := t.db.Limits()
	encoder := rows.Encoder{MaxRows: limits.MaxRows, MaxBytes: limits.MaxBytes, Database: t.name, Statement: in.Query}
	return t.db.Read(ctx, in.Query, func(rs *sql.Rows) error { return encoder.Encode(raw, rs) })
}

// ListTables writes the names of all tables, sorted, without those of the engine.
func (t *Tools) ListTables(ctx context.Context, _ NoInput, raw io.Writer) error {
	names, err := t.tableNames(ctx)
	if err != nil {
		return err
	}
	_, err = io.WriteString(raw, strings.Join(names, ", "))
	return err
}

// CheckQuery writes the statement as it came when the engine compiles it and the authorizer permits each of its steps.
// Otherwise it writes nothing and returns the refusal, one of the errors of package sqlread.
func (t *Tools) CheckQuery(ctx context.Context, in QueryInput, raw io.Writer) error {
	if err := t.db.Check(ctx, in.Query); err != nil {
		return err
	}
	_, err := fmt.Fprintf(raw, "```sql\n%s\n```", in.Query)
	return err
}

const tablesStatement = `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\' ORDER BY name`

func (t *Tools) tableNames(ctx context.Context) ([]string, error) {
	return t.column(ctx, tablesStatement)
}

// column reads the only column of a statement, however many rows it has: the limits on a table are for a model's results.
func (t *Tools) column(ctx context.Context, statement string) ([]string, error) {
	var values []string
	err := t.db.Read(ctx, statement, func(rs *sql.Rows) error {
		for rs.Next() {
			var value sql.NullString
			if err := rs.Scan(&value); err != nil {
				return err
			}
			if value.Valid {
				values = append(values, value.String)
			}
		}
		return nil
	})
	return values, err
}
