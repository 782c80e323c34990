package remote_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/toolharness/harness/remote"
)

// negotiated is a session at the server, without one at the client.
func (r *rig) negotiated() remote.NegotiateResponse {
	r.t.Helper()
	a, err := r.server.Negotiate(r.t.Context(), someCaller, remote.NegotiateRequest{Protocols: []string{remote.Protocol}, PackageID: "bench"})
	if err != nil {
		r.t.Fatal(err)
	}
	return a
}

func request(a remote.NegotiateResponse, id, tool, arguments string) remote.ExecuteRequest {
	fingerprint, err := remote.Fingerprint(tool, []byte(arguments))
	if err != nil {
		fingerprint = "sha256:" + strings.Repeat("0", 64)
	}
	sum := sha256.Sum256([]byte(arguments))
	m := remote.ExecuteRequest{
		Protocol: remote.Protocol, Session: a.Session, Epoch: a.Epoch, RequestID: id, Tool: tool, Contract: "sha256:" + strings.Repeat("0", 64),
		Fingerprint: fingerprint, Arguments: arguments, ArgumentsSHA256: hex.EncodeToString(sum[:]), MaxInlineBytes: 65536, WaitMS: 30_000,
	}
	for _, t := range a.Tools {
		if t.Name == tool {
			m.Contract = t.Contract
		}
	}
	return m
}

func asking(m remote.ExecuteRequest) remote.ReceiptRequest {
	return remote.ReceiptRequest{Protocol: m.Protocol, Session: m.Session, Epoch: m.Epoch, RequestID: m.RequestID, Tool: m.Tool,
		Fingerprint: m.Fingerprint, MaxInlineBytes: m.MaxInlineBytes, WaitMS: 1000}
}

func refusedAs(t *testing.T, err error, code remote.ErrorCode, admitted string) {
	t.Helper()
	refused, ok := errors.AsType[*remote.ProtocolError](err)
	if !ok || refused.Code != code || refused.Admitted != admitted {
		t.Fatalf("got %v (%+v), want %s, admitted %s", err, refused, code, admitted)
	}
}

func TestR51_R52_R60_S95_strict_messages(t *testing.T) {
	t.Parallel()
	r := newRig(t, fakePlace, rigOptions{})
	a := r.negotiated()
	good, err := remote.Encode(request(a, "r1", "pay", `{"a":1}`))
	if err != nil {
		t.Fatal(err)
	}
	for what, text := range map[string]string{
		"unknown member": strings.Replace(string(good), `{"protocol"`, `{"x":1,"protocol"`, 1),
		"member twice":   strings.Replace(string(good), `{"protocol"`, `{"tool":"pay","protocol"`, 1),
		"other case":     strings.Replace(string(good), `"tool"`, `"Tool"`, 1),
		"wrong type":     strings.Replace(string(good), `"wait_ms":30000`, `"wait_ms":"30000"`, 1),
		"wrong version":  strings.Replace(string(good), remote.Protocol, "harness.tool-outcomes/0", 1),
		"trailing":       string(good) + "{}",
		"array":          "[" + string(good) + "]",
		"cut":            string(good)[:len(good)-2],
		"not UTF-8":      strings.Replace(string(good), "r1", "r\xff", 1),
		"long id":        strings.Replace(string(good), `"r1"`, `"`+strings.Repeat("r", 257)+`"`, 1),
		"id of a line":   strings.Replace(string(good), `"r1"`, `"r\n1"`, 1),
		"no arguments":   strings.Replace(string(good), `"{\"a\":1}"`, `""`, 1),
	} {
		if text == string(good) {
			t.Fatalf("%s changes nothing", what)
		}
		_, err := remote.Decode[remote.ExecuteRequest]([]byte(text))
		if _, ok := errors.AsType[*remote.FormError](err); !ok || strings.Contains(err.Error(), `"a"`) {
			t.Errorf("%s: %v, want a FormError without a body", what, err)
		}
	}
	long := request(a, strings.Repeat("r", 300), "pay", `{}`)
	_, err = r.server.Execute(t.Context(), someCaller, long)
	refused, ok := errors.AsType[*remote.ProtocolError](err)
	if !ok || refused.Code != remote.InvalidRequest || refused.RequestID != remote.InvalidRequestID {
		t.Errorf("an id that is too long: %+v, want a refusal that does not echo it", refused)
	}
	for _, arguments := range []string{`[]`, `{"a":1,"a":2}`, `{"a":`, `nulls`} {
		m := request(a, "odd", "pay", arguments)
		if _, err := r.server.Execute(t.Context(), someCaller, m); err == nil {
			if receipt, err := r.server.GetReceipt(t.Context(), someCaller, asking(m)); err != nil || receipt.Execution != "not_started" {
				t.Errorf("%s: %v, %v", arguments, receipt, err)
			}
		}
	}
	if r.bench.total() != 0 {
		t.Errorf("%d bodies were entered", r.bench.total())
	}
}

