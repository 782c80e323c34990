package boundary_test

import (
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/internal/redistest"
	"github.com/toolharness/harness/redisstore"
	"github.com/toolharness/harness/redisstore/embedded"
)

// backends are the stores that rows on records are shown on.
func backends() []backend { return append([]backend{fakeBackend()}, keyedBackends()...) }

// keyedBackends have keys that anybody can list.
func keyedBackends() []backend {
	return []backend{{"embedded", embeddedDeck}, {"redis", redisDeck}}
}

// embeddedDeck is a store in the process whose time stands still but for
// advance.
func embeddedDeck(t *testing.T) *deck {
	t.Helper()
	server, err := embedded.StartWith(embedded.Options{Frozen: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	t.Cleanup(func() { _ = client.Close() })
	return &deck{
		Store: server.Store(), now: server.Now, keys: keysOf(client), soon: time.Second,
		advance: func(_ *testing.T, d time.Duration) { server.Advance(d) },
	}
}

// redisDeck is a store on a redis-server. Its time cannot be moved, so advance
// waits; tests let no more than seconds pass.
func redisDeck(t *testing.T) *deck {
	t.Helper()
	db := redistest.Shared(t)
	return &deck{Store: dial(t, db.URL()), now: time.Now, keys: keysOf(db.Client()), advance: pass, soon: 2 * time.Second}
}

// pass waits for real time to pass, as a server's does.
func pass(t *testing.T, d time.Duration) {
	t.Helper()
	timer := time.NewTimer(d + 2*time.Millisecond) // a server counts whole ones
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
		t.Fatal("the test ended while time passed")
	}
}

func dial(t *testing.T, url string) *redisstore.Store {
	t.Helper()
	store, err := redisstore.Dial(t.Context(), url, nil)
	if err != nil {
		t.Fatalf("Dial: %v", err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Errorf("closing the store: %v", err)
		}
	})
	return store
}

// keysOf lists all keys of a database; each test has one of its own, so the runs
// need not be told apart.
func keysOf(client *redis.Client) func(*testing.T, ...canonical.RunKey) []string {
	return func(t *testing.T, _ ...canonical.RunKey) []string {
		t.Helper()
		keys, err := client.Keys(t.Context(), "*").Result()
		if err != nil {
			t.Fatalf("KEYS: %v", err)
		}
		slices.Sort(keys)
		return keys
	}
}
