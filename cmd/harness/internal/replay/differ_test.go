package replay_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/cmd/harness/internal/place"
	"github.com/toolharness/harness/cmd/harness/internal/replay"
	"github.com/toolharness/harness/internal/redistest"
)

// other is a tool that returns what was recorded and one byte more, for one call.
func other(id canonical.ToolCallID) func(boundary.Executor) boundary.Executor {
	return func(x boundary.Executor) boundary.Executor {
		return boundary.ExecutorFunc(func(ctx context.Context, in boundary.Input, raw io.Writer) error {
			if err := x.Execute(ctx, in, raw); err != nil || in.Identity.Call.ID != id {
				return err
			}
			_, err := io.WriteString(raw, "x")
			return err
		})
	}
}

func TestOtherBytesThanRecordedAreToldFromAnyStore(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"", redistest.Shared(t).URL()} {
		d := replayed(t, replay.Options{Files: []string{file(t, everything())}, Redis: address}.WithExecutor(other("a")))
		if d.RawMismatch != 2 || d.Ready != 4 || d.OK() || d.Files[0].RawMismatch != 2 { // the id is used in both conversations
			t.Errorf("got %s", shown(d.Counts))
		}
	}
}

// tampered changes, before it is read back, the stored record of the call b.
func tampered(t *testing.T, client redis.UniversalClient, change func(ctx context.Context, key string) error) func(context.Context, canonical.RunKey) {
	return func(ctx context.Context, run canonical.RunKey) {
		key := place.RecordOf(run, canonical.CallName{ID: "b"})
		if n, err := client.Exists(ctx, key).Result(); err != nil || n == 0 {
			return // the other conversation has no such call
		}
		if err := change(ctx, key); err != nil {
			t.Error(err)
		}
	}
}

func TestDamagedRecordsDiffer(t *testing.T) {
	t.Parallel()
	db := redistest.Shared(t)
	client := db.Client()
	for name, change := range map[string]func(ctx context.Context, key string) error{
		"removed":         func(ctx context.Context, key string) error { return client.Del(ctx, key).Err() },
		"of another type": func(ctx context.Context, key string) error { return replaced(ctx, client, key) },
		"other bytes": func(ctx context.Context, key string) error {
			fields, err := client.HGetAll(ctx, key).Result()
			for field, value := range fields {
				if value == "[1,2]" { // raw and agent result
					err = client.HSet(ctx, key, field, "[1,3]").Err()
				}
			}
			return err
		},
	} {
		o := replay.Options{Files: []string{file(t, everything())}, Redis: db.URL()}
		d := replayed(t, o.BeforeReading(tampered(t, client, change)))
		if d.RawMismatch != 1 || d.OK() {
			t.Errorf("%s: got %s", name, shown(d.Counts))
		}
	}
}

func replaced(ctx context.Context, client redis.UniversalClient, key string) error {
	if err := client.Del(ctx, key).Err(); err != nil {
		return err
	}
	return client.LPush(ctx, key, "x").Err()
}

// A ledger that counts other admissions than the tool entries is a broken promise, and no number is shown.
func TestAdmissionsThatAreNoEntries(t *testing.T) {
	t.Parallel()
	db := redistest.Shared(t)
	o := replay.Options{Files: []string{file(t, everything())}, Redis: db.URL()}.WithExecutor(func(boundary.Executor) boundary.Executor {
		return boundary.ExecutorFunc(func(_ context.Context, _ boundary.Input, raw io.Writer) error {
			_, err := io.WriteString(raw, "not the replay's own tool")
			return err
		})
	})
	_, err := replay.Run(t.Context(), o, replay.Silent{})
	if err == nil || !strings.Contains(err.Error(), "admissions, the tool") {
		t.Errorf("got %v", err)
	}
}

func TestNothingIsLeftUnlessAsked(t *testing.T) {
	t.Parallel()
	db := redistest.Shared(t)
	client := db.Client()
	if err := client.Set(t.Context(), "harness:v1:{x:replay-other}:run", "of somebody else", 0).Err(); err != nil {
		t.Fatal(err)
	}
	o := replay.Options{Files: []string{file(t, everything())}, Redis: db.URL()}
	if d := replayed(t, o); d.Kept != (replay.Kept{}) || d.Store != "redis" {
		t.Errorf("got %+v", d)
	}
	if left, err := client.Keys(t.Context(), "*").Result(); err != nil || fmt.Sprint(left) != "[harness:v1:{x:replay-other}:run]" {
		t.Errorf("got %q, %v, want the key of somebody else alone", left, err)
	}
	o.Keep = true
	d := replayed(t, o)
	// 7 records, and for each of 2 runs the ledger and the order; beside them the list of the scope's runs.
	if left, err := client.DBSize(t.Context()).Result(); err != nil || left != 1+1+11 || d.Kept.Keys != 11 {
		t.Errorf("got %d keys, %d told, %v, want 11, the list and the one of somebody else", left, d.Kept.Keys, err)
	}
	_, key, found := strings.Cut(strings.TrimSuffix(d.Kept.LookWith, "'"), " HGETALL '")
	if n, err := client.HLen(t.Context(), key).Result(); !found || err != nil || n == 0 || d.Kept.NeedsPassword {
		t.Errorf("%q shows %d fields, %v", d.Kept.LookWith, n, err)
	}
	if left, err := client.TTL(t.Context(), key).Result(); err != nil || left <= 0 {
		t.Errorf("the record lives %v, %v", left, err)
	}
}

// The server goes away in the middle: no count is made of that.
func TestServerThatIsLost(t *testing.T) {
	t.Parallel()
	server := redistest.Server(t)
	o := replay.Options{Files: []string{file(t, chat(asks(call("a", "get", "{}")), result("a", "text")))}, Redis: server.URL()}
	_, err := replay.Run(t.Context(), o.BeforeReading(func(context.Context, canonical.RunKey) { server.Stop() }), replay.Silent{})
	if err == nil || strings.Contains(err.Error(), server.Addr()) {
		t.Errorf("got %v, want an error without the address", err)
	}
}
