package remote_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/remote"
	"github.com/toolharness/harness/remote/remotetest"
)

func TestR16_S102_admission_record_before_submission(t *testing.T) {
	onStores(t, func(t *testing.T, at func(*testing.T) place) {
		r := newRig(t, at, rigOptions{})
		watch := &watcher{Transport: r.loop, before: func(m remote.ExecuteRequest) {
			rec, err := r.here.store.Record(context.Background(), r.run.Key(), name("c1"))
			if err != nil || rec.State != lifecycle.Projecting || string(rec.Request) != m.Arguments || rec.Tool != m.Tool || rec.Effect != canonical.EffectWrite {
				t.Errorf("the admission record at the moment of submission: %v, %v", rec, err)
			}
			if id := remote.RequestID("bench", rec.Head); id != m.RequestID {
				t.Errorf("request id %s, the record makes %s", m.RequestID, id)
			}
			fingerprint, err := remote.Fingerprint(rec.Tool, rec.Request)
			if err != nil || fingerprint != m.Fingerprint {
				t.Errorf("fingerprint %s, the record makes %s, %v", m.Fingerprint, fingerprint, err)
			}
			v := r.view("c1")
			if v.State != remote.StateSubmitted || v.Session != m.Session || v.EvidenceID != rec.EvidenceID || v.Identity != rec.Identity {
				t.Errorf("the session has %+v", v)
			}
		}}
		r.session = r.connect(func(c *remote.SessionConfig) { c.Transport = watch })
		r.set = r.toolset(r.session)
		ready(t, r.call("c1", "pay", `{"n":9007199254740993}`), `"{\"paid\":true}"`)
		if watch.executes != 1 || r.bench.count("pay") != 1 {
			t.Errorf("%d submissions, %d bodies", watch.executes, r.bench.count("pay"))
		}
	})
}

// watcher looks at each submission.
type watcher struct {
	remote.Transport
	before   func(remote.ExecuteRequest)
	mu       sync.Mutex
	executes int
}

func (w *watcher) Execute(ctx context.Context, m remote.ExecuteRequest) (remote.Receipt, error) {
	w.mu.Lock()
	w.executes++
	w.mu.Unlock()
	if w.before != nil {
		w.before(m)
	}
	return w.Transport.Execute(ctx, m)
}

func TestR16_journal_before_submission(t *testing.T) {
	t.Parallel()
	r := newRig(t, fakePlace, rigOptions{})
	broken := true
	var kept []byte
	r.session = r.connect(func(c *remote.SessionConfig) {
		c.Journal = func(_ context.Context, checkpoint []byte) error {
			if broken {
				return errors.New("disk full")
			}
			kept = checkpoint
			return nil
		}
	})
	r.set = r.toolset(r.session)
	got := r.call("c1", "pay", `{}`)
	failed(t, got, remote.CodeRefused, boundary.Completed)
	if !errors.Is(got.Err, remote.ErrNotSubmitted) || r.bench.total() != 0 || len(r.session.Inspect()) != 0 {
		t.Errorf("a journal that fails: %v, %d bodies", got.Err, r.bench.total())
	}
	broken = false
	ready(t, r.call("c2", "pay", `{}`), `"{\"paid\":true}"`)
	if !bytes.Contains(kept, []byte(`"tool_call_id":"c2"`)) || !bytes.Contains(kept, []byte(`"state":"admitted"`)) {
		t.Errorf("the journal has %s", kept)
	}
}

