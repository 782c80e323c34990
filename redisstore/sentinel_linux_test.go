package redisstore_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/toolharness/harness/internal/redistest"
)

// sentinel starts a Redis Sentinel that watches one master. It needs a
// configuration file that it may write, so redistest cannot start it.
func sentinel(t *testing.T, master *redistest.Process) string {
	t.Helper()
	port, dir := freePort(t), t.TempDir()
	host, masterPort, _ := strings.Cut(master.Addr(), ":")
	conf := filepath.Join(dir, "sentinel.conf")
	text := fmt.Sprintf("port %s\nbind 127.0.0.1\ndir %s\nsentinel monitor mymaster %s %s 1\nsentinel auth-pass mymaster pass\n"+
		"user default off\nuser watcher on >seen allchannels +@all\n", port, dir, host, masterPort)
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("redis-server", conf, "--sentinel")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started, ended := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread() // the signal comes when the thread that forked ends
		defer close(ended)
		err := cmd.Start()
		if started <- err; err == nil {
			_ = cmd.Wait() // it is killed below, which is no news
		}
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Error(err)
		}
		<-ended
	})
	addr := "127.0.0.1:" + port
	c := redis.NewSentinelClient(&redis.Options{Addr: addr, Username: "watcher", Password: "seen"})
	t.Cleanup(func() { _ = c.Close() })
	for limit := time.Now().Add(15 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if _, err := c.GetMasterAddrByName(ctx, "mymaster").Result(); err == nil {
			return addr
		} else if time.Now().After(limit) {
			t.Fatalf("no answer from the sentinel: %v", err)
		}
	}
}

func TestDial_sentinel(t *testing.T) {
	t.Parallel()
	master := redistest.Server(t)
	addr := sentinel(t, master)
	if err := master.Client().ConfigSet(ctx, "requirepass", "pass").Err(); err != nil {
		t.Fatal(err)
	}
	s := dial(t, "redis+sentinel://:pass@"+addr+"/mymaster?db=1&sentinel_username=watcher&sentinel_password=seen", nil)
	works(t, s, "r")
	report, err := s.Health(ctx)
	if err != nil || !report.OK() || report.Cluster || report.Masters != 1 {
		t.Errorf("health = %+v, %v", report, err)
	}
}
