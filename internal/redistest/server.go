package redistest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	startLimit = 15 * time.Second // for a redis-server to answer, on a machine that is busy with other tests
	stopLimit  = 10 * time.Second // for a redis-server to leave after SIGTERM
	startTries = 5                // a free port may be taken by somebody else before the server binds it
)

// Process is a redis-server of one test. Its methods may be called from several
// goroutines; each fails the test when it cannot do what it says.
type Process struct {
	t    testing.TB // nil where no test holds this server alone
	spec spec

	mu     sync.Mutex
	child  *child
	paused bool
	client *redis.Client
}

// Server starts a redis-server for one test and ends it with the test. The
// arguments are appended to its command line and win over what stands there:
// no snapshots, no append-only file, 127.0.0.1, protected mode.
//
//	redistest.Server(t, "--maxmemory", "8mb", "--maxmemory-policy", "noeviction")
//
// Without a redis-server on the PATH the test is skipped, or fails where
// HARNESS_REQUIRE_REDIS asks for one.
func Server(t testing.TB, args ...string) *Process {
	t.Helper()
	p := &Process{t: t, spec: spec{binary: requireBinary(t), args: args}}
	p.hold()
	return p
}

// hold starts the server for its test, and ends it with the test.
func (p *Process) hold() {
	p.t.Helper()
	p.t.Cleanup(p.end)
	if err := p.launch(); err != nil {
		p.t.Fatalf("redistest: %v", err)
	}
}

// launch starts the server on a port that is free. What it leaves behind after
// an error, shut removes.
func (p *Process) launch() error {
	if err := p.spec.makeDir(); err != nil {
		return err
	}
	child, err := p.spec.startAnywhere()
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.child = child
	p.client = newClient(&redis.Options{Addr: p.Addr()})
	return nil
}

// Addr is host and port. They stay the same over Stop, Start and Restart.
func (p *Process) Addr() string { return p.spec.addr() }

// URL is the address in the form redis.ParseURL takes.
func (p *Process) URL() string { return "redis://" + p.Addr() + "/0" }

// Client is a client of this server with retries off, closed with the test. It
// connects anew after Restart.
func (p *Process) Client() *redis.Client { return p.client }

// Pid is the process that serves now, or 0 when it is stopped.
func (p *Process) Pid() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.child == nil {
		return 0
	}
	return p.child.pid()
}

// Stop ends the server as an operator would, with SIGTERM, and waits until it
// is gone. Where the arguments asked for persistence, it saves first.
func (p *Process) Stop() {
	p.t.Helper()
	p.leave("Stop", (*child).terminate)
}

// Kill ends the server as a power cut would, with SIGKILL, and waits until it
// is gone.
func (p *Process) Kill() {
	p.t.Helper()
	p.leave("Kill", (*child).kill)
}

func (p *Process) leave(verb string, how func(*child) error) {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.child == nil {
		p.t.Fatalf("redistest: %s: the server is stopped already", verb)
	}
	if err := how(p.child); err != nil {
		p.t.Fatalf("redistest: %s: %v", verb, err)
	}
	p.child, p.paused = nil, false
}

// answers reports whether the server runs and is not paused.
func (p *Process) answers() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.child != nil && !p.paused
}

// Start brings a stopped server back on the same port, directory and
// arguments, and waits until it answers. What it still knows is what the
// arguments made it keep on disk; by default nothing.
func (p *Process) Start() {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.child != nil {
		p.t.Fatalf("redistest: Start: the server runs already")
	}
	child, err := p.spec.start()
	if err != nil {
		p.t.Fatalf("redistest: Start: %v", err)
	}
	p.child = child
}

// Restart is Stop, then Start.
func (p *Process) Restart() {
	p.t.Helper()
	p.Stop()
	p.Start()
}

// Pause freezes the server with SIGSTOP: connections stay open and get no
// answer, which is what a hanging machine looks like from outside.
func (p *Process) Pause() {
	p.t.Helper()
	p.freeze("Pause", true, (*child).pause)
}

// Resume lets a paused server go on; what was sent to it meanwhile is answered.
func (p *Process) Resume() {
	p.t.Helper()
	p.freeze("Resume", false, (*child).resume)
}

