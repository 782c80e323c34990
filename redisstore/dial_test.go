package redisstore_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/internal/redistest"
	"github.com/toolharness/harness/lifecycle"
	"github.com/toolharness/harness/redisstore"
)

// works sends one message of every kind, with bodies of every size.
func works(t *testing.T, s *redisstore.Store, name string) {
	t.Helper()
	state, err := s.OpenRun(ctx, opening(t, runKey(name)))
	if err != nil {
		t.Fatal(err)
	}
	for i, size := range []int{10, 64 << 10, 3 << 20} {
		raw := bytes.Repeat([]byte{byte(i)}, size)
		a := admission(state, fmt.Sprintf("c%d", i), canonical.EffectWrite)
		got := admit(t, s, a)
		if _, err := s.Save(ctx, canonical.Saving{Run: a.Run, Call: a.Call, Claim: a.Claim, Raw: canonical.NewRaw(raw), Expires: got.Expires}); err != nil {
			t.Fatal(err)
		}
		e := ready(a, got.Expires, raw)
		e.RawSaved = true
		complete(t, s, e)
		if rec, err := s.Record(ctx, a.Run, a.Call); err != nil || rec.State != lifecycle.Ready || !bytes.Equal(rec.Raw.Bytes, raw) {
			t.Fatalf("%d bytes: %v", size, err)
		}
		b := admission(state, fmt.Sprintf("d%d", i), canonical.EffectRead)
		complete(t, s, ready(b, admit(t, s, b).Expires, raw))
		if err := s.Delete(ctx, b.Run, b.Call); err != nil {
			t.Fatal(err)
		}
	}
	heads, err := s.Heads(ctx, state.Run, []canonical.CallName{callName("c0"), callName("d0"), callName("c2")})
	if err != nil || !heads[0].Exists() || heads[1].Exists() || !heads[2].Exists() {
		t.Fatalf("heads = %+v, %v", heads, err)
	}
	unknown := admission(state, "unknown", canonical.EffectWrite)
	admit(t, s, unknown)
	complete(t, s, canonical.Ending{Run: unknown.Run, Call: unknown.Call, Claim: unknown.Claim, Verdict: lifecycle.Fail(lifecycle.OutcomeUnknown, lifecycle.Unknown)})
	if out, err := s.Outstanding(ctx, state.Run); err != nil || len(out.Effects) != 1 {
		t.Fatalf("outstanding = %+v, %v", out, err)
	}
	if err := s.Resolve(ctx, canonical.Resolution{Run: state.Run, Call: unknown.Call, Verdict: canonical.Applied, Evidence: "x"}); err != nil {
		t.Fatal(err)
	}
	if set, err := s.SettlementOf(ctx, state.Run, unknown.Call); err != nil || set.Resolved == nil {
		t.Fatalf("settlement = %+v, %v", set, err)
	}
	if _, err := s.Sweep(ctx, canonical.Sweeping{Run: state.Run, Max: 10}); err != nil {
		t.Fatal(err)
	}
	if order, err := s.Order(ctx, state.Run, 0, 100); err != nil || len(order) != 7 {
		t.Fatalf("order = %v, %v", order, err)
	}
	if closed, err := s.CloseRun(ctx, canonical.Closing{Run: state.Run, Token: token, Seen: 7}); err != nil || closed.LastSeq != 7 || len(closed.Open) != 0 {
		t.Fatalf("close = %+v, %v", closed, err)
	}
}

func TestDial_single(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e env) { works(t, dial(t, e.url, e.options()), "r") })
}

// fewRights makes a user who may do no more than the store needs, and what is added.
func fewRights(more ...any) []any {
	rights := []any{"acl", "setuser", "few", "on", ">s3cr@t/:", "resetchannels", "-@all", "~harness:v1:*"}
	for _, command := range strings.Fields("eval evalsha multi exec ping hello auth info type time hset hget hmget hexists hdel hkeys " +
		"hlen hstrlen hincrby del pexpireat pttl zadd zrem zcount zscore zrange zrangebyscore") {
		rights = append(rights, "+"+command)
	}
	return append(rights, more...)
}

// A user who may do no more than the store needs.
func TestDial_user_with_few_rights(t *testing.T) {
	t.Parallel()
	p := redistest.Server(t)
	if err := p.Client().Do(ctx, fewRights()...).Err(); err != nil {
		t.Fatal(err)
	}
	s := dial(t, "redis://few:s3cr%40t%2F%3A@"+p.Addr(), nil)
	works(t, s, "r")
	if r, err := s.Health(ctx); err != nil || len(r.Findings) != 0 {
		t.Errorf("health = %+v, %v; want no findings", r, err)
	}
	_, err := redisstore.Dial(ctx, "redis://few:wrong-SECRET@"+p.Addr(), nil)
	if err == nil || strings.Contains(err.Error(), "SECRET") || strings.Contains(fmt.Sprintf("%#v", err), "SECRET") || !errors.As(err, new(*redisstore.Error)) {
		t.Errorf("a wrong password = %v, want an Error without it", err)
	}
}

