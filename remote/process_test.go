package remote_test

import (
	"bufio"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/redisstore"
	"github.com/toolharness/harness/remote"
	"github.com/toolharness/harness/remote/httptransport"
)

// Children are this test binary again. They are told by the environment what to be.
const (
	childRole  = "HARNESS_REMOTE_CHILD" // server, client
	childStore = "HARNESS_REMOTE_STORE" // URL
	childFiles = "HARNESS_REMOTE_FILES" // folder of the entries that tools made, and of the client's checkpoint
	childDie   = "HARNESS_REMOTE_DIE"   // before, after: at which moment of a call of tool "deadly" the server dies
	childPeer  = "HARNESS_REMOTE_PEER"  // URL of the server
)

const bearer = "token-of-two-processes"

func child(role string) int {
	run := map[string]func() error{"server": serverChild, "client": clientChild}[role]
	if run == nil {
		return 2
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// entry notes in a file that a body was entered, so that it can be counted after
// the process has died.
func entry(tool string, body func(context.Context, boundary.Input, io.Writer) error) boundary.Executor {
	return boundary.ExecutorFunc(func(ctx context.Context, in boundary.Input, w io.Writer) error {
		if tool == "deadly" && os.Getenv(childDie) == "before" {
			os.Exit(3)
		}
		f, err := os.OpenFile(filepath.Join(os.Getenv(childFiles), "entered-"+tool), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		if _, err := f.WriteString("x"); err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
		if tool == "deadly" && os.Getenv(childDie) == "after" {
			os.Exit(3)
		}
		return body(ctx, in, w)
	})
}

func processTools() []boundary.Tool {
	tool := func(name string, effect canonical.Effect, text string) boundary.Tool {
		t := boundary.Tool{Name: name, Effect: effect, Executor: entry(name, says(text)), Timeout: 10 * time.Second}
		if name == "deadly" {
			t.Timeout = 200 * time.Millisecond // it dies, and is overdue so much earlier
		}
		return t
	}
	return []boundary.Tool{
		tool("lookup", canonical.EffectRead, `{"found":1}`), tool("decline", canonical.EffectWrite, `{"success":false}`),
		tool("pay", canonical.EffectWrite, `{"paid":true}`), tool("deadly", canonical.EffectWrite, `{"done":true}`),
	}
}

func processServer(store canonical.Store) (*remote.Server, error) {
	return remote.NewServer(remote.ServerConfig{
		PackageID: "two", Tools: processTools(), Authorize: allowed,
		Boundary: boundary.Config{Store: store, Authorizer: boundary.AllowAll{}, Effects: boundary.EffectPolicy{Write: true}},
	})
}

// serverChild serves until it is killed, or its standard input ends.
func serverChild() error {
	ctx := context.Background()
	store, err := redisstore.Dial(ctx, os.Getenv(childStore), &redisstore.Options{Prefix: "serving:"})
	if err != nil {
		return err
	}
	server, err := processServer(store)
	if err != nil {
		return err
	}
	h, err := httptransport.NewHandler(httptransport.HandlerConfig{Handler: server, Package: server.Package(),
		Identify: httptransport.Bearer(func(_ context.Context, token string) (remote.Caller, error) {
			if subtle.ConstantTimeCompare([]byte(token), []byte(bearer)) != 1 {
				return remote.Caller{}, errors.New("unknown token")
			}
			return someCaller, nil
		})})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("http://" + l.Addr().String())
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); os.Exit(0) }()
	return httptransport.NewServer(h).Serve(l)
}

// process is a child.
type process struct {
	cmd   *exec.Cmd
	first string // of its output
}

func start(t *testing.T, role string, env ...string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^$")
	cmd.Env = append(os.Environ(), append(env, childRole+"="+role)...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: cmd}
	t.Cleanup(func() { _ = in.Close(); p.kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the %s said nothing: %v", role, err)
	}
	p.first = strings.TrimSpace(line)
	return p
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// pair is a server in a process of its own and a session here, over HTTP.
type pair struct {
	t        *testing.T
	at       place
	files    string
	server   *process
	wire     *losing
	client   *httptransport.Client
	boundary *boundary.ToolBoundary
	session  *remote.Session
	set      *boundary.Toolset
	run      *boundary.Run
	pack     []byte
}

// losing is a proxy between the two: it loses the next answers, after the server has
// made them, or holds requests back.
type losing struct {
	target string
	lose   int
	server *http.Server
	url    string
	sent   int // executes that reached the server
}

func newLosing(t *testing.T, target string) *losing {
	t.Helper()
	l := &losing{target: target}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.url = "http://" + listener.Addr().String()
	l.server = &http.Server{Handler: l, ReadHeaderTimeout: time.Minute}
	go func() { _ = l.server.Serve(listener) }()
	t.Cleanup(func() { _ = l.server.Close() })
	return l
}

// ServeHTTP passes one request on.
func (l *losing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	out, err := http.NewRequest(r.Method, l.target+r.URL.Path, r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	out.Header, out.ContentLength = r.Header.Clone(), r.ContentLength
	execute := strings.HasSuffix(r.URL.Path, "/execute")
	if execute {
		l.sent++
	}
	conn := &http.Transport{DisableKeepAlives: true}
	defer conn.CloseIdleConnections()
	resp, err := conn.RoundTrip(out)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer func() { _ = resp.Body.Close() }()
	if execute && l.lose > 0 {
		l.lose--
		_, _ = io.Copy(io.Discard, resp.Body)
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", resp.Header.Get("Content-Type"))
	w.WriteHeader(resp.StatusCode)
	_, _ = io.Copy(w, resp.Body)
}

func newPair(t *testing.T, at func(*testing.T) place, die string) *pair {
	t.Helper()
	p := &pair{t: t, at: at(t), files: t.TempDir()}
	p.serve(die)
	var err error
	p.boundary, err = boundary.New(boundary.Config{
		Store: p.at.store, Authorizer: boundary.AllowAll{}, Effects: boundary.EffectPolicy{Write: true}, Now: p.at.now, Codes: remote.OutcomeCodes(),
		Limits: canonical.Limits{ToolTimeout: 20 * time.Second, ProjectorTimeout: time.Second, ClosingTimeout: 2 * time.Second},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.boundary.Shutdown(context.Background()) })
	p.connect(nil)
	if p.run, err = p.boundary.OpenRun(t.Context(), boundary.RunSpec{Scope: scope}); err != nil {
		t.Fatal(err)
	}
	return p
}

// serve starts the server, or starts it again.
func (p *pair) serve(die string) {
	p.t.Helper()
	if p.server != nil {
		p.server.kill()
	}
	p.server = start(p.t, "server", childStore+"="+p.at.url, childFiles+"="+p.files, childDie+"="+die)
	if p.wire == nil {
		p.wire = newLosing(p.t, p.server.first)
	}
	p.wire.target = p.server.first
}

func httpClient(url string) (*httptransport.Client, error) {
	return httptransport.NewClient(httptransport.ClientConfig{
		URL: url + "/outcomes", AllowPlaintext: true, Token: func(context.Context) (string, error) { return bearer, nil },
	})
}

func (p *pair) connect(resume []byte) {
	p.t.Helper()
	var err error
	if p.client, err = httpClient(p.wire.url); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(p.client.Close)
	if p.pack == nil {
		if p.pack, err = p.client.Package(p.t.Context()); err != nil {
			p.t.Fatal(err)
		}
	}
	p.session, err = remote.NewSession(p.t.Context(), remote.SessionConfig{
		Transport: p.client, Boundary: p.boundary, Store: p.at.store, Scope: scope, Package: p.pack, Projector: echoed{},
		Resume: resume, SweepGrace: time.Millisecond,
	})
	if err != nil {
		p.t.Fatal(err)
	}
	tools, err := p.session.Tools(p.boundary)
	if err != nil {
		p.t.Fatal(err)
	}
	if p.set, err = boundary.NewToolset(p.boundary, tools...); err != nil {
		p.t.Fatal(err)
	}
}

func (p *pair) call(id, tool string) boundary.Result {
	return p.session.Dispatch(p.t.Context(), p.set, p.run, boundary.Call{ID: canonical.ToolCallID(id), Name: tool, Arguments: []byte(`{}`)})[0]
}

func (p *pair) reconcile(id string) (remote.Reconciled, error) {
	return p.session.Reconcile(p.t.Context(), p.run.ID(), name(id))
}

// entered is how often a body was entered, in all processes.
func (p *pair) entered(tool string) int {
	text, err := os.ReadFile(filepath.Join(p.files, "entered-"+tool))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		p.t.Fatal(err)
	}
	return len(text)
}

func TestR47_S127_two_processes(t *testing.T) {
	onStores(t, func(t *testing.T, at func(*testing.T) place) {
		p := newPair(t, at, "")
		ready(t, p.call("c1", "lookup"), `"{\"found\":1}"`)
		ready(t, p.call("c2", "decline"), `"{\"success\":false}"`)
		p.wire.lose = 1
		failed(t, p.call("c3", "pay"), lifecycle.OutcomeUnknown, boundary.Unknown)
		failed(t, p.call("c4", "lookup"), lifecycle.UnresolvedEffect, boundary.NotStarted)
		done, err := p.reconcile("c3")
		if err != nil || done.Text != `"{\"paid\":true}"` || !done.Lifted {
			t.Errorf("reconciled: %v, %v", done, err)
		}
		ready(t, p.call("c5", "lookup"), `"{\"found\":1}"`)
		if p.entered("pay") != 1 || p.entered("decline") != 1 || p.entered("lookup") != 2 || p.wire.sent != 4 {
			t.Errorf("pay %d, decline %d, lookup %d, submissions %d", p.entered("pay"), p.entered("decline"), p.entered("lookup"), p.wire.sent)
		}
	})
}

func TestR45_server_killed_before_and_after_the_effect(t *testing.T) {
	onStores(t, func(t *testing.T, at func(*testing.T) place) {
		for die, bodies := range map[string]int{"before": 0, "after": 1} {
			t.Run(die, func(t *testing.T) {
				p := newPair(t, at, die)
				failed(t, p.call("c1", "deadly"), lifecycle.OutcomeUnknown, boundary.Unknown)
				p.serve("")
				if _, err := p.reconcile("c1"); !errors.Is(err, remote.ErrUnknown) {
					t.Errorf("a new life knows %v, want unknown", err)
				}
				failed(t, p.call("c2", "lookup"), lifecycle.UnresolvedEffect, boundary.NotStarted)
				// The serving host looks, and gives its verdict once the record is overdue.
				store, err := redisstore.Dial(t.Context(), p.at.url, &redisstore.Options{Prefix: "serving:"})
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = store.Close() }()
				p.overdueAtServer(store)
				verdict := map[int]canonical.EffectVerdict{0: canonical.NotApplied, 1: canonical.Applied}[bodies]
				host, err := processServer(store)
				if err != nil {
					t.Fatal(err)
				}
				if err := host.Resolve(t.Context(), serveScope, p.session.Inspect(name("c1"))[0].RequestID, verdict, "looked"); err != nil {
					t.Fatal(err)
				}
				done, err := p.reconcile("c1")
				if err != nil || !done.Lifted || done.Receipt.Applied != map[int]string{0: "no", 1: "yes"}[bodies] {
					t.Errorf("reconciled: %v, %v", done, err)
				}
				if p.entered("deadly") != bodies || p.wire.sent != 1 {
					t.Errorf("%d bodies, %d submissions; want %d and 1", p.entered("deadly"), p.wire.sent, bodies)
				}
				if err := host.Close(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
	})
}

// overdueAtServer lets the dead server's call become overdue and sweeps it.
func (p *pair) overdueAtServer(store canonical.Store) {
	p.t.Helper()
	runs, err := store.ListRuns(p.t.Context(), serveScope, canonical.ListedRun{}, 100)
	if err != nil || len(runs) == 0 {
		p.t.Fatalf("no run at the server: %v", err)
	}
	p.at.advance(11 * time.Second) // 200 ms of the tool, 5 s of closing, 5 s of margin
	for _, run := range runs {
		key := canonical.RunKey{Scope: serveScope, Run: run.Run}
		if _, err := store.Sweep(p.t.Context(), canonical.Sweeping{Run: key, Max: 10}); err != nil {
			p.t.Fatal(err)
		}
	}
}

func TestR46_client_killed_after_submission(t *testing.T) {
	onStores(t, func(t *testing.T, at func(*testing.T) place) {
		p := newPair(t, at, "")
		dead := start(t, "client", childStore+"="+p.at.url, childFiles+"="+p.files, childPeer+"="+p.wire.url)
		ticket, err := boundary.ParseRunTicket(dead.first)
		if err != nil {
			t.Fatalf("the client said %q: %v", dead.first, err)
		}
		_ = dead.cmd.Wait() // it kills itself as soon as the answer is on its way
		kept, err := os.ReadFile(filepath.Join(p.files, "checkpoint"))
		if err != nil {
			t.Fatal(err)
		}
		if p.run, err = p.boundary.JoinRun(t.Context(), ticket); err != nil {
			t.Fatal(err)
		}
		p.connect(kept)
		list := p.session.Inspect()
		if len(list) != 1 || list[0].State != remote.StateUnknown {
			t.Fatalf("resumed: %+v", list)
		}
		if _, err := p.reconcile("k1"); !errors.Is(err, canonical.ErrStillOpen) {
			t.Errorf("before the call is overdue: %v, want ErrStillOpen", err)
		}
		p.at.advance(7*time.Second + 500*time.Millisecond)
		failed(t, p.call("k2", "lookup"), lifecycle.UnresolvedEffect, boundary.NotStarted)
		done, err := p.reconcile("k1")
		if err != nil || !done.Lifted || !done.Reused || done.Text != `"{\"paid\":true}"` {
			t.Errorf("reconciled: %v, %v", done, err)
		}
		ready(t, p.call("k3", "lookup"), `"{\"found\":1}"`)
		if p.entered("pay") != 1 || p.wire.sent != 2 {
			t.Errorf("%d bodies, %d submissions", p.entered("pay"), p.wire.sent)
		}
	})
}

// suicidal ends its process when the answer to an execute has come.
type suicidal struct{ remote.Transport }

func (s suicidal) Execute(ctx context.Context, m remote.ExecuteRequest) (remote.Receipt, error) {
	_, _ = s.Transport.Execute(ctx, m)
	os.Exit(4)
	return remote.Receipt{}, nil
}

// clientChild submits one write and dies before it has taken the answer in.
func clientChild() error {
	ctx := context.Background()
	store, err := redisstore.Dial(ctx, os.Getenv(childStore), nil)
	if err != nil {
		return err
	}
	b, err := boundary.New(boundary.Config{
		Store: store, Authorizer: boundary.AllowAll{}, Effects: boundary.EffectPolicy{Write: true},
		Limits: canonical.Limits{ToolTimeout: time.Second, ProjectorTimeout: 100 * time.Millisecond, ClosingTimeout: time.Second},
	})
	if err != nil {
		return err
	}
	client, err := httpClient(os.Getenv(childPeer))
	if err != nil {
		return err
	}
	pack, err := client.Package(ctx)
	if err != nil {
		return err
	}
	session, err := remote.NewSession(ctx, remote.SessionConfig{
		Transport: suicidal{client}, Boundary: b, Store: store, Scope: scope, Package: pack, Projector: echoed{},
		Journal: func(_ context.Context, checkpoint []byte) error {
			return os.WriteFile(filepath.Join(os.Getenv(childFiles), "checkpoint"), checkpoint, 0o600)
		},
	})
	if err != nil {
		return err
	}
	tools, err := session.Tools(b)
	if err != nil {
		return err
	}
	set, err := boundary.NewToolset(b, tools...)
	if err != nil {
		return err
	}
	run, err := b.OpenRun(ctx, boundary.RunSpec{Scope: scope})
	if err != nil {
		return err
	}
	fmt.Println(run.Ticket().Reveal())
	session.Dispatch(ctx, set, run, boundary.Call{ID: "k1", Name: "pay", Arguments: []byte(`{}`)})
	return errors.New("the client outlived its end")
}
