package sqltool

import (
	"context"
	"errors"
	"fmt"
)

// ErrWritable is the error of [Tool.Probe] where a statement ran that must not.
var ErrWritable = errors.New("sqltool: a statement that must fail ran in a read-only transaction")

// Probe begins a read-only transaction and rolls it back, so that a database that
// is not there, or a driver that has no such transactions, is found at start. Some
// drivers take the wish for one and ignore it: each statement of mustFail is run
// in a transaction of its own, without asking the checker, and has to fail. What
// runs all the same is rolled back where the engine can do that, so choose one
// that changes nothing: DELETE FROM orders WHERE 1 = 0.
//
// An error may be the driver's and name host and user.
func (t *Tool) Probe(ctx context.Context, mustFail ...string) error {
	for _, statement := range append([]string{""}, mustFail...) {
		if err := t.probe(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

func (t *Tool) probe(ctx context.Context, statement string) error {
	tx, err := t.db.BeginTx(ctx, readOnly())
	if err != nil {
		return fmt.Errorf("sqltool: begin a read-only transaction: %w", err)
	}
	var ran error
	if statement != "" {
		if _, err := tx.ExecContext(ctx, statement); err == nil {
			ran = ErrWritable
		}
	}
	if err := tx.Rollback(); err != nil && ran == nil && ctx.Err() == nil && statement == "" {
		return fmt.Errorf("sqltool: end a read-only transaction: %w", err)
	}
	return errors.Join(ran, ctx.Err())
}
