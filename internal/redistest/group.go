package redistest

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Group is a primary and its replicas, which do not know of each other: nobody
// promotes one unless a Sentinel watches, or the test says so.
type Group struct {
	Primary  *Process
	Replicas []*Process
}

// MasterName is what a Sentinel calls the group that it watches.
const MasterName = "harness"

// Replicated starts a primary with so many replicas, and returns when each of
// them follows it. The arguments are for all of them. A full synchronization
// begins at once instead of five seconds later, as it would by default.
//
// Without a redis-server on the PATH the test is skipped, or fails where
// HARNESS_REQUIRE_REDIS asks for one.
func Replicated(t testing.TB, replicas int, args ...string) *Group {
	t.Helper()
	args = append([]string{"--repl-diskless-sync-delay", "0"}, args...)
	g := &Group{Primary: Server(t, args...)}
	port := strconv.Itoa(g.Primary.spec.port)
	for range replicas {
		g.Replicas = append(g.Replicas, Server(t, append(args, "--replicaof", "127.0.0.1 "+port)...))
	}
	g.Synchronize(t)
	return g
}

// Synchronize waits until every replica that answers follows the primary, which
// one that was stopped or paused does only some time after it is back.
func (g *Group) Synchronize(t testing.TB) {
	t.Helper()
	await(t, startLimit, func() error {
		want := 0
		for _, r := range g.Replicas {
			if !r.answers() {
				continue
			}
			want++
			if err := follows(r); err != nil {
				return err
			}
		}
		return streams(g.Primary, want)
	})
}

// Sentinel starts a Redis Sentinel of its own that watches the group under the
// name MasterName and promotes a replica alone. It counts a primary as down after
// half a second. The lines are added to its configuration, such as
//
//	sentinel auth-pass harness <password>
//
// It returns when the Sentinel knows the primary and all replicas.
func (g *Group) Sentinel(t testing.TB, lines ...string) *Process {
	t.Helper()
	conf := []string{
		fmt.Sprintf("sentinel monitor %s 127.0.0.1 %d 1", MasterName, g.Primary.spec.port),
		"sentinel down-after-milliseconds " + MasterName + " 500",
		"sentinel failover-timeout " + MasterName + " 3000",
	}
	conf = append(append(conf, lines...), "")
	p := &Process{t: t, spec: spec{binary: requireBinary(t), sentinel: strings.Join(conf, "\n")}}
	p.hold()
	await(t, startLimit, func() error { return p.spec.knows(len(g.Replicas)) })
	return p
}

// knows looks into the Sentinel's file, since its users may have passwords.
func (s *spec) knows(replicas int) error {
	text, err := s.readSentinelFile()
	if found := strings.Count(text, "sentinel known-replica "); err == nil && found < replicas {
		err = fmt.Errorf("the sentinel knows %d replicas, not %d", found, replicas)
	}
	return err
}

// follows reports whether the server is a replica with everything its primary has
// had so far.
func follows(p *Process) error {
	text, err := infoOf(p, "replication")
	if err == nil && !strings.Contains(text, "master_link_status:up") {
		err = fmt.Errorf("%s does not follow yet:\n%s", p.Addr(), text)
	}
	return err
}

// streams reports whether so many replicas get what the primary writes now. One that
// counts as online may get nothing for another second, until it has said that it
// loaded what it was sent. What is written for this is gone again afterwards.
func streams(p *Process, replicas int) error {
	if replicas == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	conn := p.client.Conn() // WAIT asks for what its own connection wrote
	defer conn.Close()
	var err error
	for i := range 64 { // a primary of a cluster takes keys of its slots alone
		key := "redistest:" + strconv.Itoa(i)
		if err = conn.Set(ctx, key, "", time.Minute).Err(); err == nil {
			err = conn.Del(ctx, key).Err()
			break
		}
	}
	if err != nil {
		return err
	}
	n, err := conn.Wait(ctx, replicas, 100*time.Millisecond).Result()
	if err == nil && int(n) < replicas {
		err = fmt.Errorf("%d replicas follow %s, not %d", n, p.Addr(), replicas)
	}
	return err
}

func infoOf(p *Process, section string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return p.client.Info(ctx, section).Result()
}

// await asks again until there is no error, and fails the test with the last one
// when the limit is over.
func await(t testing.TB, limit time.Duration, ask func() error) {
	t.Helper()
	if err := poll(limit, ask); err != nil {
		t.Fatalf("redistest: %v", err)
	}
}

func poll(limit time.Duration, ask func() error) error {
	for deadline := time.Now().Add(limit); ; time.Sleep(5 * time.Millisecond) {
		err := ask()
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("not within %v: %w", limit, err)
		}
	}
}
