//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package localstore

import (
	"errors"
	"os"
	"syscall"
)

// abandon gives up a file whose database cannot be closed. Its lock must be taken
// off: the database's map of the file keeps it beyond the closing.
func abandon(f *os.File) error {
	return errors.Join(syscall.Flock(int(f.Fd()), syscall.LOCK_UN), f.Close())
}
