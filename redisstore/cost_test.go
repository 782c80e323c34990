package redisstore_test

import (
	"strings"
	"testing"

	"github.com/toolharness/harness/canonical"
)

// What a read call costs the server's one thread is the number of commands that its
// scripts issue, more than what each of them does. A command that comes on top
// belongs into docs/performance.md.
func TestScripts_issue_no_more_commands_than_they_must(t *testing.T) {
	t.Parallel()
	e := server(t)
	state := open(t, e.store, "cost")
	call := func(id string) {
		a := admission(state, id, canonical.EffectRead)
		got, err := e.store.Admit(ctx, a)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.store.Complete(ctx, ready(a, got.Expires, []byte("short"))); err != nil {
			t.Fatal(err)
		}
	}
	call("warm") // has the scripts loaded
	if err := e.client.ConfigResetStat(ctx).Err(); err != nil {
		t.Fatal(err)
	}
	call("measured")
	text, err := e.client.Info(ctx, "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for line := range strings.Lines(text) {
		if name, rest, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "cmdstat_"), ":calls="); ok && !strings.Contains(name, "|") {
			got[name], _, _ = strings.Cut(rest, ",")
		}
	}
	want := map[string]string{
		"evalsha": "2", "time": "2", "type": "9", "hmget": "4", "zcount": "1", "hset": "3", "hstrlen": "1", "hlen": "1",
		"hincrby": "1", "pexpireat": "3", "zadd": "2", "zrem": "1",
	}
	for name, n := range want {
		if got[name] != n {
			t.Errorf("%s was issued %q times, want %s", name, got[name], n)
		}
	}
	for name, n := range got {
		if want[name] == "" && name != "info" {
			t.Errorf("%s was issued %s times, want none", name, n)
		}
	}
}
