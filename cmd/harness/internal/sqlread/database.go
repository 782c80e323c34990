package sqlread

import (
	"context"
	"crypto/rand"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/driver"
	"github.com/ncruces/go-sqlite3/vfs"
)

// Database is an open database that can only be read. It is safe for use by several goroutines.
type Database struct {
	pool     *sql.DB
	limits   Limits
	readable map[string]bool
	closed   atomic.Bool
	release  func()
}

// OpenImage opens a database file that is held in memory. The image is shared, not copied, and cannot change. A text
// that is no database fails here and not with the first statement. Limits that contradict are all reported at once.
func OpenImage(image string, limits Limits) (*Database, error) {
	limits = limits.withDefaults()
	if err := limits.check(); err != nil {
		return nil, err
	}
	// The engine finds file systems by name in a registry of the whole process; chance keeps two databases apart.
	name := "image-" + rand.Text()
	vfs.Register(name, imageFS{image: image, temp: &tempBudget{max: limits.MaxTempBytes}})
	db, err := open("file:"+imageName+"?mode=ro&immutable=1&vfs="+name, limits)
	if err != nil {
		vfs.Unregister(name)
		return nil, err
	}
	db.release = func() { vfs.Unregister(name) }
	return db, nil
}

// open expects a URI with at least one parameter and checked limits. It is apart from [OpenImage] so that tests can
// put the layers over a file that could be written.
func open(uri string, limits Limits) (*Database, error) {
	// _timefmt is a layout that no stored date has: the driver would otherwise turn dates into times and so change text.
	pool, err := driver.Open(uri+"&_timefmt=as-stored&_pragma=query_only(1)", limits.prepare)
	if err != nil {
		return nil, fmt.Errorf("sqlread: open: %w", limits.translate(err, ""))
	}
	pool.SetMaxOpenConns(maxConnections)
	db := &Database{pool: pool, limits: limits, readable: map[string]bool{}, release: func() {}}
	// The time limit is for statements of a model; starting the engine for the first time may take longer.
	db.limits.Timeout = max(limits.Timeout, openTimeout)
	if err := db.loadReadable(); err != nil {
		return nil, errors.Join(fmt.Errorf("sqlread: open: %w", err), pool.Close())
	}
	db.limits.Timeout = limits.Timeout
	return db, nil
}

const openTimeout = 30 * time.Second

// maxConnections is how many statements run at one time; more wait within their time limit. Each has its own engine
// with a page cache of 2 MB.
const maxConnections = 4

// prepare sets up a new connection, before any statement of a model can reach it.
func (l Limits) prepare(c *sqlite3.Conn) error {
	c.Limit(sqlite3.LIMIT_LENGTH, l.MaxValueBytes)
	c.Limit(sqlite3.LIMIT_SQL_LENGTH, l.MaxStatementBytes)
	c.Limit(sqlite3.LIMIT_ATTACHED, 0)
	_, defensive := c.Config(sqlite3.DBCONFIG_DEFENSIVE, true)
	_, trusted := c.Config(sqlite3.DBCONFIG_TRUSTED_SCHEMA, false)
	return errors.Join(defensive, trusted, c.SetAuthorizer(decideIdle))
}

func (d *Database) loadReadable() error {
	return d.Read(context.Background(), "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')", func(rs *sql.Rows) error {
		for rs.Next() {
			var name string
			if err := rs.Scan(&name); err != nil {
				return err
			}
			d.readable[name] = true
		}
		return nil
	})
}

// Close ends the database. Statements that still run are waited for. A second Close does nothing.
func (d *Database) Close() error {
	if d.closed.Swap(true) {
		return nil
	}
	defer d.release()
	return d.pool.Close()
}

// Limits are those in force, defaults filled in.
func (d *Database) Limits() Limits { return d.limits }

// Read runs one statement and gives its rows to visit while the read-only transaction is open. The rows must not be
// kept: they are closed when visit returns, whether it read them all or not. Values are bound to args by position.
// An error of visit that is not the engine's comes back unchanged. The statement's time limit covers visit too.
func (d *Database) Read(ctx context.Context, statement string, visit func(*sql.Rows) error, args ...any) error {
	return d.run(ctx, statement, func(ctx context.Context, tx *sql.Tx) error {
		rs, err := tx.QueryContext(ctx, statement, args...)
		if err != nil {
			return err
		}
		err = visit(rs)
		// Close may repeat the error of the last step; the first of the three says most.
		closing := rs.Close()
		for _, next := range []error{rs.Err(), closing} {
			if err == nil {
				err = next
			}
		}
		return err
	})
}

