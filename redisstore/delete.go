package redisstore

import (
	"context"

	"github.com/toolharness/harness/canonical"
)

// Delete implements [canonical.Remover]. One trip. The bodies of a late result
// go with the record; a recorded verdict stays.
func (s *Store) Delete(ctx context.Context, run canonical.RunKey, call canonical.CallName) error {
	if err := checkCall(run, call); err != nil {
		return err
	}
	k := s.keys(run)
	r, err := s.run(ctx, s.lua.delete, message{
		keys: []string{k.ledger(), k.record(call), k.effects(), k.settled(call)},
		args: []any{version(), call.String()},
	})
	if err != nil {
		return trouble(ctx, "delete", err)
	}
	switch r.word {
	case "deleted", "missing":
		return nil
	case "open":
		return standing("delete", call, canonical.ErrStillOpen, r.fields[0])
	case "unresolved":
		return standing("delete", call, canonical.ErrUnresolvedEffect, r.fields[0])
	default:
		return common("delete", call, r)
	}
}

func checkCall(run canonical.RunKey, call canonical.CallName) error {
	if err := run.Validate(); err != nil {
		return err
	}
	return call.Validate()
}