func (p *Process) freeze(verb string, paused bool, do func(*child) error) {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.child == nil {
		p.t.Fatalf("redistest: %s: the server is stopped", verb)
	}
	if err := do(p.child); err != nil {
		p.t.Fatalf("redistest: %s: %v", verb, err)
	}
	p.paused = paused
}

// end is the cleanup of a test.
func (p *Process) end() {
	if p.t.Failed() {
		p.t.Logf("redistest: log of redis-server at %s:\n%s", p.Addr(), p.spec.log())
	}
	if err := p.shut(); err != nil {
		p.t.Errorf("redistest: ending redis-server: %v", err)
	}
}

// shut ends the server with SIGKILL, because a clean shutdown costs a tenth of a
// second and nothing of this server is wanted any more.
func (p *Process) shut() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.client != nil {
		_ = p.client.Close()
	}
	var err error
	if p.child != nil {
		err = p.child.kill()
		p.child = nil
	}
	return errors.Join(err, os.RemoveAll(p.spec.dir))
}

// spec is everything needed to start one server again in the same place.
type spec struct {
	binary    string
	args      []string
	clustered bool   // has a bus beside its port
	sentinel  string // what a Sentinel finds in its file at its first start, else empty
	dir       string
	port      int
	bus       int // port of the cluster's bus, 0 without
}

// makeDir does not use t.TempDir: that path carries the test's name, and the
// path of a Unix socket may be no longer than about a hundred bytes.
func (s *spec) makeDir() (err error) {
	if s.dir, err = os.MkdirTemp("", "redis"); err == nil && s.sentinel != "" {
		err = os.WriteFile(s.sentinelFile(), []byte(s.sentinel), 0o600)
	}
	return err
}

func (s *spec) addr() string    { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }
func (s *spec) socket() string  { return filepath.Join(s.dir, "sock") }
func (s *spec) logFile() string { return filepath.Join(s.dir, "redis.log") }

// sentinelFile is a Sentinel's own: it writes what it learns into it.
func (s *spec) sentinelFile() string { return filepath.Join(s.dir, "sentinel.conf") }

func (s *spec) log() string {
	text, err := os.ReadFile(s.logFile())
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func (s *spec) readSentinelFile() (string, error) {
	text, err := os.ReadFile(s.sentinelFile())
	return string(text), err
}

// startAnywhere finds a port and starts on it, more than once if it must:
// between the question and the bind another process may take the port.
func (s *spec) startAnywhere() (*child, error) {
	var last error
	for range startTries {
		if err := s.takePorts(); err != nil {
			return nil, err
		}
		child, err := s.start()
		if err == nil {
			return child, nil
		}
		last = err
		if !errors.Is(err, errExited) {
			break
		}
	}
	return nil, last
}

func (s *spec) takePorts() (err error) {
	if s.port, err = freePort(); err == nil && s.clustered {
		s.bus, err = freePort()
	}
	return err
}

// start runs the server and waits for its first answer. It asks on a Unix
// socket in the private directory: whoever answers there is our own process,
// and redis-server answers nobody before it has bound its port.
func (s *spec) start() (*child, error) {
	out, err := os.OpenFile(s.logFile(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	cmd := exec.Command(s.binary, s.commandLine()...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, out, out
	child, err := startChild(cmd)
	if err != nil {
		return nil, err
	}
	if err := child.awaitAnswer(s.socket(), startLimit); err != nil {
		_ = child.kill()
		return nil, fmt.Errorf("%w; its log:\n%s", err, s.log())
	}
	return child, nil
}

func (s *spec) commandLine() []string {
	line := []string{
		"--port", strconv.Itoa(s.port), "--bind", "127.0.0.1", "--protected-mode", "yes",
		"--unixsocket", s.socket(), "--unixsocketperm", "700", "--dir", s.dir, "--daemonize", "no",
	}
	if s.sentinel != "" {
		return append(append([]string{s.sentinelFile(), "--sentinel"}, line...), s.args...)
	}
	line = append(line, "--save", "", "--appendonly", "no")
	if s.clustered {
		line = append(line, "--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(s.bus))
	}
	return append(line, s.args...)
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
