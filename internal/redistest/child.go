package redistest

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// errExited says that the server ended on its own, most often because its port
// was taken.
var errExited = errors.New("redis-server exited")

// child is one running process. It is signalled through its own handle only,
// never by name or by a number read from somewhere.
type child struct {
	cmd  *exec.Cmd
	gone chan struct{} // closed when the process has been reaped
	err  error         // of Wait; readable once gone is closed
}

// startChild starts cmd from a thread that stays alive as long as the process:
// the kernel's death signal (see dieWithUs) belongs to the thread that forked,
// and the Go runtime may end a thread long before the test binary ends.
func startChild(cmd *exec.Cmd) (*child, error) {
	dieWithUs(cmd)
	c := &child{cmd: cmd, gone: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		c.err = cmd.Wait()
		close(c.gone)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return c, nil
}

func (c *child) pid() int { return c.cmd.Process.Pid }

// awaitAnswer asks PING until an answer comes, the process ends, or the limit
// is over.
func (c *child) awaitAnswer(socket string, limit time.Duration) error {
	deadline := time.Now().Add(limit)
	for {
		err := ping(socket)
		if err == nil {
			return nil
		}
		select {
		case <-c.gone:
			return fmt.Errorf("%w (%v)", errExited, c.err)
		case <-time.After(2 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("no answer from redis-server in %v: %w", limit, err)
		}
	}
}

// ping is satisfied by any answer but LOADING: a server that wants a password,
// or that refuses for another reason, is up.
func ping(socket string) error {
	conn, err := net.DialTimeout("unix", socket, time.Second)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return err
	}
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		return err
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return err
	}
	if strings.HasPrefix(line, "-LOADING") {
		return errors.New(strings.TrimSpace(line))
	}
	return nil
}

// kill ends the process at once and returns when it is reaped. A process that
// is gone already is no error.
func (c *child) kill() error {
	if err := c.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return c.awaitEnd(stopLimit)
}

// terminate asks the process to leave; one that does not is killed and
// reported.
func (c *child) terminate() error {
	if err := c.askToLeave(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	if err := c.awaitEnd(stopLimit); err != nil {
		return errors.Join(err, c.kill())
	}
	return nil
}

func (c *child) awaitEnd(limit time.Duration) error {
	select {
	case <-c.gone:
		return nil
	case <-time.After(limit):
		return fmt.Errorf("process %d still runs after %v", c.pid(), limit)
	}
}