func TestR54_S96_codes_of_refusals(t *testing.T) {
	t.Parallel()
	r := newRig(t, fakePlace, rigOptions{})
	a := r.negotiated()
	_, err := r.server.Execute(t.Context(), someCaller, request(a, "r1", "unheard", `{}`))
	refusedAs(t, err, remote.ToolNotAllowed, remote.AdmittedNo)
	stale := request(a, "r2", "pay", `{}`)
	stale.Contract = "sha256:" + strings.Repeat("1", 64)
	_, err = r.server.Execute(t.Context(), someCaller, stale)
	refusedAs(t, err, remote.ToolNotAllowed, remote.AdmittedNo)
	// What was refused as not admitted stays so.
	_, err = r.server.Execute(t.Context(), someCaller, request(a, "r2", "pay", `{}`))
	refusedAs(t, err, remote.RequestWithdrawn, remote.AdmittedNo)
	lying := request(a, "r3", "pay", `{"a":1}`)
	lying.Arguments = `{"a":2}`
	_, err = r.server.Execute(t.Context(), someCaller, lying)
	refusedAs(t, err, remote.InvalidRequest, remote.AdmittedNo)
	old := request(a, "r4", "pay", `{}`)
	old.Epoch = "another"
	_, err = r.server.Execute(t.Context(), someCaller, old)
	refusedAs(t, err, remote.SessionUnknown, remote.AdmittedUnknown)
	if r.bench.total() != 0 {
		t.Errorf("%d bodies were entered", r.bench.total())
	}
	for _, code := range remote.Codes() {
		if code.Text() == "" || len(code.Text()) > remote.MaxMessage || len(code) > remote.MaxCode {
			t.Errorf("%s: text %q", code, code.Text())
		}
	}
}

func TestR53_S97_sizes_are_bytes(t *testing.T) {
	t.Parallel()
	r := newRig(t, fakePlace, rigOptions{})
	m := request(r.negotiated(), "r1", "pay", `{"a":"`+strings.Repeat("é", 500_001)+`"}`)
	_, err := r.server.Execute(t.Context(), someCaller, m)
	refusedAs(t, err, remote.InvalidRequest, remote.AdmittedUnknown)
	if _, err := remote.Encode(m); err == nil {
		t.Error("the client would send it")
	}
	failed(t, r.call("c1", "pay", `{"a":"`+strings.Repeat("é", 500_001)+`"}`), "REQUEST_TOO_LARGE", "not_started")
	deep := request(r.negotiated(), "r2", "pay", `{"a":`+strings.Repeat("[", 100)+strings.Repeat("]", 100)+`}`)
	receipt, err := r.server.Execute(t.Context(), someCaller, deep)
	if err != nil || receipt.Execution != "not_started" {
		t.Errorf("101 levels: %v, %v, want not started", receipt, err)
	}
	if r.bench.total() != 0 {
		t.Errorf("%d bodies were entered", r.bench.total())
	}
}

