package httptransport

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/toolharness/harness/remote"
)

// Identify turns what a request proves of its sender into host context. An error, a
// panic and the zero Caller are nobody. It must not look at the body.
type Identify func(*http.Request) (remote.Caller, error)

// Bearer identifies by the token of an Authorization header, alone in it. The function
// must compare in constant time, or look up a digest.
func Bearer(caller func(ctx context.Context, token string) (remote.Caller, error)) Identify {
	return func(r *http.Request) (remote.Caller, error) {
		values := r.Header.Values("Authorization")
		if len(values) != 1 {
			return remote.Caller{}, errNobody
		}
		scheme, token, ok := strings.Cut(values[0], " ")
		if !ok || !strings.EqualFold(scheme, "Bearer") || token == "" {
			return remote.Caller{}, errNobody
		}
		return caller(r.Context(), token)
	}
}

// Certificate identifies by the client certificate that the TLS handshake verified.
// The server's tls.Config must ask for it with RequireAndVerifyClientCert.
func Certificate(caller func(ctx context.Context, leaf *x509.Certificate) (remote.Caller, error)) Identify {
	return func(r *http.Request) (remote.Caller, error) {
		if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 || len(r.TLS.PeerCertificates) == 0 {
			return remote.Caller{}, errNobody
		}
		return caller(r.Context(), r.TLS.PeerCertificates[0])
	}
}

var errNobody = errors.New("httptransport: no proven caller")

// HandlerConfig is what a handler is made of.
type HandlerConfig struct {
	Handler  remote.Handler // required
	Identify Identify       // required
	Package  []byte         // served to identified callers; nil: not served
}

// Handler serves the protocol below any path; the last element names the method.
type Handler struct{ cfg HandlerConfig }

// NewHandler checks the configuration.
func NewHandler(cfg HandlerConfig) (*Handler, error) {
	var problems []error
	if cfg.Handler == nil {
		problems = append(problems, &remote.FormError{Field: "Handler", Reason: "is missing"})
	}
	if cfg.Identify == nil {
		problems = append(problems, &remote.FormError{Field: "Identify", Reason: "is missing"})
	}
	if len(problems) > 0 {
		return nil, &remote.ConfigError{Problems: problems}
	}
	return &Handler{cfg}, nil
}

// Times of a server.
const (
	headerTimeout = 10 * time.Second
	readTimeout   = 30 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeader     = 32 << 10
)

// NewServer is an http.Server with bounds on headers and times that fit h. Its
// address, TLS and listener are the host's.
func NewServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout,
		WriteTimeout: readTimeout + remote.MaxWait + readTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
	}
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	who, err := h.identify(r)
	if err != nil {
		refuse(w, &remote.ProtocolError{Code: remote.Unauthorized})
		return
	}
	switch method := path.Base(r.URL.Path); {
	case method == "package" && r.Method == http.MethodGet && h.cfg.Package != nil:
		write(w, http.StatusOK, "application/json", h.cfg.Package)
	case r.Method != http.MethodPost:
		status(w, http.StatusMethodNotAllowed)
	default:
		h.post(w, r, who, remote.Method(method))
	}
}

func (h *Handler) identify(r *http.Request) (who remote.Caller, err error) {
	err = errNobody
	defer func() { _ = recover() }()
	if who, err = h.cfg.Identify(r); err == nil && who == (remote.Caller{}) {
		err = errNobody
	}
	return who, err
}

func (h *Handler) post(w http.ResponseWriter, r *http.Request, who remote.Caller, method remote.Method) {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		status(w, http.StatusUnsupportedMediaType)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, remote.MaxMessageBytes))
	if err != nil {
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			status(w, http.StatusRequestEntityTooLarge)
			return
		}
		status(w, http.StatusBadRequest)
		return
	}
	ctx := r.Context()
	switch method {
	case remote.MethodNegotiate:
		serve(ctx, w, who, body, h.cfg.Handler.Negotiate)
	case remote.MethodExecute:
		serve(ctx, w, who, body, h.cfg.Handler.Execute)
	case remote.MethodGetReceipt:
		serve(ctx, w, who, body, h.cfg.Handler.GetReceipt)
	case remote.MethodCancel:
		serve(ctx, w, who, body, h.cfg.Handler.Cancel)
	case remote.MethodReadEvidence:
		serve(ctx, w, who, body, h.cfg.Handler.ReadEvidence)
	default:
		status(w, http.StatusNotFound)
	}
}

// request and answer are the messages that go each way.
type (
	request interface {
		remote.NegotiateRequest | remote.ExecuteRequest | remote.ReceiptRequest | remote.CancelRequest | remote.EvidenceRequest
	}
	answer interface {
		remote.NegotiateResponse | remote.Receipt | remote.CancelResponse | remote.EvidenceResponse
	}
)

func serve[Q request, A answer](ctx context.Context, w http.ResponseWriter, who remote.Caller, body []byte,
	method func(context.Context, remote.Caller, Q) (A, error)) {
	q, err := remote.Decode[Q](body)
	if err != nil {
		refuse(w, &remote.ProtocolError{Code: remote.InvalidRequest})
		return
	}
	a, err := method(ctx, who, q)
	if err != nil {
		refused, ok := errors.AsType[*remote.ProtocolError](err)
		if !ok {
			refused = &remote.ProtocolError{Code: remote.Internal}
		}
		refuse(w, refused)
		return
	}
	text, err := remote.Encode(a)
	if err != nil {
		refuse(w, &remote.ProtocolError{Code: remote.Internal})
		return
	}
	write(w, http.StatusOK, "application/json", text)
}

func write(w http.ResponseWriter, code int, media string, body []byte) {
	w.Header().Set("Content-Type", media)
	w.WriteHeader(code)
	_, _ = w.Write(body) // who does not take the answer asks for the receipt
}

// status answers what is no message of the protocol, without a word of it.
func status(w http.ResponseWriter, code int) {
	text, _ := json.Marshal(struct {
		Type   string `json:"type"`
		Title  string `json:"title"`
		Status int    `json:"status"`
	}{"about:blank", http.StatusText(code), code})
	write(w, code, problemType, text)
}