func TestDial_socket(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "sock") // a socket's path may not be long
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	p := redistest.Server(t)
	path := filepath.Join(dir, "s")
	relay(t, path, p.Addr())
	works(t, dial(t, "unix://"+path+"?db=2", nil), "r")
	second := redis.NewClient(&redis.Options{Addr: p.Addr(), DB: 2})
	defer second.Close()
	if second.DBSize(ctx).Val() == 0 {
		t.Error("nothing was stored in database 2")
	}
}

// relay listens on a socket of ours: the server's own is private to redistest.
func relay(t *testing.T, path, addr string) {
	t.Helper()
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("tcp", addr)
			if err != nil {
				_ = from.Close()
				return
			}
			go func() { _, _ = io.Copy(from, to); _ = from.Close() }()
			go func() { _, _ = io.Copy(to, from); _ = to.Close() }()
		}
	}()
}

// certificate makes a certificate for 127.0.0.1 that trusts itself, as files and
// as a pool.
func certificate(t *testing.T) (certFile, keyFile string, roots *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certFile, keyFile, roots = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"), x509.NewCertPool()
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if err := errors.Join(os.WriteFile(certFile, cert, 0o600),
		os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600)); err != nil {
		t.Fatal(err)
	}
	if !roots.AppendCertsFromPEM(cert) {
		t.Fatal("the certificate is none")
	}
	return certFile, keyFile, roots
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func TestDial_TLS(t *testing.T) {
	t.Parallel()
	certFile, keyFile, roots := certificate(t)
	port := freePort(t)
	redistest.Server(t, "--tls-port", port, "--tls-cert-file", certFile, "--tls-key-file", keyFile, "--tls-auth-clients", "no")
	address := "rediss://127.0.0.1:" + port
	works(t, dial(t, address, &redisstore.Options{TLS: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}), "r")
	_, err := redisstore.Dial(ctx, address, &redisstore.Options{MaxRetries: -1})
	if !errors.As(err, new(*redisstore.Error)) || !errors.As(err, new(*tls.CertificateVerificationError)) {
		t.Errorf("a certificate that nobody trusts = %v, want it refused", err)
	}
	_, err = redisstore.Dial(ctx, "redis://127.0.0.1:"+port, &redisstore.Options{TLS: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}})
	if !errors.As(err, new(*redisstore.OptionError)) {
		t.Errorf("TLS set for an address without = %v, want an OptionError", err)
	}
}

func TestDial_refusals(t *testing.T) {
	t.Parallel()
	if _, err := redisstore.Dial(ctx, "http://u:SECRET@h", nil); !errors.As(err, new(*redisstore.URLError)) || strings.Contains(err.Error(), "SECRET") {
		t.Errorf("another scheme = %v, want a URLError", err)
	}
	if _, err := redisstore.Dial(ctx, "redis://127.0.0.1:1", &redisstore.Options{Prefix: "{"}); !errors.As(err, new(*redisstore.OptionError)) {
		t.Errorf("a prefix with a brace = %v, want an OptionError", err)
	}
	if _, err := redisstore.New(nil, nil); !errors.As(err, new(*redisstore.OptionError)) {
		t.Errorf("no client = %v, want an OptionError", err)
	}
	_, err := redisstore.Dial(ctx, "redis://u:SECRET@127.0.0.1:"+freePort(t), &redisstore.Options{MaxRetries: -1})
	if !errors.As(err, new(*redisstore.Error)) || strings.Contains(err.Error(), "SECRET") || strings.Contains(err.Error(), "127.0.0.1") {
		t.Errorf("nobody there = %v, want an Error without the address", err)
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := redisstore.Dial(gone, "redis://127.0.0.1:"+freePort(t), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that is over = %v, want context.Canceled", err)
	}
}

// Two stores with different prefixes share nothing, and New leaves the client
// to its owner.
func TestNew_prefix_and_ownership(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e env) {
		one, err := redisstore.New(e.client, &redisstore.Options{Prefix: "one"})
		if err != nil {
			t.Fatal(err)
		}
		two, err := redisstore.New(e.client, &redisstore.Options{Prefix: "two"})
		if err != nil {
			t.Fatal(err)
		}
		open(t, one, "r")
		if _, err := two.Inspect(ctx, runKey("r")); !errors.Is(err, canonical.ErrRunMissing) {
			t.Errorf("the run of another prefix = %v, want ErrRunMissing", err)
		}
		if err := one.Close(); err != nil {
			t.Error(err)
		}
		if err := e.client.Ping(ctx).Err(); err != nil {
			t.Errorf("after Close of the store its borrowed client = %v", err)
		}
	})
}

// The deadline of a context reaches a server that hangs.
func TestDial_context_reaches_a_hanging_server(t *testing.T) {
	t.Parallel()
	p := redistest.Server(t)
	s := dial(t, p.URL(), &redisstore.Options{MaxRetries: -1})
	open(t, s, "r")
	p.Pause()
	defer p.Resume()
	limited, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := s.Inspect(limited, runKey("r"))
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 2*time.Second {
		t.Errorf("inspect = %v after %v, want DeadlineExceeded at once", err, time.Since(start))
	}
}
