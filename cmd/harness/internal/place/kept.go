package place

import (
	"context"
	"fmt"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/redisstore"
)

// Kept is a store with what other processes left in it. Opening it makes nothing.
type Kept struct {
	Store canonical.Store
	close func() error
}

// OpenKept connects to a Redis, or a cluster or Sentinel group, under any address that redisstore takes. An empty prefix
// is the one that demo and replay use. The error has a *redisstore.URLError or *redisstore.OptionError in its chain, or is
// the server's. None repeats any part of the address.
func OpenKept(ctx context.Context, address, prefix string) (*Kept, error) {
	store, err := redisstore.Dial(ctx, address, &redisstore.Options{Prefix: prefix})
	if err != nil {
		return nil, fmt.Errorf("the given Redis cannot be used: %w", err)
	}
	return &Kept{Store: store, close: store.Close}, nil
}

// Close ends the connections and leaves everything where it is.
func (k *Kept) Close() error { return k.close() }
