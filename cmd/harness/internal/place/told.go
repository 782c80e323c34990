package place

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/toolharness/harness/canonical"
)

// toldPage is how many records are asked for at once.
const toldPage = 1000

// told lists what a store says that it has of the runs, in the form in which keys of a server are listed.
func (p *Place) told(ctx context.Context, runs []canonical.RunKey) ([]Key, error) {
	var keys []Key
	for _, run := range runs {
		state, err := p.Store.Inspect(ctx, run)
		if errors.Is(err, canonical.ErrRunMissing) {
			continue
		}
		if err != nil {
			return nil, err
		}
		keys = append(keys, Key{Name: PrefixOf(run) + "run", TTL: left(state.Expires, state.Now)})
		records, err := p.records(ctx, run, state.Now)
		if err != nil {
			return nil, err
		}
		keys = append(keys, records...)
	}
	slices.SortFunc(keys, func(a, b Key) int { return cmp.Compare(a.Name, b.Name) })
	// A run that is named twice was asked about at two moments.
	return slices.CompactFunc(keys, func(a, b Key) bool { return a.Name == b.Name }), nil
}

// records are those of one run that are there.
func (p *Place) records(ctx context.Context, run canonical.RunKey, now time.Time) ([]Key, error) {
	var keys []Key
	for after := int64(0); ; {
		page, err := p.Store.Order(ctx, run, after, toldPage)
		if err != nil || len(page) == 0 {
			return keys, err
		}
		names := make([]canonical.CallName, len(page))
		for i, n := range page {
			names[i], after = n.Call, n.Seq
		}
		heads, err := p.Store.Heads(ctx, run, names)
		if err != nil {
			return nil, err
		}
		for i, head := range heads {
			if head.Exists() {
				keys = append(keys, Key{Name: RecordOf(run, names[i]), TTL: left(head.Expires, now)})
			}
		}
	}
}

func left(expires, now time.Time) int64 {
	if expires.IsZero() {
		return -1 // as a server tells of a key without an expiry
	}
	return expires.Sub(now).Milliseconds()
}
