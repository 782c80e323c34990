//go:build !unix

package redistest

import "errors"

func (c *child) pause() error  { return errors.ErrUnsupported }
func (c *child) resume() error { return errors.ErrUnsupported }

// askToLeave has only one way here.
func (c *child) askToLeave() error { return c.cmd.Process.Kill() }
