package place

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/localstore"
)

// openLocal opens the store in the directory, for its owner alone.
func openLocal(where Where) (*Place, error) {
	if err := os.MkdirAll(where.Data, 0o700); err != nil {
		return nil, fmt.Errorf("the given directory cannot be used: %w", err)
	}
	store, err := localstore.Open(fileIn(where.Data), nil)
	if err != nil {
		return nil, fmt.Errorf("the given directory cannot be used: %w", err)
	}
	return &Place{Name: NameLocal, Store: store, where: where, close: store.Close}, nil
}

// fileIn is the file of the store in a directory.
func fileIn(dir string) string { return filepath.Join(dir, localstore.FileName) }

// Keys are what there is of the runs, sorted, each with its time to live. A server is asked from outside; on a local store
// there are no keys, and it is the store itself that tells of the run and of each record, under the names that keys have.
func (p *Place) Keys(ctx context.Context, runs []canonical.RunKey) ([]Key, error) {
	if p.Outside != nil {
		return p.Outside.Keys(ctx, runs)
	}
	return p.told(ctx, runs)
}

// CountSeries is how many keys there are of the runs whose ids begin as given.
func (p *Place) CountSeries(ctx context.Context, scope canonical.Scope, id string) (int, error) {
	if p.Outside != nil {
		return p.Outside.CountSeries(ctx, scope, id)
	}
	var runs []canonical.RunKey
	for after := (canonical.ListedRun{}); ; {
		page, err := p.Store.ListRuns(ctx, scope, after, canonical.MaxListedRuns)
		if err != nil {
			return 0, err
		}
		for _, listed := range page {
			if after = listed; strings.HasPrefix(string(listed.Run), id) {
				runs = append(runs, canonical.RunKey{Scope: scope, Run: listed.Run})
			}
		}
		if len(page) < canonical.MaxListedRuns {
			break
		}
	}
	keys, err := p.told(ctx, runs)
	return len(keys), err
}

// Command is what a person types to see a record. A password is never part of it.
func (p *Place) Command(run canonical.RunKey, call canonical.CallName) string {
	if p.Outside != nil {
		return p.Outside.Command(RecordOf(run, call))
	}
	words := []string{"harness", "show", string(run.Run), quoted(call.String()), "--data", quoted(p.where.Data), "--tenant", quoted(run.Scope.Tenant)}
	if run.Scope.Owner != "" {
		words = append(words, "--owner", quoted(run.Scope.Owner))
	}
	if run.Scope.Namespace != "" {
		words = append(words, "--namespace", quoted(run.Scope.Namespace))
	}
	return strings.Join(words, " ")
}

// NeedsPassword reports whether a person must give one to that command.
func (p *Place) NeedsPassword() bool { return p.Outside != nil && p.Outside.NeedsPassword() }

// Left says how much is left behind in the place of this name.
func Left(place string, keys int) string {
	if place == NameLocal {
		return fmt.Sprintf("%d runs and records are left in the directory", keys)
	}
	return fmt.Sprintf("%d keys are left in Redis", keys)
}
