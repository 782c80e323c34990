package redistest_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/toolharness/harness/internal/redistest"
)

// roleVariable makes TestRole do something; tests run this binary again with it.
const roleVariable = "REDISTEST_ROLE"

// TestRole is what other tests run in a process of their own, to see how this
// package behaves without redis-server and when its process is killed.
func TestRole(t *testing.T) {
	switch role := os.Getenv(roleVariable); role {
	case "":
	case "server":
		redistest.Server(t)
	case "shared":
		redistest.Shared(t)
	case "cluster":
		redistest.Cluster(t, redistest.ClusterOptions{})
	case "shared cluster":
		redistest.SharedCluster(t)
	case "replicated":
		redistest.Replicated(t, 1)
	case "hang":
		own, shared := redistest.Server(t), redistest.Shared(t)
		group, spread := redistest.Replicated(t, 1), redistest.SharedCluster(t)
		watch := group.Sentinel(t)
		fmt.Println("addresses", own.Addr(), shared.Addr(), group.Replicas[0].Addr(), watch.Addr(), strings.Join(spread.Addrs(), " "))
		time.Sleep(time.Minute)
	case "fail":
		redistest.Server(t)
		t.Error("failed on purpose")
	case "double":
		s := redistest.Server(t)
		s.Stop()
		s.Stop()
	case "argument":
		redistest.Server(t, "--no-such-setting", "1")
	case "backwards":
		redistest.Mini(t).Advance(-1)
	default:
		t.Fatalf("unknown role %q", role)
	}
}

func TestMissing_server_is_a_loud_skip_or_a_failure(t *testing.T) {
	t.Parallel()
	for _, role := range []string{"server", "shared", "cluster", "shared cluster", "replicated"} {
		for _, c := range []struct{ require, verdict, text string }{
			{"", "--- SKIP: TestRole", "NO redis-server ON THE PATH"},
			{"0", "--- SKIP: TestRole", "NO redis-server ON THE PATH"},
			{"1", "--- FAIL: TestRole", redistest.RequireVariable + "=1"},
		} {
			t.Run(role+"/require="+c.require, func(t *testing.T) {
				t.Parallel()
				out, err := runRole(role, "PATH="+t.TempDir(), redistest.RequireVariable+"="+c.require)
				if !strings.Contains(out, c.verdict) || !strings.Contains(out, c.text) {
					t.Errorf("output without %q or %q:\n%s", c.verdict, c.text, out)
				}
				if failed := err != nil; failed != (c.require == "1") {
					t.Errorf("exit %v with require=%q", err, c.require)
				}
			})
		}
	}
}

func TestMistakes_fail_the_test_that_makes_them(t *testing.T) {
	t.Parallel()
	redistest.Server(t) // skipped, or failed, where the roles below would be
	for role, want := range map[string]string{
		"double":    "stopped already",
		"argument":  "Bad directive",
		"backwards": "time does not run backwards",
		"fail":      "log of redis-server",
	} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			out, err := runRole(role)
			if err == nil || !strings.Contains(out, want) {
				t.Errorf("exit %v, want a failure with %q in:\n%s", err, want, out)
			}
		})
	}
}

// A test binary that is killed runs no cleanup. Only Linux has a promise here.
func TestKilled_binary_leaves_no_server_behind(t *testing.T) {
	t.Parallel()
	redistest.Server(t)
	if runtime.GOOS != "linux" {
		t.Log("not promised on " + runtime.GOOS)
		return
	}
	cmd := roleCommand("hang", "TMPDIR="+t.TempDir()) // its directories outlive it
	cmd.Stdout = nil
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	addresses := readAddresses(bufio.NewScanner(pipe))
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if len(addresses) != 10 {
		t.Fatalf("addresses %q, want ten", addresses)
	}
	for _, addr := range addresses {
		if !eventually(func() bool { return refuses(addr) }) {
			t.Errorf("%s still answers after its test binary was killed", addr)
		}
	}
}

func readAddresses(lines *bufio.Scanner) []string {
	for lines.Scan() {
		if rest, ok := strings.CutPrefix(lines.Text(), "addresses "); ok {
			return strings.Fields(rest)
		}
	}
	return nil
}

func roleCommand(role string, env ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], "-test.run=^TestRole$", "-test.v")
	cmd.Env = append(os.Environ(), append(env, roleVariable+"="+role)...)
	return cmd
}

func runRole(role string, env ...string) (string, error) {
	out, err := roleCommand(role, env...).CombinedOutput()
	return string(out), err
}

func eventually(ok func() bool) bool {
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if ok() {
			return true
		}
		if time.Now().After(deadline) {
			return false
		}
	}
}

func refuses(addr string) bool {
	conn, err := net.DialTimeout("tcp", addr, time.Second)
	if err == nil {
		_ = conn.Close()
	}
	return err != nil
}

func timedOut(err error) bool {
	var timeout net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout()
}

func set(t *testing.T, c *redis.Client, key string, life time.Duration) {
	t.Helper()
	if err := c.Set(context.Background(), key, "v", life).Err(); err != nil {
		t.Fatal(err)
	}
}

func serverTime(t *testing.T, c *redis.Client) time.Time {
	t.Helper()
	now, err := c.Time(context.Background()).Result()
	if err != nil {
		t.Fatal(err)
	}
	return now
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
