package redistest_test

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/toolharness/harness/internal/redistest"
)

func TestServer_answers_and_is_the_process_it_started(t *testing.T) {
	t.Parallel()
	s := redistest.Server(t)
	if got := info(t, s.Client(), "server", "process_id"); got != itoa(int64(s.Pid())) {
		t.Errorf("process_id %s, want %d", got, s.Pid())
	}
	host, _, err := net.SplitHostPort(s.Addr())
	if err != nil || host != "127.0.0.1" {
		t.Errorf("address %s, want one on 127.0.0.1", s.Addr())
	}
}

func TestServer_defaults(t *testing.T) {
	t.Parallel()
	c := redistest.Server(t).Client()
	for key, want := range map[string]string{
		"save": "", "appendonly": "no", "protected-mode": "yes", "bind": "127.0.0.1",
	} {
		if got := config(t, c, key); got != want {
			t.Errorf("%s = %q, want %q", key, got, want)
		}
	}
}

func TestServer_arguments_win_over_defaults(t *testing.T) {
	t.Parallel()
	c := redistest.Server(t, "--maxmemory", "8mb", "--maxmemory-policy", "allkeys-lru", "--appendonly", "yes").Client()
	for key, want := range map[string]string{
		"maxmemory": "8388608", "maxmemory-policy": "allkeys-lru", "appendonly": "yes",
	} {
		if got := config(t, c, key); got != want {
			t.Errorf("%s = %q, want %q", key, got, want)
		}
	}
}

func TestServer_with_a_password_counts_as_up(t *testing.T) {
	t.Parallel()
	s := redistest.Server(t, "--requirepass", "only for this test")
	if err := s.Client().Ping(context.Background()).Err(); err == nil {
		t.Error("PING without the password was answered, want a refusal")
	}
	c := redis.NewClient(&redis.Options{Addr: s.Addr(), Password: "only for this test"})
	defer c.Close()
	if err := c.Ping(context.Background()).Err(); err != nil {
		t.Errorf("PING with the password: %v", err)
	}
}

func TestServer_ends_with_its_test_and_leaves_no_directory(t *testing.T) {
	t.Parallel()
	var addr, dir string
	t.Run("holder", func(t *testing.T) {
		s := redistest.Server(t)
		addr, dir = s.Addr(), config(t, s.Client(), "dir")
	})
	if addr == "" {
		return // the holder was skipped, loudly, for want of a server
	}
	if !refuses(addr) {
		t.Errorf("%s still answers after its test", addr)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("directory %s: %v, want it removed", dir, err)
	}
}

func TestServer_Restart_keeps_the_address_and_forgets_the_data(t *testing.T) {
	t.Parallel()
	s := redistest.Server(t)
	addr, pid := s.Addr(), s.Pid()
	set(t, s.Client(), "k", 0)
	s.Restart()
	if s.Addr() != addr || s.Pid() == pid {
		t.Errorf("address %s, process %d; before %s, %d: want the same address, another process", s.Addr(), s.Pid(), addr, pid)
	}
	if err := s.Client().Get(context.Background(), "k").Err(); !errors.Is(err, redis.Nil) {
		t.Errorf("GET after restart: %v, want redis.Nil", err)
	}
}

func TestServer_Restart_keeps_what_the_arguments_persist(t *testing.T) {
	t.Parallel()
	s := redistest.Server(t, "--appendonly", "yes", "--appendfsync", "always")
	set(t, s.Client(), "k", 0)
	s.Kill()
	s.Start()
	if got, err := s.Client().Get(context.Background(), "k").Result(); err != nil || got != "v" {
		t.Errorf("GET after a kill with appendfsync always = %q, %v, want \"v\"", got, err)
	}
}

func TestServer_Stop_refuses_connections(t *testing.T) {
	t.Parallel()
	s := redistest.Server(t)
	s.Stop()
	if !refuses(s.Addr()) || s.Pid() != 0 {
		t.Errorf("stopped server: process %d, refuses %v, want 0, true", s.Pid(), refuses(s.Addr()))
	}
	s.Start()
	set(t, s.Client(), "k", 0)
}

func TestServer_Pause_holds_the_answer_back(t *testing.T) {
	t.Parallel()
	s := redistest.Server(t)
	set(t, s.Client(), "k", 0) // a connection from before the pause
	s.Pause()
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if err := s.Client().Get(ctx, "k").Err(); !timedOut(err) {
		t.Errorf("GET while paused: %v, want a timeout", err)
	}
	s.Resume()
	if err := s.Client().Get(context.Background(), "k").Err(); err != nil {
		t.Errorf("GET after Resume: %v", err)
	}
}

func TestServer_that_is_paused_can_be_stopped(t *testing.T) {
	t.Parallel()
	s := redistest.Server(t)
	s.Pause()
	s.Stop()
	if !refuses(s.Addr()) {
		t.Errorf("%s still answers", s.Addr())
	}
}

func TestServer_many_at_once_do_not_mix(t *testing.T) {
	t.Parallel()
	seen := make(chan string, 6)
	t.Run("group", func(t *testing.T) {
		for i := range cap(seen) {
			t.Run(itoa(int64(i)), func(t *testing.T) {
				t.Parallel()
				s := redistest.Server(t)
				seen <- info(t, s.Client(), "server", "process_id")
			})
		}
	})
	close(seen)
	pids := map[string]bool{}
	for pid := range seen {
		if pids[pid] {
			t.Errorf("two tests talk to process %s", pid)
		}
		pids[pid] = true
	}
}

func info(t *testing.T, c *redis.Client, section, field string) string {
	t.Helper()
	text, err := c.Info(context.Background(), section).Result()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), field+":"); ok {
			return v
		}
	}
	t.Fatalf("INFO %s has no %s", section, field)
	return ""
}

func config(t *testing.T, c *redis.Client, key string) string {
	t.Helper()
	got, err := c.ConfigGet(context.Background(), key).Result()
	if err != nil {
		t.Fatal(err)
	}
	return got[key]
}
