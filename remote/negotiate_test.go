package remote_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/fakes"
	"github.com/toolharness/harness/remote"
	"github.com/toolharness/harness/remote/remotetest"
)

// negotiator answers negotiation as told and counts everything else.
type negotiator struct {
	remote.Transport
	answer func(remote.NegotiateResponse) (remote.NegotiateResponse, error)
	others int
}

func (n *negotiator) Negotiate(ctx context.Context, m remote.NegotiateRequest) (remote.NegotiateResponse, error) {
	a, err := n.Transport.Negotiate(ctx, m)
	if err != nil {
		return a, err
	}
	return n.answer(a)
}

func (n *negotiator) Execute(context.Context, remote.ExecuteRequest) (remote.Receipt, error) {
	n.others++
	return remote.Receipt{}, errors.New("not expected")
}

func fakePlace(*testing.T) place {
	clock := fakes.NewClock()
	return place{fakes.NewStore(clock), clock.Now, clock.Advance, ""}
}

func TestR03_S89_failed_negotiation_is_no_session(t *testing.T) {
	t.Parallel()
	r := newRig(t, fakePlace, rigOptions{})
	for what, answer := range map[string]func(remote.NegotiateResponse) (remote.NegotiateResponse, error){
		"refused": func(remote.NegotiateResponse) (remote.NegotiateResponse, error) {
			return remote.NegotiateResponse{}, &remote.ProtocolError{Code: remote.NegotiationFailed}
		},
		"error": func(remote.NegotiateResponse) (remote.NegotiateResponse, error) {
			return remote.NegotiateResponse{}, errors.New(toolSecret)
		},
		"other version": func(a remote.NegotiateResponse) (remote.NegotiateResponse, error) {
			a.Protocol = "harness.tool-outcomes/2"
			return a, nil
		},
		"nothing": func(remote.NegotiateResponse) (remote.NegotiateResponse, error) {
			return remote.NegotiateResponse{}, nil
		},
		"other package": func(a remote.NegotiateResponse) (remote.NegotiateResponse, error) {
			a.PackageID = "other"
			return a, nil
		},
		"other contract": func(a remote.NegotiateResponse) (remote.NegotiateResponse, error) {
			a.Tools[1].Contract = a.Tools[0].Contract
			return a, nil
		},
		"a write said to be a read": func(a remote.NegotiateResponse) (remote.NegotiateResponse, error) {
			a.Tools[1].Effect = canonical.EffectRead
			return a, nil
		},
	} {
		n := &negotiator{Transport: r.loop, answer: answer}
		cfg := r.sessionConfig()
		cfg.Transport = n
		s, err := remote.NewSession(t.Context(), cfg)
		if s != nil || err == nil || n.others != 0 {
			t.Errorf("%s: session %v, error %v, %d executes; want an error alone", what, s, err, n.others)
		}
		if _, ok := errors.AsType[*remote.NegotiationError](err); !ok || strings.Contains(err.Error(), toolSecret) {
			t.Errorf("%s: %v, want a NegotiationError without the transport's text", what, err)
		}
	}
	if _, err := r.server.Negotiate(t.Context(), someCaller, remote.NegotiateRequest{Protocols: []string{"2"}, PackageID: "bench"}); !errors.Is(err, &remote.ProtocolError{}) {
		refused, ok := errors.AsType[*remote.ProtocolError](err)
		if !ok || refused.Code != remote.NegotiationFailed {
			t.Errorf("the server answers an older protocol with %v", err)
		}
	}
	if n := r.bench.total(); n != 0 {
		t.Errorf("%d bodies were entered", n)
	}
}

// oldPackage is the envelope of the protocol before, whose loader knows exactly
// these members and this version.
type oldPackage struct {
	ProtocolVersion int               `json:"protocolVersion"`
	PackageID       string            `json:"packageId"`
	Tools           []json.RawMessage `json:"tools"`
}

