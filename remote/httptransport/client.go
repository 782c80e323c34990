package httptransport

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/toolharness/harness/remote"
)

// ClientConfig is what a client is made of.
type ClientConfig struct {
	URL string // base of the handler, https; no user, query or fragment in it

	// Token gives the bearer token of each request; nil: none, as with client
	// certificates, which are in TLS.
	Token func(context.Context) (string, error)
	TLS   *tls.Config // nil: the system's roots

	AllowPlaintext bool          // http, for loopback and tests
	ConnectTimeout time.Duration // zero: 5 s
	Margin         time.Duration // how long an answer may take beyond the wait that was asked for; zero: 10 s
}

// Client is a remote.Transport over HTTP. It owns its connections.
type Client struct {
	cfg  ClientConfig
	base string
	http *http.Client
	conn *http.Transport
}

// NewClient checks the configuration. It opens no connection.
func NewClient(cfg ClientConfig) (*Client, error) {
	u, err := url.Parse(cfg.URL)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, &remote.ConfigError{Problems: []error{&remote.FormError{Field: "URL", Reason: "is not scheme, host and path alone"}}}
	case u.Scheme != "https" && (u.Scheme != "http" || !cfg.AllowPlaintext):
		return nil, &remote.ConfigError{Problems: []error{&remote.FormError{Field: "URL", Reason: "is not https"}}}
	case cfg.ConnectTimeout < 0 || cfg.Margin < 0:
		return nil, &remote.ConfigError{Problems: []error{&remote.FormError{Field: "timeout", Reason: "is negative"}}}
	}
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = 5 * time.Second
	}
	if cfg.Margin == 0 {
		cfg.Margin = 10 * time.Second
	}
	conn := &http.Transport{
		DialContext:         (&net.Dialer{Timeout: cfg.ConnectTimeout}).DialContext,
		TLSClientConfig:     cfg.TLS.Clone(),
		TLSHandshakeTimeout: cfg.ConnectTimeout,
		IdleConnTimeout:     idleTimeout / 2, // before the server closes them
		MaxIdleConnsPerHost: 16,
		ForceAttemptHTTP2:   true,
		DisableCompression:  true,
		// No Proxy: nothing is taken from the environment.
	}
	return &Client{
		cfg: cfg, base: strings.TrimSuffix(cfg.URL, "/") + "/", conn: conn,
		http: &http.Client{Transport: conn, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}, nil
}

// Close drops idle connections. Calls under way end as they would have.
func (c *Client) Close() { c.conn.CloseIdleConnections() }

// Error is a call without an answer of the protocol. Its text has neither address
// nor what anybody said; the cause may hold both.
type Error struct {
	Method remote.Method
	Status int // of an HTTP response that is no message of the protocol; 0 without one
	cause  error
}

// Error has method and status.
func (e *Error) Error() string {
	if e.Status != 0 {
		return fmt.Sprintf("httptransport: %s: an answer of another kind, status %d", e.Method, e.Status)
	}
	return fmt.Sprintf("httptransport: %s: no answer", e.Method)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }

// Format prints Error() for every verb.
func (e *Error) Format(f fmt.State, _ rune) { fmt.Fprint(f, e.Error()) }

// Negotiate implements remote.Transport.
func (c *Client) Negotiate(ctx context.Context, m remote.NegotiateRequest) (remote.NegotiateResponse, error) {
	return call[remote.NegotiateRequest, remote.NegotiateResponse](ctx, c, remote.MethodNegotiate, m, 0)
}

// Execute implements remote.Transport.
func (c *Client) Execute(ctx context.Context, m remote.ExecuteRequest) (remote.Receipt, error) {
	return call[remote.ExecuteRequest, remote.Receipt](ctx, c, remote.MethodExecute, m, m.WaitMS)
}

// GetReceipt implements remote.Transport.
func (c *Client) GetReceipt(ctx context.Context, m remote.ReceiptRequest) (remote.Receipt, error) {
	return call[remote.ReceiptRequest, remote.Receipt](ctx, c, remote.MethodGetReceipt, m, m.WaitMS)
}

// Cancel implements remote.Transport.
func (c *Client) Cancel(ctx context.Context, m remote.CancelRequest) (remote.CancelResponse, error) {
	return call[remote.CancelRequest, remote.CancelResponse](ctx, c, remote.MethodCancel, m, 0)
}

// ReadEvidence implements remote.Transport.
func (c *Client) ReadEvidence(ctx context.Context, m remote.EvidenceRequest) (remote.EvidenceResponse, error) {
	return call[remote.EvidenceRequest, remote.EvidenceResponse](ctx, c, remote.MethodReadEvidence, m, 0)
}

// Package fetches the server's package. Where it comes from over the same channel as
// everything else, it is worth as much trust as that channel.
func (c *Client) Package(ctx context.Context) ([]byte, error) {
	const method = remote.Method("package")
	status, media, body, err := c.send(ctx, http.MethodGet, method, nil, 0, remote.MaxPackage)
	if err != nil {
		return nil, err
	}
	if status != http.StatusOK || media != "application/json" {
		return nil, refusal(method, status, media, body)
	}
	return body, nil
}

func call[Q request, A answer](ctx context.Context, c *Client, method remote.Method, q Q, waitMS int64) (A, error) {
	var none A
	text, err := remote.Encode(q)
	if err != nil {
		return none, err
	}
	status, media, body, err := c.send(ctx, http.MethodPost, method, text, waitMS, remote.MaxMessageBytes)
	if err != nil {
		return none, err
	}
	if status != http.StatusOK || media != "application/json" {
		return none, refusal(method, status, media, body)
	}
	a, err := remote.Decode[A](body)
	if err != nil {
		return none, &Error{Method: method, Status: status, cause: err}
	}
	return a, nil
}

// refusal is what a response that is no answer means: a refusal of the other end, or
// something in between.
func refusal(method remote.Method, status int, media string, body []byte) error {
	if media == problemType {
		if e, ok := parseProblem(status, body); ok {
			return e
		}
	}
	return &Error{Method: method, Status: status}
}

// once is a body that can be read one time. Being no type that net/http knows, it
// leaves Request.GetBody nil, so that nothing below can send it again.
type once struct{ io.Reader }

var errTooLarge = errors.New("httptransport: the answer is too large")

func (c *Client) send(ctx context.Context, verb string, method remote.Method, text []byte, waitMS int64, limit int64) (int, string, []byte, error) {
	fail := func(err error) (int, string, []byte, error) {
		return 0, "", nil, &Error{Method: method, cause: err}
	}
	outer := ctx
	ctx, cancel := context.WithTimeout(ctx, time.Duration(waitMS)*time.Millisecond+c.cfg.Margin)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, verb, c.base+string(method), nil)
	if err != nil {
		return fail(err)
	}
	if text != nil {
		req.Body, req.ContentLength = io.NopCloser(once{bytes.NewReader(text)}), int64(len(text))
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", "application/json, "+problemType)
	if c.cfg.Token != nil {
		token, err := c.cfg.Token(ctx)
		if err != nil {
			return fail(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return fail(errors.Join(err, context.Cause(outer)))
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	switch {
	case err != nil:
		return fail(errors.Join(err, context.Cause(outer)))
	case int64(len(body)) > limit:
		return fail(errTooLarge)
	}
	media, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil {
		return 0, "", nil, &Error{Method: method, Status: resp.StatusCode, cause: err}
	}
	return resp.StatusCode, media, body, nil
}
