package sqltool

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/projector/rows"
)

// Tool runs statements on one database. It keeps no state between calls and is
// safe for concurrent use.
type Tool struct {
	db              *sql.DB
	name, dialect   string
	checker         Checker
	allowSemicolons bool
	classify        func(error) Fault
	limits          Limits
	now             func() time.Time
}

// New checks the configuration and reports all that is wrong with it at once. It
// does not ask the database; [Tool.Probe] does.
func New(c Config) (*Tool, error) {
	limits := c.Limits.withDefaults()
	if err := c.check(limits); err != nil {
		return nil, err
	}
	t := &Tool{
		db: c.DB, name: c.Name, dialect: c.Dialect, checker: c.Checker, allowSemicolons: c.AllowSemicolons,
		classify: c.Classify, limits: limits, now: c.Now,
	}
	if t.now == nil {
		t.now = time.Now
	}
	return t, nil
}

func readOnly() *sql.TxOptions { return &sql.TxOptions{ReadOnly: true} }

// Run runs one statement and writes its result as a document of package rows. On
// an error what was written is to be dropped. Errors that are not the caller's
// context's or writer's are [boundary.Coded]; their texts hold nothing of the
// statement or of the driver's.
func (t *Tool) Run(ctx context.Context, q Query, w io.Writer) error {
	p, err := t.prepare(q)
	if err != nil {
		if errors.Unwrap(err) != nil { // the checker's
			return boundary.Coded(CodeRefused, err)
		}
		return boundary.Coded(CodeInvalid, err)
	}
	limited, cancel := context.WithTimeout(ctx, t.limits.Timeout)
	defer cancel()
	return t.coded(ctx, limited, t.read(limited, p, w))
}

func (t *Tool) read(ctx context.Context, p prepared, w io.Writer) error {
	tx, err := t.db.BeginTx(ctx, readOnly())
	if err != nil {
		return &beginError{err}
	}
	// Nothing is ever committed. A rollback that fails has lost its connection,
	// which the pool then drops; the rows that were read are no worse for it.
	defer tx.Rollback()
	rs, err := tx.QueryContext(ctx, p.statement, p.parameters...)
	if err != nil {
		return err
	}
	defer rs.Close() // its error is that of the last step, which Encode reports
	end := &endWriter{w: w}
	encoder := rows.Encoder{
		MaxRows: t.limits.MaxRows, MaxBytes: t.limits.MaxBytes,
		Database: t.name, Statement: p.statement, Parameters: p.parameters, ReadAt: t.now(),
	}
	if err := encoder.Encode(end, rs); err != nil {
		return err
	}
	if bytes.HasSuffix(end.last, []byte(noFirstRow)) {
		return errFirstRow
	}
	return nil
}

// beginError is for a transaction that did not begin.
type beginError struct{ cause error }

func (e *beginError) Error() string { return "sqltool: no read-only transaction" }
func (e *beginError) Unwrap() error { return e.cause }

// noFirstRow is how a document ends whose first row was over the cap in bytes. No
// value can make another document end so, since quotes in values are escaped.
const noFirstRow = `"rows":[],"row_count":1,"truncated":true,"truncated_by":"` + rows.ByMaxBytes + `"}`

// endWriter passes everything on and keeps the end of it.
type endWriter struct {
	w    io.Writer
	last []byte
}

func (e *endWriter) Write(p []byte) (int, error) {
	n, err := e.w.Write(p)
	e.last = append(e.last, p[max(0, len(p)-len(noFirstRow)):]...)
	e.last = e.last[max(0, len(e.last)-len(noFirstRow)):]
	return n, err
}

// margin is what a tool is given beyond the time of its statement, so that the
// statement's own limit is met first and tells the model what to do.
const margin = 5 * time.Second

// Tool is the database as a tool of a [boundary.Toolset]: executor, schema and the
// projector of package rows with its defaults. Change what it returns where you
// need other ones.
func (t *Tool) Tool(name string) boundary.Tool {
	description := fmt.Sprintf("Run one SQL statement that only reads on the database %s and get its rows, at most %d.", t.name, t.limits.MaxRows)
	if t.dialect != "" {
		description += " " + t.dialect + "."
	}
	return boundary.Tool{
		Name: name, Description: description, Effect: boundary.EffectRead, Executor: t.Executor(),
		Projector: rows.New(rows.Options{Database: t.name}), Schema: t.Schema(), Timeout: t.limits.Timeout + margin,
	}
}

// Executor runs statements with a [Query] as arguments. It is a
// [boundary.ArgumentChecker]: a statement that is not permitted costs nothing.
func (t *Tool) Executor() boundary.Executor {
	return executor{
		boundary.Args(t.Run),
		boundary.Args(func(_ context.Context, q Query, _ io.Writer) error {
			_, err := t.prepare(q)
			return err
		}),
	}
}

type executor struct {
	boundary.Executor
	check boundary.Executor // decodes and prepares, and does not touch the database
}

// CheckArguments implements [boundary.ArgumentChecker].
func (e executor) CheckArguments(arguments []byte) error {
	return e.check.Execute(context.Background(), boundary.Input{Arguments: arguments}, io.Discard)
}

// Schema is the JSON Schema of a [Query].
func (t *Tool) Schema() json.RawMessage {
	type object = map[string]any
	statement := "One statement that only reads. A text value that has a semicolon is bound as a parameter."
	if t.allowSemicolons {
		statement = "One statement that only reads."
	}
	schema, _ := json.Marshal(object{ // of strings and numbers, which always have a form
		"type": "object", "additionalProperties": false, "required": []string{"query"},
		"properties": object{
			"query": object{"type": "string", "minLength": 1, "maxLength": t.limits.MaxStatementBytes, "description": statement},
			"parameters": object{
				"type": "array", "maxItems": t.limits.MaxParameters, "description": "Values for the placeholders of the statement, in order.",
				"items": object{"type": []string{"string", "number", "boolean", "null"}},
			},
		},
	})
	return schema
}
