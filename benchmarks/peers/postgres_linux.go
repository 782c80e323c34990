package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// errNoPostgres says what is missing.
var errNoPostgres = errors.New("NO initdb BELOW /usr/lib/postgresql NOR ON THE PATH: install Debian's postgresql")

// postgresBin is the folder of Debian's newest server, or that of initdb on the PATH.
func postgresBin() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil {
		return "", err
	}
	if path, err := exec.LookPath("initdb"); err == nil {
		found = append(found, path)
	}
	if len(found) == 0 {
		return "", errNoPostgres
	}
	slices.Sort(found)
	return filepath.Dir(found[len(found)-1]), nil
}

// startPostgres starts a server on loopback with a database of its own, as another
// user where this one is root, as whom it refuses to run.
func (b *bench) startPostgres(ctx context.Context, args ...string) (string, error) {
	bin, err := postgresBin()
	if err != nil {
		return "", err
	}
	dir, err := b.folder()
	if err != nil {
		return "", err
	}
	as, err := unprivileged(dir)
	if err != nil {
		return "", err
	}
	data := filepath.Join(dir, "data")
	init := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), "-D", data, "-U", "peers", "-A", "trust", "-E", "UTF8", "--no-instructions")
	init.Dir, init.SysProcAttr = dir, as
	if out, err := init.CombinedOutput(); err != nil {
		return "", fmt.Errorf("initdb: %w: %.300s", err, out)
	}
	port, err := freePort()
	if err != nil {
		return "", err
	}
	line := append([]string{"-D", data, "-h", "127.0.0.1", "-p", strconv.Itoa(port), "-k", dir}, args...)
	server := exec.Command(filepath.Join(bin, "postgres"), line...)
	server.Dir, server.SysProcAttr = dir, as
	if err := server.Start(); err != nil {
		return "", err
	}
	b.later(func() error {
		_ = server.Process.Signal(syscall.SIGINT) // its fast shutdown
		_ = server.Wait()                         // it was told to end; how is of no interest
		return nil
	})
	return fmt.Sprintf("postgres://peers@127.0.0.1:%d/postgres?sslmode=disable", port), awaitPort(ctx, port)
}

// unprivileged gives the folder to a user who is not root, where we are.
func unprivileged(dir string) (*syscall.SysProcAttr, error) {
	as := &syscall.SysProcAttr{Pdeathsig: syscall.SIGINT}
	if os.Getuid() != 0 {
		return as, nil
	}
	who, err := user.Lookup("postgres")
	if err != nil {
		if who, err = user.Lookup("nobody"); err != nil {
			return nil, err
		}
	}
	uid, first := strconv.Atoi(who.Uid)
	gid, second := strconv.Atoi(who.Gid)
	if err := errors.Join(first, second, os.Chown(dir, uid, gid)); err != nil {
		return nil, err
	}
	as.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return as, nil
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// awaitPort waits until somebody listens.
func awaitPort(ctx context.Context, port int) error {
	addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	for range 600 {
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
		if err == nil {
			return c.Close()
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		time.Sleep(50 * time.Millisecond)
	}
	return errors.New("postgres does not answer at " + strings.TrimPrefix(addr, "127.0.0.1"))
}