func TestR17_R19_R21_observation_is_the_raw_result(t *testing.T) {
	onStores(t, func(t *testing.T, at func(*testing.T) place) {
		var events []boundary.Event
		var mu sync.Mutex
		r := newRig(t, at, rigOptions{local: func(c *boundary.Config) {
			c.Observer = boundary.ObserverFunc(func(_ context.Context, e boundary.Event) {
				mu.Lock()
				defer mu.Unlock()
				events = append(events, e)
			})
		}})
		ready(t, r.call("c1", "pay", `{"a":1}`), `"{\"paid\":true}"`)
		rec := r.record("c1")
		o, payload, err := remote.DecodeObservation(rec.Raw.Bytes)
		if err != nil || string(payload) != `{"paid":true}` {
			t.Fatalf("the raw result: %v, payload %q", err, payload)
		}
		a := o.Admission
		if o.Schema != remote.ObservationSchema || a.Run != r.run.ID() || a.Call != "c1" || a.EvidenceID != rec.EvidenceID || a.Seq != rec.Seq ||
			a.OperationKey != rec.OperationKey || a.RequestSHA256 != rec.RequestSHA256 || a.RequestID != remote.RequestID("bench", rec.Head) || a.Tool != "pay" {
			t.Errorf("admission %+v of record %v", a, rec.Head)
		}
		if o.Receipt.State != remote.Settled || o.Receipt.RequestID != a.RequestID || !o.Receipt.SourceAcked || o.Receipt.Content.Inline != nil || o.Proxy.SubmittedAt == "" || o.Proxy.AnsweredAt == "" {
			t.Errorf("receipt %v, proxy %+v", o.Receipt, o.Proxy)
		}
		if rec.Version != canonical.SchemaVersion || rec.State != lifecycle.Ready || string(rec.Request) != `{"a":1}` {
			t.Errorf("the record is not an ordinary one: %v", rec.Head)
		}
		if r.view("c1").State != remote.StateSettled {
			t.Errorf("state %s, want settled", r.view("c1").State)
		}
		if err := r.boundary.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(events) != 1 || events[0].Kind != boundary.EventReady || events[0].Tool != "pay" {
			t.Errorf("events %+v, want one ordinary one", events)
		}
		for _, bad := range [][]byte{nil, []byte("{}"), rec.Raw.Bytes[:len(rec.Raw.Bytes)-1], append(append([]byte{}, rec.Raw.Bytes...), ' '), bytes.Replace(rec.Raw.Bytes, []byte(`"settled"`), []byte(`"unknown"`), 1)} {
			if _, _, err := remote.DecodeObservation(bad); !errors.Is(err, remote.ErrObservation) && !errors.Is(err, remote.ErrContent) {
				t.Errorf("%.40q is taken: %v", bad, err)
			}
		}
	})
}

func TestR18_source_records(t *testing.T) {
	onStores(t, func(t *testing.T, at func(*testing.T) place) {
		r := newRig(t, at, rigOptions{})
		ready(t, r.call("c1", "lookup", `{"a":1}`), `"{\"success\":true,\"n\":9007199254740993}"`)
		ref := r.view("c1").Server.Content.Reference
		if ref != nil {
			t.Fatalf("a small result has reference %v", ref)
		}
		run, call := r.sourceOf("c1")
		rec, err := r.there.store.Record(t.Context(), run, call)
		if err != nil || string(rec.Raw.Bytes) != `{"success":true,"n":9007199254740993}` || string(rec.Request) != `{"a":1}` ||
			rec.Principal != someCaller.Principal || string(rec.Identity.Call.ID) != r.view("c1").RequestID {
			t.Fatalf("the source record: %v, %v", rec, err)
		}
		if !strings.Contains(string(rec.Agent), remote.SourceSchema) {
			t.Errorf("agent result %s, want a note of schema %s", rec.Agent, remote.SourceSchema)
		}
	})
}

// sourceOf is the record of a call at the server.
func (r *rig) sourceOf(id string) (canonical.RunKey, canonical.CallName) {
	r.t.Helper()
	runs, err := r.there.store.ListRuns(r.t.Context(), serveScope, canonical.ListedRun{}, 1000)
	if err != nil {
		r.t.Fatal(err)
	}
	call := canonical.CallName{ID: canonical.ToolCallID(r.view(id).RequestID)}
	for _, run := range runs {
		key := canonical.RunKey{Scope: serveScope, Run: run.Run}
		if heads, err := r.there.store.Heads(r.t.Context(), key, []canonical.CallName{call}); err == nil && heads[0].Exists() && strings.HasPrefix(string(run.Run), "rq.") {
			return key, call
		}
	}
	r.t.Fatalf("no source record of %s among %d runs", id, len(runs))
	return canonical.RunKey{}, call
}

