package httptransport_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/toolharness/harness/remote"
	"github.com/toolharness/harness/remote/httptransport"
)

var zeros = "sha256:" + strings.Repeat("0", 64)

func anExecute() remote.ExecuteRequest {
	return remote.ExecuteRequest{
		Protocol: remote.Protocol, Session: "s", Epoch: "e", RequestID: "r", Tool: "t", Contract: zeros, Fingerprint: zeros,
		Arguments: `{"card":"4111"}`, ArgumentsSHA256: strings.Repeat("0", 64),
	}
}

func anAsk() remote.ReceiptRequest {
	return remote.ReceiptRequest{Protocol: remote.Protocol, Session: "s", Epoch: "e", RequestID: "r", Tool: "t", Fingerprint: zeros}
}

// scripted is a handler that refuses as told.
type scripted struct {
	remote.Handler
	err     error
	entered atomic.Int64
}

func (s *scripted) Execute(context.Context, remote.Caller, remote.ExecuteRequest) (remote.Receipt, error) {
	s.entered.Add(1)
	return remote.Receipt{}, s.err
}

// A server that takes a request on a connection that was used before and hangs up:
// net/http sends such a request again when it may.
func TestR27_hang_up_on_a_used_connection(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"at the first byte", "after the whole request"} {
		t.Run(strings.ReplaceAll(when, " ", "_"), func(t *testing.T) {
			t.Parallel()
			executes := &atomic.Int64{}
			url := hangUp(t, when, executes)
			c, err := httptransport.NewClient(httptransport.ClientConfig{URL: url, AllowPlaintext: true, Margin: 5 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			for round := range 10 {
				if _, err := c.GetReceipt(t.Context(), anAsk()); !errors.Is(err, &remote.ProtocolError{}) {
					if _, ok := errors.AsType[*remote.ProtocolError](err); !ok {
						t.Fatalf("round %d: the connection was not made ready: %v", round, err)
					}
				}
				before := executes.Load()
				if _, err := c.Execute(t.Context(), anExecute()); err == nil {
					t.Fatal("an execute without an answer was answered")
				}
				if n := executes.Load() - before; n > 1 {
					t.Fatalf("round %d: the server saw one execute %d times", round, n)
				}
			}
			if executes.Load() == 0 {
				t.Fatal("no execute arrived")
			}
			// The same with a request that net/http may send again, which it does: so this test can fail.
			plain := &http.Client{}
			defer plain.CloseIdleConnections()
			again := false
			for range 10 {
				warm, err := plain.Post(url+"/get_receipt", "application/json", strings.NewReader("{}"))
				if err != nil {
					t.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, warm.Body)
				_ = warm.Body.Close()
				before := executes.Load()
				req, err := http.NewRequest(http.MethodPost, url+"/execute", bytes.NewReader([]byte("{}")))
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("Idempotency-Key", "k")
				if resp, err := plain.Do(req); err == nil {
					_ = resp.Body.Close()
				}
				again = again || executes.Load()-before > 1
			}
			if !again {
				t.Error("net/http repeats nothing here; the test shows nothing")
			}
		})
	}
}

// hangUp answers receipts with a refusal and hangs up on executes.
func hangUp(t *testing.T, when string, executes *atomic.Int64) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	t.Cleanup(func() { _ = l.Close(); wg.Wait() })
	refusal := `{"type":"urn:harness:tool-outcomes:1:session_unknown","title":"There is no such session here.","status":404,"code":"session_unknown","admitted":"unknown","request_id":"r"}`
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer func() { _ = conn.Close() }()
				in := bufio.NewReader(conn)
				for {
					req, err := http.ReadRequest(in)
					if err != nil {
						return
					}
					if strings.HasSuffix(req.URL.Path, "execute") {
						executes.Add(1)
						if when != "at the first byte" {
							_, _ = io.Copy(io.Discard, req.Body)
						}
						return
					}
					_, _ = io.Copy(io.Discard, req.Body)
					_, _ = fmt.Fprintf(conn, "HTTP/1.1 404 Not Found\r\nContent-Type: application/problem+json\r\nContent-Length: %d\r\n\r\n%s", len(refusal), refusal)
				}
			})
		}
	})
	return "http://" + l.Addr().String()
}

