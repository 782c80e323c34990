//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package localstore

import "os"

// abandon gives up a file whose database cannot be closed. Other processes may be
// told that it is held for as long as this one runs.
func abandon(f *os.File) error { return f.Close() }
