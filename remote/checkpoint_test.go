package remote_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/remote"
	"github.com/toolharness/harness/remote/remotetest"
)

func TestR43_R44_S121_checkpoints_are_proven(t *testing.T) {
	onStores(t, func(t *testing.T, at func(*testing.T) place) {
		r := newRig(t, at, rigOptions{})
		ready(t, r.call("c1", "pay", `{"card":"4111-secret"}`), `"{\"paid\":true}"`)
		r.loop.DropReplies(remote.MethodExecute, 1)
		failed(t, r.call("c2", "decline", `{"card":"4111-secret"}`), lifecycle.OutcomeUnknown, boundary.Unknown)
		if _, err := r.reconcile("c2"); err != nil {
			t.Fatal(err)
		}
		kept, err := r.session.Checkpoint()
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{"4111-secret", "paid", "limit", string(r.run.Ticket().Token), "acme"} {
			if bytes.Contains(kept, []byte(word)) {
				t.Errorf("the checkpoint has %q", word)
			}
		}
		again := r.connect(func(c *remote.SessionConfig) { c.Resume = kept })
		list := again.Inspect()
		if len(list) != 2 || list[0].State != remote.StateSettled || list[1].State != remote.StateSettled || list[1].Observation == nil || list[0].Session != r.view("c1").Session {
			t.Errorf("resumed: %+v", list)
		}
		refuse := func(what string, change func(*remote.SessionConfig)) {
			t.Helper()
			cfg := r.sessionConfig()
			cfg.Resume = kept
			change(&cfg)
			if s, err := remote.NewSession(t.Context(), cfg); s != nil || !errors.Is(err, remote.ErrCheckpoint) {
				t.Errorf("%s: %v, want ErrCheckpoint", what, err)
			}
		}
		altered := func(old, text string) func(*remote.SessionConfig) {
			if !bytes.Contains(kept, []byte(old)) {
				t.Fatalf("the checkpoint has no %s", old)
			}
			return func(c *remote.SessionConfig) { c.Resume = bytes.Replace(kept, []byte(old), []byte(text), 1) }
		}
		v := r.view("c1")
		refuse("other scope", func(c *remote.SessionConfig) { c.Scope.Tenant = "other" })
		refuse("evidence id", altered(string(v.EvidenceID), "00000000-0000-4000-8000-000000000000"))
		refuse("request id", altered(v.RequestID, strings.Repeat("0", 64)))
		refuse("fingerprint", altered(v.Fingerprint, "sha256:"+strings.Repeat("0", 64)))
		refuse("tool", altered(`"tool":"pay"`, `"tool":"lookup"`))
		refuse("call", altered(`"tool_call_id":"c1"`, `"tool_call_id":"c9"`))
		refuse("observation", altered(r.view("c2").Observation.SHA256, strings.Repeat("0", 64)))
		refuse("unknown member", altered(`{"schema"`, `{"x":1,"schema"`))
		refuse("version", altered("checkpoint/1", "checkpoint/2"))
		refuse("cut", func(c *remote.SessionConfig) { c.Resume = kept[:len(kept)-1] })
		if err := r.here.store.Delete(t.Context(), r.run.Key(), name("c1")); err != nil {
			t.Fatal(err)
		}
		refuse("record gone", func(*remote.SessionConfig) {})
	})
}

func TestR45_R46_restarted_source(t *testing.T) {
	onStores(t, func(t *testing.T, at func(*testing.T) place) {
		r := newRig(t, at, rigOptions{})
		r.loop.DropReplies(remote.MethodExecute, 1)
		failed(t, r.call("c1", "pay", `{}`), lifecycle.OutcomeUnknown, boundary.Unknown)
		kept, err := r.session.Checkpoint()
		if err != nil {
			t.Fatal(err)
		}
		resume := func(s *remote.Server) {
			r.loop = remotetest.NewLoopback(s, someCaller, r.tap)
			r.session = r.connect(func(c *remote.SessionConfig) { c.Transport, c.Resume = r.loop, kept })
			r.set = r.toolset(r.session)
		}
		// Another store: this life has never seen the call, and says no more than that.
		durable := r.there
		r.there = at(t)
		resume(r.serve(nil))
		if _, err := r.reconcile("c1"); !errors.Is(err, remote.ErrUnknown) {
			t.Errorf("a source that forgot: %v, want unknown", err)
		}
		r.blocked()
		// The durable store: the record answers for the call.
		r.there = durable
		resume(r.serve(nil))
		done, err := r.reconcile("c1")
		if err != nil || !done.Lifted || done.Text != `"{\"paid\":true}"` {
			t.Errorf("a source that remembers: %v, %v", done, err)
		}
		if r.bench.count("pay") != 1 || r.sent(remote.MethodExecute, remotetest.Request) != 1 {
			t.Errorf("%d bodies, %d submissions", r.bench.count("pay"), r.sent(remote.MethodExecute, remotetest.Request))
		}
		r.free("c2")
	})
}

func TestR45_never_seen_proves_nothing_of_an_unbound_call(t *testing.T) {
	onStores(t, func(t *testing.T, at func(*testing.T) place) {
		r := newRig(t, at, rigOptions{})
		r.loop.DropRequests(remote.MethodExecute, 1)
		failed(t, r.call("c1", "pay", `{}`), lifecycle.OutcomeUnknown, boundary.Unknown)
		r.session = r.connect(nil) // without the checkpoint it is not known where the call was sent
		if _, err := r.reconcile("c1"); !errors.Is(err, remote.ErrUnknown) {
			t.Errorf("got %v, want unknown", err)
		}
		r.set = r.toolset(r.session)
		r.blocked()
	})
}

func TestR49_R50_S126_unresolved_records_are_not_deleted(t *testing.T) {
	onStores(t, func(t *testing.T, at func(*testing.T) place) {
		r := newRig(t, at, rigOptions{})
		r.loop.DropReplies(remote.MethodExecute, 1)
		failed(t, r.call("c1", "pay", `{"a":1}`), lifecycle.OutcomeUnknown, boundary.Unknown)
		if err := r.here.store.Delete(t.Context(), r.run.Key(), name("c1")); !errors.Is(err, canonical.ErrUnresolvedEffect) {
			t.Errorf("delete: %v, want ErrUnresolvedEffect", err)
		}
		if err := r.run.Close(t.Context()); err != nil { // the turn has ended
			t.Fatal(err)
		}
		done, err := r.reconcile("c1")
		if err != nil || !done.Lifted || done.Identity.Call != name("c1") {
			t.Errorf("after the run was closed: %v, %v", done, err)
		}
		rec := r.record("c1")
		if rec.Tool != "pay" || string(rec.Request) != `{"a":1}` {
			t.Errorf("the admission record: %v", rec)
		}
		if err := r.here.store.Delete(t.Context(), r.run.Key(), name("c1")); err != nil {
			t.Errorf("delete after the receipt: %v", err)
		}
		if r.bench.count("pay") != 1 {
			t.Errorf("entered %d times", r.bench.count("pay"))
		}
	})
}
