package sqltool_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"slices"
	"sync"
	"testing"

	"github.com/toolharness/harness/executors/sqltool"
)

// server is a database/sql driver that answers by script and notes what it was
// asked. It goes through the whole of database/sql: connector, connection,
// transaction, query, rows. Real engines are tried in the module that has one.
type server struct {
	columns []string
	rows    [][]driver.Value
	begin   error                               // instead of a transaction
	query   func(context.Context, string) error // before an answer; nil: none
	failAt  int                                 // row before which reading fails with broken
	broken  error                               // nil: never
	onExec  func(statement string) error        // nil: every statement runs
	onEnd   func(committed bool) error          // nil: ends well
	hangs   bool                                // rows never end and never come, until the context does
	mu      sync.Mutex                          // guards what follows
	asked   []string                            // statements in order
	bound   [][]driver.NamedValue               // their parameters
	options []driver.TxOptions                  // of each transaction
	ended   []string                            // "commit" or "rollback"
	open    int                                 // transactions that are open
}

func (s *server) note(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

func (s *server) statements() (list []string) {
	s.note(func() { list = slices.Clone(s.asked) })
	return list
}

func (s *server) Connect(context.Context) (driver.Conn, error) { return &conn{s}, nil }
func (s *server) Driver() driver.Driver                        { return s }
func (s *server) Open(string) (driver.Conn, error)             { return &conn{s}, nil }

type conn struct{ *server }

func (c *conn) Prepare(string) (driver.Stmt, error) { return nil, errors.New("not prepared here") }
func (c *conn) Close() error                        { return nil }
func (c *conn) Begin() (driver.Tx, error)           { return nil, errors.New("no options were given") }

func (c *conn) BeginTx(_ context.Context, o driver.TxOptions) (driver.Tx, error) {
	if c.begin != nil {
		return nil, c.begin
	}
	c.note(func() { c.options, c.open = append(c.options, o), c.open+1 })
	return tx{c.server}, nil
}

func (c *conn) QueryContext(ctx context.Context, statement string, args []driver.NamedValue) (driver.Rows, error) {
	c.note(func() { c.asked, c.bound = append(c.asked, statement), append(c.bound, args) })
	if c.query != nil {
		if err := c.query(ctx, statement); err != nil {
			return nil, err
		}
	}
	return &cursor{server: c.server, ctx: ctx}, nil
}

func (c *conn) ExecContext(_ context.Context, statement string, _ []driver.NamedValue) (driver.Result, error) {
	c.note(func() { c.asked = append(c.asked, statement) })
	if c.onExec != nil {
		return driver.ResultNoRows, c.onExec(statement)
	}
	return driver.ResultNoRows, nil
}

type tx struct{ *server }

func (t tx) Commit() error   { return t.end("commit") }
func (t tx) Rollback() error { return t.end("rollback") }

func (t tx) end(how string) error {
	t.note(func() { t.ended, t.open = append(t.ended, how), t.open-1 })
	if t.onEnd != nil {
		return t.onEnd(how == "commit")
	}
	return nil
}

type cursor struct {
	*server
	ctx context.Context
	at  int
}

func (c *cursor) Columns() []string { return c.columns }
func (c *cursor) Close() error      { return nil }

func (c *cursor) Next(dest []driver.Value) error {
	if c.hangs {
		<-c.ctx.Done()
		return c.ctx.Err()
	}
	if c.broken != nil && c.at == c.failAt {
		return c.broken
	}
	if c.at >= len(c.rows) {
		return io.EOF
	}
	copy(dest, c.rows[c.at])
	c.at++
	return nil
}

// two is a server with two columns and two rows.
func two() *server {
	return &server{columns: []string{"name", "n"}, rows: [][]driver.Value{{"Rock", int64(9007199254740993)}, {nil, 0.5}}}
}

func database(t testing.TB, s *server) *sql.DB {
	t.Helper()
	db := sql.OpenDB(s)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
		if s.open != 0 || slices.Contains(s.ended, "commit") {
			t.Errorf("%d transactions left open, ended %v, want none and rollbacks only", s.open, s.ended)
		}
		for _, o := range s.options {
			if !o.ReadOnly {
				t.Errorf("a transaction with %+v, want it read-only", o)
			}
		}
	})
	return db
}

// newTool makes a tool over s; what config lacks is filled in.
func newTool(t testing.TB, s *server, config sqltool.Config) *sqltool.Tool {
	t.Helper()
	config.DB = database(t, s)
	if config.Name == "" {
		config.Name = "shop"
	}
	if config.Checker == nil {
		config.Checker = sqltool.Unchecked{}
	}
	tool, err := sqltool.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return tool
}