func TestR01_R02_S90_envelopes_of_two_protocols_refuse_each_other(t *testing.T) {
	t.Parallel()
	r := newRig(t, fakePlace, rigOptions{})
	d := json.NewDecoder(strings.NewReader(string(r.server.Package())))
	d.DisallowUnknownFields()
	var old oldPackage
	if err := d.Decode(&old); err == nil && old.ProtocolVersion == 2 {
		t.Error("an old loader takes the new envelope")
	}
	for _, text := range []string{
		`{"protocolVersion":2,"packageId":"bench","tools":[]}`,
		strings.Replace(string(r.server.Package()), remote.Protocol, "harness.tool-outcomes/2", 1),
		strings.Replace(string(r.server.Package()), `"protocol":"`+remote.Protocol+`"`, `"protocol":2`, 1),
		strings.Replace(string(r.server.Package()), `{"schema"`, `{"extra":1,"schema"`, 1),
		string(r.server.Package()) + "{}", "", "null", "[]",
	} {
		if _, err := remote.ParsePackage([]byte(text)); !errors.Is(err, remote.ErrPackage) {
			t.Errorf("%.60s: %v, want ErrPackage", text, err)
		}
	}
	p, err := remote.ParsePackage(r.server.Package())
	if err != nil || p.PackageID != "bench" || len(p.Tools) != len(r.bench.tools()) {
		t.Errorf("its own envelope: %+v, %v", p, err)
	}
}

func TestR04_S91_what_is_missing_is_told_before_anything_is_called(t *testing.T) {
	t.Parallel()
	r := newRig(t, fakePlace, rigOptions{})
	before := len(r.frames)
	_, err := remote.NewSession(t.Context(), remote.SessionConfig{})
	config, ok := errors.AsType[*remote.ConfigError](err)
	if !ok || len(config.Problems) < 5 {
		t.Fatalf("%v, want every problem at once", err)
	}
	for _, field := range []string{"Transport", "Boundary", "Store", "scope"} {
		if !strings.Contains(err.Error(), field) {
			t.Errorf("%v does not name %s", err, field)
		}
	}
	cfg := r.sessionConfig()
	cfg.Projector = nil
	if _, err := remote.NewSession(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "lookup") {
		t.Errorf("without a projector: %v", err)
	}
	if len(r.frames) != before {
		t.Error("something was sent by constructors that refuse")
	}
	if _, err := remote.NewServer(remote.ServerConfig{}); err == nil || !strings.Contains(err.Error(), "Authorize") {
		t.Errorf("a server of nothing: %v", err)
	}
}

