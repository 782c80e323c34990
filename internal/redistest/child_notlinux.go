//go:build !linux

package redistest

import "os/exec"

// dieWithUs has no counterpart here: the process ends with its test's cleanup,
// which a killed test binary does not reach.
func dieWithUs(*exec.Cmd) {}
