// Package host is the README's host program: it opens the store, the boundary
// and a run, and states at the end what was observed.
package host

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/examples/loop"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/redisstore"
)

// README:start

// Ask answers one question and reports what the tools returned.
func Ask(ctx context.Context, url string, db *sql.DB, model loop.Model, question string) (answer, facts string, err error) {
	store, err := redisstore.Dial(ctx, url, nil)
	if err != nil {
		return "", "", err
	}
	defer store.Close()
	b, err := boundary.New(boundary.Config{
		Store: store, Authorizer: boundary.AllowAll{},
		Codes: map[lifecycle.Code]string{"SQL_ERROR": "The statement failed. Check table and column names."},
	})
	if err != nil {
		return "", "", err
	}
	defer b.Shutdown(ctx)
	tools, err := loop.NewTools(b, db)
	if err != nil {
		return "", "", err
	}
	run, err := b.OpenRun(ctx, boundary.RunSpec{Scope: boundary.Scope{Tenant: "acme"}})
	if err != nil {
		return "", "", err
	}
	defer run.Close(ctx)
	if answer, err = loop.Answer(ctx, tools, run, model, question); err != nil {
		return "", "", fmt.Errorf("asking: %w", err)
	}
	report, err := run.Facts(ctx)
	return answer, report.Text(), err
}

// README:end