func TestR05_S91_tools_of_a_session_belong_to_one_boundary(t *testing.T) {
	t.Parallel()
	r := newRig(t, fakePlace, rigOptions{})
	other := fakePlace(t)
	b, err := boundary.New(boundary.Config{Store: other.store, Authorizer: boundary.AllowAll{}, Now: other.now, Effects: boundary.EffectPolicy{Write: true, Unknown: true}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.session.Tools(b); !errors.Is(err, remote.ErrBound) {
		t.Errorf("a second boundary: %v, want ErrBound", err)
	}
	// Carried over all the same, they find no admission record in their own store.
	tools, err := r.session.Tools(r.boundary)
	if err != nil {
		t.Fatal(err)
	}
	set, err := boundary.NewToolset(b, tools...)
	if err != nil {
		t.Fatal(err)
	}
	run, err := b.OpenRun(t.Context(), boundary.RunSpec{Scope: scope})
	if err != nil {
		t.Fatal(err)
	}
	before := r.sent(remote.MethodExecute, remotetest.Request)
	got := set.Dispatch(t.Context(), run, boundary.Call{ID: "a", Name: "pay", Arguments: []byte(`{}`)})[0]
	if !errors.Is(got.Err, remote.ErrNoAdmission) || !errors.Is(got.Err, remote.ErrNotSubmitted) {
		t.Errorf("tools on another store: %v, want ErrNoAdmission", got.Err)
	}
	if n := r.sent(remote.MethodExecute, remotetest.Request) - before; n != 0 || r.bench.total() != 0 {
		t.Errorf("%d messages, %d bodies; want none", n, r.bench.total())
	}
}

func TestR06_transport_has_five_methods_of_its_names(t *testing.T) {
	t.Parallel()
	kind := reflect.TypeFor[remote.Transport]()
	var got []string
	for i := range kind.NumMethod() {
		got = append(got, kind.Method(i).Name)
	}
	if want := []string{"Cancel", "Execute", "GetReceipt", "Negotiate", "ReadEvidence"}; !reflect.DeepEqual(got, want) {
		t.Errorf("methods %q, want %q", got, want)
	}
}

func TestR57_contracts(t *testing.T) {
	t.Parallel()
	b := newBench()
	contract := func(change func(*boundary.Tool)) string {
		at := fakePlace(t)
		tool := b.tool("lookup", canonical.EffectRead, says(""))
		tool.Schema = []byte(`{"type":"object","maxProperties":9007199254740993}`)
		change(&tool)
		s, err := remote.NewServer(remote.ServerConfig{PackageID: "p", Tools: []boundary.Tool{tool}, Authorize: allowed,
			Boundary: boundary.Config{Store: at.store, Now: at.now, Authorizer: boundary.AllowAll{}}})
		if err != nil {
			t.Fatal(err)
		}
		p, err := remote.ParsePackage(s.Package())
		if err != nil {
			t.Fatal(err)
		}
		return p.Tools[0].Contract
	}
	first := contract(func(*boundary.Tool) {})
	for what, change := range map[string]func(*boundary.Tool){
		"description": func(t *boundary.Tool) { t.Description = "another" },
		"spelling":    func(t *boundary.Tool) { t.Schema = []byte(` { "maxProperties":9007199254740993, "type" : "object" }`) },
	} {
		if got := contract(change); got != first {
			t.Errorf("%s changes the contract", what)
		}
	}
	for what, change := range map[string]func(*boundary.Tool){
		"name":   func(t *boundary.Tool) { t.Name = "look" },
		"effect": func(t *boundary.Tool) { t.Effect = canonical.EffectWrite },
		"number": func(t *boundary.Tool) { t.Schema = []byte(`{"type":"object","maxProperties":9007199254740992}`) },
	} {
		if got := contract(change); got == first {
			t.Errorf("another %s has the same contract", what)
		}
	}
	if !strings.HasPrefix(first, "sha256:") || len(first) != 71 {
		t.Errorf("contract %q", first)
	}
	changed := strings.Replace(string(newRig(t, fakePlace, rigOptions{}).server.Package()), `"effect":"write"`, `"effect":"read"`, 1)
	if _, err := remote.ParsePackage([]byte(changed)); !errors.Is(err, remote.ErrPackage) {
		t.Errorf("a package whose effect was changed: %v", err)
	}
}

func TestR58_reserved_names_on_both_ends(t *testing.T) {
	t.Parallel()
	at := fakePlace(t)
	_, err := remote.NewServer(remote.ServerConfig{PackageID: "p", Authorize: allowed, Tools: []boundary.Tool{newBench().tool("evidence_read", canonical.EffectRead, says(""))},
		Boundary: boundary.Config{Store: at.store, Now: at.now, Authorizer: boundary.AllowAll{}}})
	if err == nil || !strings.Contains(err.Error(), "reserved") {
		t.Errorf("a server that offers a reserved name: %v", err)
	}
	r := newRig(t, fakePlace, rigOptions{})
	p, err := remote.ParsePackage(r.server.Package())
	if err != nil {
		t.Fatal(err)
	}
	p.Tools[0].Name = "evidence_list"
	if text, err := remote.Encode(p); err == nil {
		cfg := r.sessionConfig()
		cfg.Package = text
		if _, err := remote.NewSession(t.Context(), cfg); err == nil {
			t.Error("a session takes a package with a reserved name")
		}
	}
	tools, err := r.session.Tools(r.boundary)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := boundary.NewToolset(r.boundary, append(tools, tools[0])...); err == nil {
		t.Error("a remote tool may have the name of another")
	}
}

func TestR34_S107_chunks_above_the_servers_limit(t *testing.T) {
	t.Parallel()
	r := newRig(t, fakePlace, rigOptions{server: func(c *remote.ServerConfig) { c.ChunkBytes = 100 }})
	cfg := r.sessionConfig()
	cfg.ChunkBytes = 101
	if _, err := remote.NewSession(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "101") || !strings.Contains(err.Error(), "100") {
		t.Errorf("got %v, want an error with both numbers", err)
	}
	cfg.ChunkBytes = 100
	if _, err := remote.NewSession(t.Context(), cfg); err != nil {
		t.Errorf("at the limit: %v", err)
	}
}

func TestR32_S105_inline_limit_of_the_configuration(t *testing.T) {
	t.Parallel()
	r := newRig(t, fakePlace, rigOptions{})
	for n, ok := range map[int]bool{remote.ReferencesOnly: true, 0: true, 1: true, 1_000_000: true, 1_000_001: false, -2: false} {
		cfg := r.sessionConfig()
		cfg.InlineBytes = n
		if _, err := remote.NewSession(t.Context(), cfg); (err == nil) != ok {
			t.Errorf("a session with %d: %v", n, err)
		}
		server := r.serverConfig()
		server.InlineBytes = n
		if _, err := remote.NewServer(server); (err == nil) != ok {
			t.Errorf("a server with %d: %v", n, err)
		}
	}
}
