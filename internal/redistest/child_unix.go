//go:build unix

package redistest

import (
	"errors"
	"syscall"
)

func (c *child) pause() error  { return c.cmd.Process.Signal(syscall.SIGSTOP) }
func (c *child) resume() error { return c.cmd.Process.Signal(syscall.SIGCONT) }

// askToLeave wakes the process too, because a paused one would not see the
// request before somebody resumed it.
func (c *child) askToLeave() error {
	return errors.Join(c.cmd.Process.Signal(syscall.SIGTERM), c.resume())
}
