package place

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/localstore"
	"github.com/toolharness/harness/redisstore"
)

// Kept is a store with what other processes left in it. Opening it makes nothing.
type Kept struct {
	Store canonical.Store
	close func() error
}

// OpenKept connects to a Redis, or a cluster or Sentinel group, under any address that redisstore takes, or opens the local
// store of a directory that must be there. An empty prefix is the one that demo and replay use in Redis. The error has a
// *redisstore.URLError, a *redisstore.OptionError, a *localstore.FileError or an *fs.PathError in its chain, is a
// [*NoStoreError], or is the server's. None repeats any part of the address.
func OpenKept(ctx context.Context, where Where, prefix string) (*Kept, error) {
	switch {
	case where.Redis != "" && where.Data != "":
		return nil, &WhereError{}
	case where.Data != "":
		return keptLocal(where.Data)
	}
	store, err := redisstore.Dial(ctx, where.Redis, &redisstore.Options{Prefix: prefix})
	if err != nil {
		return nil, fmt.Errorf("the given Redis cannot be used: %w", err)
	}
	return &Kept{Store: store, close: store.Close}, nil
}

// keptLocal looks first: opening makes a file where there is none.
func keptLocal(dir string) (*Kept, error) {
	_, err := os.Stat(fileIn(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &NoStoreError{}
	}
	if err != nil {
		return nil, fmt.Errorf("the given directory cannot be used: %w", err)
	}
	store, err := localstore.Open(fileIn(dir), nil)
	if err != nil {
		return nil, fmt.Errorf("the given directory cannot be used: %w", err)
	}
	return &Kept{Store: store, close: store.Close}, nil
}

// NoStoreError means that nothing was ever kept in a directory.
type NoStoreError struct{}

// Error says what is missing.
func (*NoStoreError) Error() string {
	return "no such store: there is no " + localstore.FileName + " in the given directory"
}

// Close ends the connections, or lets the file go, and leaves everything where it is.
func (k *Kept) Close() error { return k.close() }
