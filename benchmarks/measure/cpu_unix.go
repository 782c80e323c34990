//go:build unix

package measure

import (
	"syscall"
	"time"
)

// processTime is the processor time that this process has used, user and system.
func processTime() time.Duration {
	var use syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &use) != nil {
		return 0
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