func TestR27_answers_of_something_in_between(t *testing.T) {
	t.Parallel()
	problem := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	good := `{"type":"urn:harness:tool-outcomes:1:tool_not_allowed","title":"The tool is not offered under this contract.","status":403,"code":"tool_not_allowed","admitted":"no","session":"s","epoch":"e","request_id":"r"}`
	hits := &atomic.Int64{}
	for what, h := range map[string]http.HandlerFunc{
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere/execute", http.StatusTemporaryRedirect)
		},
		"html": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, "<html>secret")
		},
		"empty":         func(http.ResponseWriter, *http.Request) {},
		"other problem": problem(503, `{"type":"about:blank","title":"Service Unavailable","status":503}`),
		"other status":  problem(500, good),
		"other title":   problem(403, strings.Replace(good, "The tool is", "The secret is", 1)),
		"other member":  problem(403, strings.Replace(good, `{"type"`, `{"detail":"secret","type"`, 1)),
		"ok and empty": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, "{}")
		},
		"endless": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(make([]byte, remote.MaxMessageBytes+1))
		},
	} {
		t.Run(strings.ReplaceAll(what, " ", "_"), func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasPrefix(r.URL.Path, "/elsewhere") {
					hits.Add(1)
				}
				h(w, r)
			}))
			defer s.Close()
			c, err := httptransport.NewClient(httptransport.ClientConfig{URL: s.URL, AllowPlaintext: true})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			_, err = c.Execute(t.Context(), anExecute())
			if _, refused := errors.AsType[*remote.ProtocolError](err); err == nil || refused {
				t.Errorf("got %v, want an error that is no refusal", err)
			}
			if text := fmt.Sprintf("%v %+v", err, err); strings.Contains(text, "secret") || strings.Contains(text, s.URL) || strings.Contains(text, "4111") {
				t.Errorf("the error says %s", text)
			}
		})
	}
	t.Cleanup(func() {
		if hits.Load() != 0 {
			t.Error("a redirect was followed")
		}
	})
}

func TestR55_problem_details_are_constant(t *testing.T) {
	t.Parallel()
	schema, err := jsonschema.NewCompiler().Compile("../testdata/schemas/problem.json")
	if err != nil {
		t.Fatal(err)
	}
	s := &scripted{}
	h, err := httptransport.NewHandler(httptransport.HandlerConfig{Handler: s, Identify: httptransport.Bearer(identify), Package: []byte(`{}`)})
	if err != nil {
		t.Fatal(err)
	}
	text, err := remote.Encode(anExecute())
	if err != nil {
		t.Fatal(err)
	}
	ask := func(change func(*http.Request)) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, "/outcomes/execute", bytes.NewReader(text))
		r.Header.Set("Authorization", "Bearer "+secret)
		r.Header.Set("Content-Type", "application/json")
		change(r)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	for _, code := range remote.Codes() {
		s.err = fmt.Errorf("marker-4c: %w", &remote.ProtocolError{Code: code, Message: "marker-4c", Admitted: remote.AdmittedNo, Session: "s", Epoch: "e", RequestID: "r"})
		w := ask(func(*http.Request) {})
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(w.Body.Bytes()))
		if err != nil || schema.Validate(value) != nil || w.Header().Get("Content-Type") != "application/problem+json" || w.Code < 400 {
			t.Errorf("%s: %d %s: %v", code, w.Code, w.Body, schema.Validate(value))
		}
		if strings.Contains(w.Body.String(), "marker-4c") || strings.Contains(w.Body.String(), "4111") || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %s", code, w.Body)
		}
	}
	s.err = errors.New("marker-4c")
	if w := ask(func(*http.Request) {}); w.Code != 500 || strings.Contains(w.Body.String(), "marker-4c") {
		t.Errorf("an error of another kind: %d %s", w.Code, w.Body)
	}
	entered := s.entered.Load()
	for what, c := range map[string]struct {
		status int
		change func(*http.Request)
	}{
		"no token":      {403, func(r *http.Request) { r.Header.Del("Authorization") }},
		"two tokens":    {403, func(r *http.Request) { r.Header.Add("Authorization", "Bearer "+secret) }},
		"other scheme":  {403, func(r *http.Request) { r.Header.Set("Authorization", "Basic "+secret) }},
		"other token":   {403, func(r *http.Request) { r.Header.Set("Authorization", "Bearer x") }},
		"other media":   {415, func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }},
		"get":           {405, func(r *http.Request) { r.Method = http.MethodGet }},
		"other path":    {404, func(r *http.Request) { r.URL.Path = "/outcomes/run" }},
		"too large":     {413, func(r *http.Request) { r.Body = io.NopCloser(bytes.NewReader(make([]byte, remote.MaxMessageBytes+1))) }},
		"not a message": {400, func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader("{}")) }},
	} {
		if w := ask(c.change); w.Code != c.status || strings.Contains(w.Body.String(), secret) {
			t.Errorf("%s: %d %s, want %d", what, w.Code, w.Body, c.status)
		}
	}
	if s.entered.Load() != entered {
		t.Error("the handler was entered by a request that is none")
	}
	if w := ask(func(r *http.Request) { r.Method, r.URL.Path = http.MethodGet, "/outcomes/package" }); w.Code != 200 || w.Body.String() != "{}" {
		t.Errorf("package: %d %s", w.Code, w.Body)
	}
	panics, err := httptransport.NewHandler(httptransport.HandlerConfig{Handler: s, Identify: func(*http.Request) (remote.Caller, error) { panic("x") }})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	panics.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/execute", nil))
	if w.Code != 403 {
		t.Errorf("an identity function that panics: %d", w.Code)
	}
}

