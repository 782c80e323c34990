package rows_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"testing"
)

// table is one result of the test driver: what a real driver would return for a
// statement, value by value, in the Go types of its choice.
type table struct {
	columns []string
	types   []string // database type names; nil: the driver does not know them
	rows    [][]driver.Value
	next    *table // a further result set
	failAt  int    // row index before which reading fails with err
	err     error
	nextErr error // reported by NextResultSet
}

// tables is a database/sql driver whose statements are names of tables. It goes
// through the whole of database/sql: connector, connection, query, rows.
type tables map[string]*table

func (ts tables) Connect(context.Context) (driver.Conn, error) { return conn{ts}, nil }
func (ts tables) Driver() driver.Driver                        { return ts }
func (ts tables) Open(string) (driver.Conn, error)             { return conn{ts}, nil }

type conn struct{ tables tables }

func (conn) Prepare(string) (driver.Stmt, error) { return nil, errors.New("not prepared here") }
func (conn) Close() error                        { return nil }
func (conn) Begin() (driver.Tx, error)           { return nil, errors.New("no transactions here") }

func (c conn) QueryContext(_ context.Context, query string, _ []driver.NamedValue) (driver.Rows, error) {
	t, ok := c.tables[query]
	if !ok {
		return nil, errors.New("no such table")
	}
	return &cursor{table: t}, nil
}

type cursor struct {
	table *table
	at    int
}

func (c *cursor) Columns() []string { return c.table.columns }
func (c *cursor) Close() error      { return nil }

func (c *cursor) Next(dest []driver.Value) error {
	if c.table.err != nil && c.at == c.table.failAt {
		return c.table.err
	}
	if c.at >= len(c.table.rows) {
		return io.EOF
	}
	copy(dest, c.table.rows[c.at])
	c.at++
	return nil
}

func (c *cursor) ColumnTypeDatabaseTypeName(i int) string {
	if c.table.types == nil {
		return ""
	}
	return c.table.types[i]
}

func (c *cursor) HasNextResultSet() bool { return c.table.next != nil || c.table.nextErr != nil }

func (c *cursor) NextResultSet() error {
	if c.table.nextErr != nil {
		return c.table.nextErr
	}
	if c.table.next == nil {
		return io.EOF
	}
	c.table, c.at = c.table.next, 0
	return nil
}

// query runs t through database/sql and hands its rows to the test.
func query(t *testing.T, result *table) *sql.Rows {
	t.Helper()
	db := sql.OpenDB(tables{"t": result})
	t.Cleanup(func() { db.Close() })
	rs, err := db.QueryContext(t.Context(), "t")
	if err != nil {
		t.Fatalf("query: %v", err)
	}
	t.Cleanup(func() { rs.Close() })
	return rs
}