func TestR13_S103_declined_business_is_data(t *testing.T) {
	onStores(t, func(t *testing.T, at func(*testing.T) place) {
		r := newRig(t, at, rigOptions{})
		ready(t, r.call("c1", "decline", `{}`), `"{\"success\":false,\"reason\":\"limit\"}"`)
		if got := r.view("c1").Server; got.Execution != "completed" || got.Code != "" || !got.HasResult || got.Applied != "yes" {
			t.Errorf("receipt %v", got)
		}
		r.free("c2")
	})
}

func TestR14_R55_S104_failures_stay_failures_without_their_texts(t *testing.T) {
	onStores(t, func(t *testing.T, at func(*testing.T) place) {
		r := newRig(t, at, rigOptions{})
		failed(t, r.call("c1", "broken", `{}`), remote.CodeFailed, boundary.Completed)
		failed(t, r.call("c2", "bounce", `{}`), remote.CodeFailed, boundary.Completed)
		if got := r.view("c2").Server; got.Applied != "no" || got.Execution != "completed" || got.HasResult {
			t.Errorf("a tool that declares that it changed nothing: %v", got)
		}
		r.free("c3")
		failed(t, r.call("c4", "lost", `{}`), lifecycle.OutcomeUnknown, boundary.Unknown)
		for _, f := range r.frames {
			if bytes.Contains(f.text, []byte(toolSecret)) {
				t.Errorf("%s %s has the tool's text", f.method, f.dir)
			}
		}
		r.blocked()
	})
}

func TestR15_presence_of_results(t *testing.T) {
	onStores(t, func(t *testing.T, at func(*testing.T) place) {
		r := newRig(t, at, rigOptions{})
		for i, c := range []struct{ tool, text string }{{"null", `"null"`}, {"empty", `""`}, {"bytes", `"\x00\xff{not json"`}} {
			id := fmt.Sprintf("c%d", i)
			ready(t, r.call(id, c.tool, `{}`), c.text)
			if got := r.view(id).Server; !got.HasResult || got.Content == nil {
				t.Errorf("%s: %v, want a result", c.tool, got)
			}
			o, payload, err := remote.DecodeObservation(r.record(id).Raw.Bytes)
			if err != nil || payload == nil || !o.Payload.Present || fmt.Sprintf("%q", payload) != c.text {
				t.Errorf("%s: payload %q, %v", c.tool, payload, err)
			}
		}
		failed(t, r.call("none", "broken", `{}`), remote.CodeFailed, boundary.Completed)
		if got := r.view("none").Server; got.HasResult || got.Content != nil {
			t.Errorf("no result: %v", got)
		}
	})
}

func TestR32_S105_inline_and_by_reference(t *testing.T) {
	onStores(t, func(t *testing.T, at func(*testing.T) place) {
		r := newRig(t, at, rigOptions{})
		for n, chunks := range map[int]int{65_536: 0, 65_537: 2} {
			before := r.sent(remote.MethodReadEvidence, remotetest.Answer)
			id := fmt.Sprintf("n%d", n)
			ready(t, r.call(id, "big", fmt.Sprintf(`{"n":%d}`, n)), fmt.Sprintf(`{"bytes":%d}`, n))
			if got := r.sent(remote.MethodReadEvidence, remotetest.Answer) - before; got != chunks {
				t.Errorf("%d bytes took %d chunks, want %d", n, got, chunks)
			}
			if ref := r.view(id).Server.Content.Reference; (ref != nil) != (chunks > 0) {
				t.Errorf("%d bytes: reference %v", n, ref)
			}
		}
		r.session = r.connect(func(c *remote.SessionConfig) { c.InlineBytes = remote.ReferencesOnly })
		r.set = r.toolset(r.session)
		before := r.sent(remote.MethodReadEvidence, remotetest.Answer)
		ready(t, r.call("ref", "lookup", `{}`), `"{\"success\":true,\"n\":9007199254740993}"`)
		if r.sent(remote.MethodReadEvidence, remotetest.Answer)-before != 1 || r.view("ref").Server.Content.Reference == nil {
			t.Error("a limit of zero does not force a reference")
		}
		ready(t, r.call("ref-empty", "empty", `{}`), `""`)
	})
}