// Check compiles one statement and asks the authorizer, but does not run it: nil means that [Database.Read] would
// start it. It says nothing about how long the statement takes or whether it means what its author wanted.
func (d *Database) Check(ctx context.Context, statement string) error {
	return d.run(ctx, statement, func(context.Context, *sql.Tx) error { return nil })
}

// run holds what all statements share: the checks on the text, the time limit and the meaning of an interruption.
func (d *Database) run(ctx context.Context, statement string, body func(context.Context, *sql.Tx) error) error {
	switch {
	case d.closed.Load():
		return ErrClosed
	case len(statement) > d.limits.MaxStatementBytes:
		return &LimitError{Limit: limitStatement, Max: int64(d.limits.MaxStatementBytes)}
	case strings.IndexByte(statement, 0) >= 0:
		// The engine would stop reading at this byte and run a statement that nobody sees whole.
		return &StatementError{Code: sqlite3.ERROR}
	}
	limited, cancel := context.WithTimeout(ctx, d.limits.Timeout)
	defer cancel()
	err := d.transact(limited, statement, body)
	if err == nil || !isInterruption(err) {
		return err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("sqlread: %w", ctx.Err())
	}
	return &LimitError{Limit: limitTimeout, Max: int64(d.limits.Timeout)}
}

func isInterruption(err error) bool {
	return errors.Is(err, sqlite3.INTERRUPT) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// transact borrows a connection, begins, puts the authorizer in force, compiles, runs body, and undoes all of it.
// The transaction does not follow ctx: database/sql would roll it back from a goroutine of its own while the
// authorizer, which permits no end of a transaction, is still in force.
func (d *Database) transact(ctx context.Context, statement string, body func(context.Context, *sql.Tx) error) (err error) {
	conn, err := d.pool.Conn(ctx)
	if err != nil {
		return d.limits.translate(err, "")
	}
	defer conn.Close()
	tx, err := conn.BeginTx(context.WithoutCancel(ctx), &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return d.limits.translate(err, "")
	}
	auth := &authorizer{readable: d.readable}
	defer func() {
		if undo := errors.Join(setAuthorizer(conn, decideIdle), tx.Rollback()); undo != nil {
			discard(conn)
		}
	}()
	if err = setAuthorizer(conn, auth.decide); err == nil {
		err = withEngine(conn, func(c *sqlite3.Conn) error { return compile(ctx, c, statement) })
	}
	if err == nil {
		err = body(ctx, tx)
	}
	return d.limits.translate(err, auth.refused)
}

// compile refuses a text that is not exactly one statement that only reads. Nothing runs.
func compile(ctx context.Context, c *sqlite3.Conn, statement string) error {
	defer c.SetInterrupt(c.SetInterrupt(ctx))
	stmt, tail, err := c.Prepare(statement)
	if err != nil {
		return err
	}
	if stmt == nil {
		return ErrNoStatement
	}
	defer stmt.Close()
	// What is behind the statement may be blanks and comments, which compile to nothing.
	next, _, err := c.Prepare(tail)
	if err != nil || next != nil {
		return errors.Join(ErrSeveralStatements, closeIfOpen(next))
	}
	if !stmt.ReadOnly() {
		return &RefusedError{Action: actionWrite}
	}
	return nil
}

func closeIfOpen(stmt *sqlite3.Stmt) error {
	if stmt == nil {
		return nil
	}
	return stmt.Close()
}

type decision = func(action sqlite3.AuthorizerActionCode, third, fourth, schema, inner string) sqlite3.AuthorizerReturnCode

func setAuthorizer(conn *sql.Conn, decide decision) error {
	return withEngine(conn, func(c *sqlite3.Conn) error { return c.SetAuthorizer(decide) })
}

func withEngine(conn *sql.Conn, use func(*sqlite3.Conn) error) error {
	return conn.Raw(func(raw any) error { return use(raw.(driver.Conn).Raw()) })
}

// discard makes the pool close a connection whose state is not known, instead of lending it again.
func discard(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return sqldriver.ErrBadConn })
}