// certificate is a client's, signed by itself.
func certificate(t *testing.T, name string) (tls.Certificate, *x509.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, leaf
}

func TestR07_identity_by_client_certificate(t *testing.T) {
	t.Parallel()
	known, leaf := certificate(t, "agent-1")
	stranger, _ := certificate(t, "agent-1")
	s := &scripted{err: &remote.ProtocolError{Code: remote.SessionUnknown, Admitted: remote.AdmittedUnknown, RequestID: "r"}}
	h, err := httptransport.NewHandler(httptransport.HandlerConfig{Handler: s, Identify: httptransport.Certificate(
		func(_ context.Context, c *x509.Certificate) (remote.Caller, error) {
			if c.Subject.CommonName != "agent-1" {
				return remote.Caller{}, errors.New("nobody")
			}
			return caller, nil
		})})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(h)
	server.EnableHTTP2 = true
	server.Config.ErrorLog = nil
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	server.TLS = &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool}
	server.StartTLS()
	defer server.Close()
	as := func(certs ...tls.Certificate) error {
		conf := server.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
		conf.Certificates, conf.NextProtos = certs, nil
		c, err := httptransport.NewClient(httptransport.ClientConfig{URL: server.URL, TLS: conf})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_, err = c.Execute(t.Context(), anExecute())
		return err
	}
	if refused, ok := errors.AsType[*remote.ProtocolError](as(known)); !ok || refused.Code != remote.SessionUnknown {
		t.Errorf("a known certificate: %v", refused)
	}
	for what, err := range map[string]error{"another's": as(stranger), "none": as()} {
		if _, refused := errors.AsType[*remote.ProtocolError](err); err == nil || refused {
			t.Errorf("with %s certificate: %v", what, err)
		}
	}
	if s.entered.Load() != 1 {
		t.Errorf("entered %d times, want 1", s.entered.Load())
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/execute", nil))
	if w.Code != 403 {
		t.Errorf("without TLS: %d", w.Code)
	}
}

func TestR28_times_and_addresses(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-gate }))
	defer s.Close()
	defer close(gate)
	c, err := httptransport.NewClient(httptransport.ClientConfig{URL: s.URL, AllowPlaintext: true, Margin: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Execute(t.Context(), anExecute()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a server that does not answer: %v", err)
	}
	for _, url := range []string{s.URL, "ftp://x", "https://user:pass@x", "https://x/?a=1", "https://x/#a", "", "https://"} {
		if _, err := httptransport.NewClient(httptransport.ClientConfig{URL: url}); err == nil || strings.Contains(err.Error(), "pass") {
			t.Errorf("%q: %v", url, err)
		}
	}
	if _, err := httptransport.NewHandler(httptransport.HandlerConfig{}); err == nil || !strings.Contains(err.Error(), "Identify") {
		t.Errorf("a handler of nothing: %v", err)
	}
	server := httptransport.NewServer(http.NotFoundHandler())
	if server.ReadHeaderTimeout <= 0 || server.ReadTimeout <= 0 || server.WriteTimeout <= remote.MaxWait || server.IdleTimeout <= 0 || server.MaxHeaderBytes <= 0 {
		t.Errorf("a time or size is not bounded: %+v", server)
	}
}
