package localstore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/localstore"
)

func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, localstore.FileName)

	store, err := localstore.Open(path, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	state, err := store.OpenRun(context.Background(), opening("run-1"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(state.Phase)

	_, err = localstore.Open(path, nil)
	fmt.Println(errors.Is(err, localstore.ErrLocked))
	fmt.Println(store.Close())

	store, err = localstore.Open(path, nil) // another process, later
	if err != nil {
		fmt.Println(err)
		return
	}
	runs, err := store.ListRuns(context.Background(), runKey("").Scope, canonical.ListedRun{}, 10)
	fmt.Println(len(runs), err)
	fmt.Println(store.Close())
	// Output:
	// open
	// true
	// <nil>
	// 1 <nil>
	// <nil>
}