// altered changes chunks.
type altered struct {
	remote.Transport
	change func(*remote.EvidenceResponse)
	n      int
}

func (a *altered) ReadEvidence(ctx context.Context, m remote.EvidenceRequest) (remote.EvidenceResponse, error) {
	got, err := a.Transport.ReadEvidence(ctx, m)
	a.n++
	if a.n == 2 {
		a.change(&got)
	}
	return got, err
}

func TestR33_S106_altered_chunks(t *testing.T) {
	t.Parallel()
	for what, change := range map[string]func(*remote.EvidenceResponse){
		"a byte": func(e *remote.EvidenceResponse) { e.Data[0] ^= 1 },
		"a byte and its digest": func(e *remote.EvidenceResponse) {
			e.Data[0] ^= 1
			e.ChunkSHA256 = canonical.Body(e.Data).SHA256()
		},
		"short":        func(e *remote.EvidenceResponse) { e.Data = e.Data[:1] },
		"empty":        func(e *remote.EvidenceResponse) { e.Data, e.Next = nil, e.Offset },
		"other place":  func(e *remote.EvidenceResponse) { e.Offset++; e.Next++ },
		"other size":   func(e *remote.EvidenceResponse) { e.Bytes++ },
		"other digest": func(e *remote.EvidenceResponse) { e.SHA256 = strings.Repeat("0", 64) },
		"other call":   func(e *remote.EvidenceResponse) { e.RequestID = "x" },
	} {
		t.Run(strings.ReplaceAll(what, " ", "_"), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, fakePlace, rigOptions{})
			r.session = r.connect(func(c *remote.SessionConfig) { c.Transport = &altered{Transport: r.loop, change: change} })
			r.set = r.toolset(r.session)
			got := r.call("c1", "big", `{"n":200000}`)
			failed(t, got, remote.CodeFailed, boundary.Completed)
			if !errors.Is(got.Err, remote.ErrContent) {
				t.Errorf("got %v, want ErrContent", got.Err)
			}
			if rec := r.record("c1"); rec.Raw.Present() || strings.Contains(got.Outcome.Text(), "xxx") {
				t.Error("a part of the result was delivered")
			}
			// A write that succeeded stays one; its result is at the source.
			r.session = r.connect(func(c *remote.SessionConfig) { c.Transport = &altered{Transport: r.loop, change: change} })
			r.set = r.toolset(r.session)
			wrote := r.call("c2", "bigpay", `{"n":200000}`)
			if wrote.Err != nil || !strings.Contains(wrote.Outcome.Text(), "at the source") {
				t.Errorf("a write whose result did not arrive: %v, %s", wrote.Err, wrote.Outcome.Text())
			}
			r.session = r.connectAgain(t)
			done, err := r.reconcile("c2")
			if err != nil || done.Text != `{"bytes":200000}` || done.Reused {
				t.Errorf("reconciled: %v, %v", done, err)
			}
			if r.bench.count("bigpay") != 1 {
				t.Errorf("entered %d times", r.bench.count("bigpay"))
			}
		})
	}
}

// connectAgain is a session that resumes the present one.
func (r *rig) connectAgain(t *testing.T) *remote.Session {
	t.Helper()
	kept, err := r.session.Checkpoint()
	if err != nil {
		t.Fatal(err)
	}
	return r.connect(func(c *remote.SessionConfig) { c.Resume = kept })
}