func TestR56_S98_one_request_delivered_often(t *testing.T) {
	onStores(t, func(t *testing.T, at func(*testing.T) place) {
		r := newRig(t, at, rigOptions{})
		a := r.negotiated()
		var wg sync.WaitGroup
		receipts := make([]remote.Receipt, 8)
		for i := range receipts {
			wg.Go(func() {
				arguments := `{"a":1,"b":[1.0]}`
				if i%2 == 1 {
					arguments = ` {"b":[ 1.0 ], "a":1}` // other order, other space, the same call
				}
				var err error
				if receipts[i], err = r.server.Execute(context.Background(), someCaller, request(a, "r1", "pay", arguments)); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for _, got := range receipts {
			if got.State != remote.Settled || got.Digest() != receipts[0].Digest() || got.Content == nil {
				t.Errorf("got %v, want %v", got, receipts[0])
			}
		}
		if n := r.bench.count("pay"); n != 1 {
			t.Errorf("entered %d times", n)
		}
	})
}

func TestR56_S99_same_id_with_other_arguments(t *testing.T) {
	t.Parallel()
	r := newRig(t, fakePlace, rigOptions{})
	a := r.negotiated()
	if _, err := r.server.Execute(t.Context(), someCaller, request(a, "r1", "pay", `{"n":9007199254740993}`)); err != nil {
		t.Fatal(err)
	}
	for _, other := range []remote.ExecuteRequest{request(a, "r1", "pay", `{"n":9007199254740992}`), request(a, "r1", "decline", `{"n":9007199254740993}`)} {
		_, err := r.server.Execute(t.Context(), someCaller, other)
		refusedAs(t, err, remote.RequestConflict, remote.AdmittedUnknown)
	}
	if n := r.bench.total(); n != 1 {
		t.Errorf("%d bodies were entered, want 1", n)
	}
}

func TestR39_S100_a_thousand_requests_and_no_eviction(t *testing.T) {
	t.Parallel()
	t.Run("fake", func(t *testing.T) { t.Parallel(); fillUp(t, fakePlace, 0) }) // the default, which is the maximum
	t.Run("embedded", func(t *testing.T) { t.Parallel(); fillUp(t, embeddedPlace, 12) })
	t.Run("redis", func(t *testing.T) { t.Parallel(); fillUp(t, redisPlace, 12) })
}

// fillUp makes as many requests as a server keeps apart, and one more.
func fillUp(t *testing.T, at func(*testing.T) place, capacity int) {
	r := newRig(t, at, rigOptions{server: func(c *remote.ServerConfig) { c.MaxRequests = capacity }})
	a := r.negotiated()
	requests := a.Limits.Requests
	if capacity == 0 && requests != 1000 {
		t.Fatalf("the default is %d requests, want 1,000", requests)
	}
	for i := range requests {
		got, err := r.server.Execute(t.Context(), someCaller, request(a, fmt.Sprintf("r%d", i), "pay", `{}`))
		if err != nil || got.State != remote.Settled {
			t.Fatalf("request %d: %v, %v", i, got, err)
		}
	}
	_, err := r.server.Execute(t.Context(), someCaller, request(a, "one-more", "pay", `{}`))
	refusedAs(t, err, remote.RequestLimitExceeded, remote.AdmittedNo)
	got, err := r.server.Execute(t.Context(), someCaller, request(a, "r0", "pay", `{}`))
	if err != nil || got.State != remote.Settled || !got.HasResult {
		t.Errorf("the oldest: %v, %v", got, err)
	}
	unseen, err := r.server.GetReceipt(t.Context(), someCaller, asking(request(a, "one-more", "pay", `{}`)))
	if err != nil || unseen.Execution != "not_started" {
		t.Errorf("the refused one: %v, %v", unseen, err)
	}
	if n := r.bench.count("pay"); n != int64(requests) {
		t.Errorf("%d bodies were entered, want %d", n, requests)
	}
	cfg := r.serverConfig()
	cfg.MaxRequests = remote.MaxRequests + 1
	if _, err := remote.NewServer(cfg); err == nil {
		t.Error("more than the maximum may be configured")
	}
}

func TestR56_fingerprints(t *testing.T) {
	t.Parallel()
	same := [][2]string{{`{"a":1,"b":2}`, `{ "b" : 2, "a":1 }`}, {`{"a":"\u00e9"}`, `{"a":"é"}`}, {`{}`, "{\n}"}}
	for _, pair := range same {
		a, err1 := remote.Fingerprint("t", []byte(pair[0]))
		b, err2 := remote.Fingerprint("t", []byte(pair[1]))
		if a != b || err1 != nil || err2 != nil {
			t.Errorf("%s and %s: %s, %s, %v, %v", pair[0], pair[1], a, b, err1, err2)
		}
	}
	other := [][2]string{{`{"a":9007199254740993}`, `{"a":9007199254740992}`}, {`{"a":1}`, `{"a":1.0}`}, {`{"a":[1,2]}`, `{"a":[2,1]}`}, {`{"a":null}`, `{}`}, {`{"a":1e400}`, `{"a":1e401}`}}
	for _, pair := range other {
		a, err1 := remote.Fingerprint("t", []byte(pair[0]))
		b, err2 := remote.Fingerprint("t", []byte(pair[1]))
		if a == b || err1 != nil || err2 != nil {
			t.Errorf("%s and %s: %s, %v, %v", pair[0], pair[1], a, err1, err2)
		}
	}
	for _, bad := range []string{`{"a":1,"a":1}`, `{`, `{}x`, "{\"a\":\"\xff\"}", `{"a":"\ud800"}`} {
		if _, err := remote.Fingerprint("t", []byte(bad)); err == nil {
			t.Errorf("%q has a fingerprint", bad)
		}
	}
	one, _ := remote.Fingerprint("t", []byte(`{}`))
	two, _ := remote.Fingerprint("u", []byte(`{}`))
	if one == two {
		t.Error("two tools have one fingerprint")
	}
	// A vector, so that another implementation can be held against this one.
	if got, err := remote.Canonical([]byte(`{"b":[1.50,-0,1E3],"a":"\u002f\n"}`)); string(got) != `{"a":"/\n","b":[1.50,-0,1E3]}` {
		t.Errorf("canonical form %s, %v", got, err)
	}
}
