//go:build unix

package workers

import "syscall"

// Stop freezes the worker, as a machine that is suspended does: its clocks go on.
func (w *Worker) Stop() error { return w.cmd.Process.Signal(syscall.SIGSTOP) }

// Continue lets a frozen worker go on.
func (w *Worker) Continue() error { return w.cmd.Process.Signal(syscall.SIGCONT) }
