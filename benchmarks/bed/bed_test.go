package bed

import (
	"errors"
	"os/exec"
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"github.com/redis/go-redis/v9"

	"github.com/toolharness/harness/internal/redistest"
	"github.com/toolharness/harness/redisstore"
)

// The floor's client must pay what the store's client pays: all options are those
// that Dial gives, functions and what a connection is told apart.
func TestClient_has_the_options_of_Dial(t *testing.T) {
	t.Parallel()
	mini := redistest.Mini(t)
	store, err := redisstore.Dial(t.Context(), mini.URL(), &redisstore.Options{PoolSize: 7, IOTimeout: IOTimeout})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	field := reflect.ValueOf(store).Elem().FieldByName("client")
	theirs := reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem().Interface().(*redis.Client)
	ours := ClientOf(mini.Addr(), 7)
	defer ours.Close()
	got, want := reflect.ValueOf(ours.Options()).Elem(), reflect.ValueOf(theirs.Options()).Elem()
	for i := range want.NumField() {
		if f := want.Type().Field(i); f.IsExported() && f.Type.Kind() != reflect.Func {
			if g, w := got.Field(i).Interface(), want.Field(i).Interface(); !reflect.DeepEqual(g, w) {
				t.Errorf("%s: %v, want %v", f.Name, g, w)
			}
		}
	}
}

// server starts a redis-server, or skips as other tests do.
func server(t *testing.T) *Server {
	t.Helper()
	redistest.Shared(t) // says loudly what is missing
	s, err := Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestUse_counts_what_was_sent(t *testing.T) {
	t.Parallel()
	s := server(t)
	client := s.Client(1)
	defer client.Close()
	if err := client.Ping(t.Context()).Err(); err != nil { // connects
		t.Fatal(err)
	}
	before, err := s.Use(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if err := client.Set(t.Context(), "k", strings.Repeat("x", 1000), 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	after, err := s.Use(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	spent := after.Sub(before)
	if got := spent.Reads - s.Questions(); got != 10 {
		t.Errorf("%d reads, want 10", got)
	}
	if spent.In < 10_000 || spent.In > 12_000 || spent.Memory < 1000 || spent.Moved != 0 {
		t.Errorf("%+v, want a little more than 10000 bytes in, 1000 kept and nothing moved", spent)
	}
	for _, pages := range []bool{true, false} {
		if err := s.Empty(t.Context(), pages); err != nil {
			t.Fatal(err)
		}
	}
	if keys, err := s.Keys(t.Context()); err != nil || len(keys) != 1 || keys[0] != 0 {
		t.Errorf("keys %v, %v, want none on one node", keys, err)
	}
}

func TestPlainRate_of_redis_benchmark(t *testing.T) {
	t.Parallel()
	s := server(t)
	rate, err := s.PlainRate(t.Context(), 1024, 2, 500)
	if _, missing := exec.LookPath("redis-benchmark"); missing != nil {
		if !errors.Is(err, ErrNoTool) {
			t.Errorf("error %v, want ErrNoTool", err)
		}
		return
	}
	if err != nil || rate <= 0 {
		t.Errorf("rate %v, %v", rate, err)
	}
}

func TestRateIn_refuses_other_tables(t *testing.T) {
	t.Parallel()
	for _, out := range []string{"", "\"SET\",\"1\"\n", "\"test\",\"rps\"\n\"SET\",\"fast\"\n", "\"test\"\n\"SET\"\n", "\"test\",\"rps\"\n\"SET\",\"0\"\n"} {
		if rate, err := rateIn(out); err == nil {
			t.Errorf("rateIn(%q) = %v, want an error", out, rate)
		}
	}
}

func TestStart_tells_why_a_server_did_not_start(t *testing.T) {
	t.Parallel()
	redistest.Shared(t)
	s, err := Start("--no-such-option", "1")
	if err == nil {
		_ = s.Close()
		t.Fatal("a server with an option that does not exist has started")
	}
	if !strings.Contains(err.Error(), "bed:") {
		t.Errorf("error %v", err)
	}
}