func TestR35_large_result_of_a_write_is_a_success_by_reference(t *testing.T) {
	onStores(t, func(t *testing.T, at func(*testing.T) place) {
		r := newRig(t, at, rigOptions{session: func(c *remote.SessionConfig) { c.PayloadBytes = 1000 }})
		got := r.call("c1", "bigpay", `{"n":2000}`)
		if got.Err != nil || !strings.Contains(got.Outcome.Text(), `"kept":"at the source"`) || !strings.Contains(got.Outcome.Text(), `"bytes":2000`) {
			t.Errorf("above what is kept here: %v, %s", got.Err, got.Outcome.Text())
		}
		over := r.call("c2", "bigpay", fmt.Sprintf(`{"n":%d}`, 4<<20+1))
		if over.Err != nil || !strings.Contains(over.Outcome.Text(), `"kept":"nowhere"`) || !strings.Contains(over.Outcome.Text(), "RESULT_TOO_LARGE") {
			t.Errorf("above what the source keeps: %v, %s", over.Err, over.Outcome.Text())
		}
		failed(t, r.call("c3", "big", fmt.Sprintf(`{"n":%d}`, 4<<20+1)), remote.CodeFailed, boundary.Completed)
		r.free("c4")
	})
}

func TestR38_sources_of_any_bytes_are_whole_or_absent(t *testing.T) {
	t.Parallel()
	r := newRig(t, fakePlace, rigOptions{server: func(c *remote.ServerConfig) { c.Boundary.Limits.RawBytes = 5000; c.InlineBytes = remote.ReferencesOnly }})
	ready(t, r.call("c1", "bytes", `{}`), `"\x00\xff{not json"`)
	ready(t, r.call("c2", "big", `{"n":5000}`), `{"bytes":5000}`)
	got := r.call("c3", "big", `{"n":5001}`)
	failed(t, got, remote.CodeFailed, boundary.Completed)
	if v := r.view("c3").Server; v.Code != "RESULT_TOO_LARGE" || v.HasResult || strings.Contains(got.Outcome.Text(), "xx") {
		t.Errorf("receipt %v", v)
	}
}

func TestR07_S92_host_context_on_every_method_and_chunk(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var asked []remote.Operation
	deny := map[remote.Method]bool{}
	r := newRig(t, fakePlace, rigOptions{server: func(c *remote.ServerConfig) {
		c.ChunkBytes = 1000
		c.Authorize = func(_ context.Context, _ remote.Caller, op remote.Operation) error {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, op)
			if deny[op.Method] || op.Method == remote.MethodReadEvidence && op.Offset > 0 && deny["later chunks"] {
				return errors.New(toolSecret)
			}
			return nil
		}
	}})
	count := func(m remote.Method) (n int) {
		mu.Lock()
		defer mu.Unlock()
		for _, op := range asked {
			if op.Method == m {
				n++
			}
		}
		return n
	}
	ready(t, r.call("c1", "big", `{"n":70000}`), `{"bytes":70000}`)
	if count(remote.MethodNegotiate) != 1 || count(remote.MethodExecute) != 1 || count(remote.MethodReadEvidence) != 70 {
		t.Errorf("asked %d, %d, %d times; want 1, 1, 70", count(remote.MethodNegotiate), count(remote.MethodExecute), count(remote.MethodReadEvidence))
	}
	a := r.negotiated()
	m := request(a, "r1", "pay", `{}`)
	before := count(remote.MethodExecute)
	for range 3 { // the second and third answer is in the memory
		if _, err := r.server.Execute(t.Context(), someCaller, m); err != nil {
			t.Fatal(err)
		}
	}
	if got := count(remote.MethodExecute) - before; got != 3 {
		t.Errorf("three deliveries were authorized %d times", got)
	}
	deny[remote.MethodExecute] = true
	_, err := r.server.Execute(t.Context(), someCaller, m)
	refusedAs(t, err, remote.Unauthorized, remote.AdmittedUnknown)
	_, err = r.server.Execute(t.Context(), someCaller, request(a, "r2", "pay", `{}`))
	refusedAs(t, err, remote.Unauthorized, remote.AdmittedNo)
	deny[remote.MethodExecute], deny["later chunks"] = false, true
	got := r.call("c2", "big", `{"n":70000}`)
	failed(t, got, remote.CodeFailed, boundary.Completed) // chunk 1 came, chunk 2 was denied
	if strings.Contains(fmt.Sprint(got.Err), toolSecret) {
		t.Error("the authorizer's text crossed")
	}
	every := func(who remote.Caller) map[remote.Method]error {
		errs := map[remote.Method]error{}
		_, errs[remote.MethodNegotiate] = r.server.Negotiate(t.Context(), who, remote.NegotiateRequest{Protocols: []string{remote.Protocol}, PackageID: "bench"})
		_, errs[remote.MethodExecute] = r.server.Execute(t.Context(), who, m)
		_, errs[remote.MethodGetReceipt] = r.server.GetReceipt(t.Context(), who, asking(m))
		_, errs[remote.MethodCancel] = r.server.Cancel(t.Context(), who, remote.CancelRequest{Protocol: remote.Protocol, Session: a.Session, Epoch: a.Epoch, RequestID: "r1"})
		_, errs[remote.MethodReadEvidence] = r.server.ReadEvidence(t.Context(), who, remote.EvidenceRequest{Protocol: remote.Protocol, Session: a.Session, Epoch: a.Epoch,
			RequestID: "r1", SHA256: strings.Repeat("0", 64), MaxBytes: 1})
		return errs
	}
	for method, err := range every(remote.Caller{}) {
		if refused, ok := errors.AsType[*remote.ProtocolError](err); !ok || refused.Code != remote.Unauthorized {
			t.Errorf("%s without host context: %v", method, err)
		}
	}
	for _, method := range remote.Methods() {
		deny[method] = true
	}
	for method, err := range every(someCaller) {
		if refused, ok := errors.AsType[*remote.ProtocolError](err); !ok || refused.Code != remote.Unauthorized {
			t.Errorf("%s denied by the host: %v", method, err)
		}
	}
}

