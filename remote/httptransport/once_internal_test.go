package httptransport

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/toolharness/harness/remote"
)

// catcher keeps the request that net/http would send.
type catcher struct{ got *http.Request }

func (c *catcher) RoundTrip(r *http.Request) (*http.Response, error) {
	c.got = r
	return nil, errors.New("caught")
}

// net/http sends again what it can rewind and what it holds to be idempotent.
func TestR27_execute_cannot_be_rewound(t *testing.T) {
	t.Parallel()
	c, err := NewClient(ClientConfig{URL: "https://host.example/x"})
	if err != nil {
		t.Fatal(err)
	}
	caught := &catcher{}
	c.http.Transport = caught
	_, err = c.Execute(t.Context(), remote.ExecuteRequest{
		Protocol: remote.Protocol, Session: "s", Epoch: "e", RequestID: "r", Tool: "t", Contract: "sha256:" + strings.Repeat("0", 64),
		Fingerprint: "sha256:" + strings.Repeat("0", 64), Arguments: "{}", ArgumentsSHA256: strings.Repeat("0", 64),
	})
	if err == nil || caught.got == nil {
		t.Fatalf("nothing was sent: %v", err)
	}
	r := caught.got
	if r.GetBody != nil || r.Method != http.MethodPost || r.Body == nil || r.ContentLength <= 0 {
		t.Errorf("GetBody %t, method %s, length %d", r.GetBody != nil, r.Method, r.ContentLength)
	}
	for name := range r.Header {
		if strings.Contains(strings.ToLower(name), "idempotency") {
			t.Errorf("header %s invites a repetition", name)
		}
	}
	if c.conn.Proxy != nil {
		t.Error("a proxy is taken from the environment")
	}
	// A request made the usual way can be rewound, so this test can fail.
	usual, err := http.NewRequest(http.MethodPost, "https://host.example", bytes.NewReader([]byte("{}")))
	if err != nil || usual.GetBody == nil {
		t.Errorf("net/http has changed: %v", err)
	}
	if _, err := io.ReadAll(r.Body); err != nil {
		t.Error(err)
	}
}
