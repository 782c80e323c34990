package redistest

import (
	"os/exec"
	"syscall"
)

// dieWithUs has the kernel kill the process when the thread that forked it
// ends, so that a test binary which is killed or panics leaves nothing behind.
func dieWithUs(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