func TestR08_R09_S93_nothing_in_a_message_grants_anything(t *testing.T) {
	onStores(t, func(t *testing.T, at func(*testing.T) place) {
		var seen []remote.Caller
		r := newRig(t, at, rigOptions{server: func(c *remote.ServerConfig) {
			c.Authorize = func(_ context.Context, who remote.Caller, _ remote.Operation) error {
				seen = append(seen, who)
				return nil
			}
		}})
		ready(t, r.call("c1", "pay", `{"tenant":"victim","scope":{"tenant":"victim"},"principal":{"user":"root"}}`), `"{\"paid\":true}"`)
		for _, who := range seen {
			if who != someCaller {
				t.Errorf("the host was shown %v", who)
			}
		}
		// Another caller who knows session, request and digests has nothing.
		thief := remote.Caller{Scope: canonical.Scope{Tenant: "thief"}, Principal: someCaller.Principal}
		v := r.view("c1")
		m := request(remote.NegotiateResponse{Session: v.Session, Epoch: v.Epoch}, v.RequestID, "pay", `{}`)
		_, err := r.server.Execute(t.Context(), thief, m)
		refusedAs(t, err, remote.SessionUnknown, remote.AdmittedUnknown)
		ask := asking(m)
		ask.Fingerprint = v.Fingerprint
		got, err := r.server.GetReceipt(t.Context(), thief, ask)
		if err != nil || got.State != remote.Unsettled {
			t.Errorf("a receipt for another caller: %v, %v", got, err)
		}
		_, err = r.server.ReadEvidence(t.Context(), thief, remote.EvidenceRequest{Protocol: remote.Protocol, Session: v.Session, Epoch: v.Epoch,
			RequestID: v.RequestID, SHA256: v.Server.Content.SHA256, MaxBytes: 10})
		refusedAs(t, err, remote.EvidenceUnavailable, remote.AdmittedUnknown)
		// The effect is the server's, whatever a client says of the tool.
		if v.Server.Effect != canonical.EffectWrite || r.record("c1").Effect != canonical.EffectWrite {
			t.Errorf("effects %s and %s", v.Server.Effect, r.record("c1").Effect)
		}
		if r.bench.total() != 1 {
			t.Errorf("%d bodies were entered", r.bench.total())
		}
	})
}
