package httptransport_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/remote"
	"github.com/toolharness/harness/remote/httptransport"
	"github.com/toolharness/harness/remote/remotetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const secret = "secret-token-77c1"

var caller = remote.Caller{Scope: canonical.Scope{Tenant: "t"}, Principal: canonical.Principal{User: "u"}}

func identify(_ context.Context, token string) (remote.Caller, error) {
	if token != secret {
		return remote.Caller{}, errors.New("no such token")
	}
	return caller, nil
}

// wire is a server with a switch that loses answers.
type wire struct {
	*httptest.Server
	lose  atomic.Bool
	token atomic.Value
}

func newWire(t *testing.T, h remote.Handler, http2 bool) (*wire, *httptransport.Client) {
	t.Helper()
	handler, err := httptransport.NewHandler(httptransport.HandlerConfig{Handler: h, Identify: httptransport.Bearer(identify)})
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{}
	w.token.Store(secret)
	w.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if http2 != (r.ProtoMajor == 2) {
			t.Errorf("the request came as %s", r.Proto)
		}
		if w.lose.Swap(false) {
			handler.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		}
		handler.ServeHTTP(rw, r)
	}))
	w.EnableHTTP2 = http2
	w.StartTLS()
	t.Cleanup(w.Close)
	tls := w.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	tls.NextProtos = nil
	if !http2 {
		tls.NextProtos = []string{"http/1.1"}
	}
	c, err := httptransport.NewClient(httptransport.ClientConfig{
		URL: w.URL + "/outcomes", TLS: tls, Margin: 20 * time.Second,
		Token: func(context.Context) (string, error) { return w.token.Load().(string), nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return w, c
}

func TestContract(t *testing.T) {
	t.Parallel()
	for name, http2 := range map[string]bool{"http1": false, "http2": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			remotetest.Run(t, func(t *testing.T, h remote.Handler) remotetest.Peer {
				w, c := newWire(t, h, http2)
				return remotetest.Peer{
					Transport: c, Caller: caller, Secret: secret,
					Revoke:    func() { w.token.Store("revoked") },
					DropReply: func() { w.lose.Store(true) },
					Gone:      func() { c.Close(); w.CloseClientConnections(); _ = w.Listener.Close() },
				}
			})
		})
	}
}
