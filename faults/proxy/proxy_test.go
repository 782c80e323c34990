package proxy_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/toolharness/harness/faults/proxy"
	"github.com/toolharness/harness/internal/redistest"
)

const (
	addText   = "-- add counts.\nreturn {'added', tostring(redis.call('INCR', KEYS[1]))}"
	otherText = "-- other does nothing.\nreturn {'other'}"
)

// bed is a proxy in front of an empty database, and one client on each side.
type bed struct {
	t      *testing.T
	proxy  *proxy.Proxy
	client *redis.Client // through the proxy, without retries
	direct *redis.Client
}

func newBed(t *testing.T) *bed {
	t.Helper()
	server := redistest.Server(t)
	p, err := proxy.Start(server.Addr(), proxy.NewScripts())
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(&redis.Options{Addr: p.Addr(), MaxRetries: -1, ReadTimeout: 150 * time.Millisecond, DisableIdentity: true})
	t.Cleanup(func() {
		_ = client.Close()
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	b := &bed{t: t, proxy: p, client: client, direct: server.Client()}
	for _, text := range []string{addText, otherText} { // so that the proxy knows them by their digests
		if err := client.Eval(t.Context(), text, []string{"warm"}).Err(); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func (b *bed) add() error {
	return redis.NewScript(addText).EvalSha(b.t.Context(), b.client, []string{"n"}).Err()
}

// inMulti puts a payload beside the script, as the store does.
func (b *bed) inMulti() error {
	_, err := b.client.TxPipelined(b.t.Context(), func(p redis.Pipeliner) error {
		p.Do(b.t.Context(), "hset", "h", "f", strings.Repeat("x", 10_000))
		redis.NewScript(addText).EvalSha(b.t.Context(), p, []string{"n"})
		return nil
	})
	return err
}

// count waits until nothing is under way and answers how often the script ran.
func (b *bed) count() string {
	b.t.Helper()
	_ = b.client.Close()
	ctx, cancel := context.WithTimeout(b.t.Context(), 5*time.Second)
	defer cancel()
	if err := b.proxy.Quiet(ctx); err != nil {
		b.t.Fatalf("the proxy does not come to rest: %v", err)
	}
	n, err := b.direct.Get(b.t.Context(), "n").Result()
	if err == redis.Nil {
		return "0"
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return n
}

func TestFault_strikes_where_it_is_placed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		place proxy.Place
		kind  proxy.Kind
		fails bool
		count string // executions on the server in the end
	}{
		{proxy.Before, proxy.Cut, true, "0"},
		{proxy.InRequest, proxy.Cut, true, "0"},
		{proxy.After, proxy.Cut, true, "1"},
		{proxy.InReply, proxy.Cut, true, "1"},
		{proxy.Before, proxy.Slow, false, "1"},
		{proxy.InRequest, proxy.Slow, false, "1"},
		{proxy.After, proxy.Slow, false, "1"},
		{proxy.InReply, proxy.Slow, false, "1"},
		{proxy.Before, proxy.HalfOpen, true, "0"},
		{proxy.InRequest, proxy.HalfOpen, true, "0"},
		{proxy.After, proxy.HalfOpen, true, "1"},
		{proxy.InReply, proxy.HalfOpen, true, "1"},
		{proxy.Before, proxy.Pass, false, "1"},
	} {
		for name, send := range map[string]func(*bed) error{"bare": (*bed).add, "multi": (*bed).inMulti} {
			t.Run(fmt.Sprintf("%s/%s %s", name, c.place, c.kind), func(t *testing.T) {
				t.Parallel()
				b := newBed(t)
				trap := b.proxy.Arm(proxy.Fault{Script: "add", Place: c.place, Kind: c.kind, Delay: 60 * time.Millisecond, Seed: 7})
				start := time.Now()
				err := send(b)
				took := time.Since(start)
				if (err != nil) != c.fails {
					t.Errorf("the client got %v, want an error: %t", err, c.fails)
				}
				if late := c.kind == proxy.Slow; late && took < 60*time.Millisecond {
					t.Errorf("took %v, want the delay of 60ms", took)
				}
				if got := b.count(); got != c.count || trap.Fired() != 1 {
					t.Errorf("executed %s times after %d strikes, want %s after 1", got, trap.Fired(), c.count)
				}
			})
		}
	}
}

// Every part of a transaction can be lost by itself; then none of it happens.
func TestFault_strikes_a_part_of_a_transaction(t *testing.T) {
	t.Parallel()
	for _, part := range []proxy.Part{proxy.PartPayload, proxy.PartScript, proxy.PartExec} {
		for _, place := range []proxy.Place{proxy.Before, proxy.InRequest} {
			t.Run(fmt.Sprintf("%s %q", place, part), func(t *testing.T) {
				t.Parallel()
				b := newBed(t)
				trap := b.proxy.Arm(proxy.Fault{Script: "add", Part: part, Place: place, Kind: proxy.Cut, Seed: 3})
				if err := b.inMulti(); err == nil {
					t.Error("the client got an answer")
				}
				if got := b.count(); got != "0" || trap.Fired() != 1 || b.direct.Exists(t.Context(), "h").Val() != 0 {
					t.Errorf("executed %s times, payload there: %d, strikes %d", got, b.direct.Exists(t.Context(), "h").Val(), trap.Fired())
				}
			})
		}
	}
}

func TestFault_counts_messages_of_its_script_alone(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	trap := b.proxy.Arm(proxy.Fault{Script: "add", Place: proxy.After, Kind: proxy.Cut, Nth: 2, Times: 2})
	for i, want := range []bool{false, true, true, false} {
		if err := redis.NewScript(otherText).EvalSha(t.Context(), b.client, nil).Err(); err != nil {
			t.Fatalf("another script failed: %v", err)
		}
		if err := b.add(); (err != nil) != want {
			t.Errorf("message %d: %v, want an error: %t", i+1, err, want)
		}
	}
	if trap.Seen() != 4 || trap.Fired() != 2 {
		t.Errorf("saw %d and struck %d, want 4 and 2", trap.Seen(), trap.Fired())
	}
	if got := b.count(); got != "4" {
		t.Errorf("executed %s times, want 4: only replies were lost", got)
	}
}

func TestFault_always_ends_with_Heal(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	trap := b.proxy.Arm(proxy.Fault{Script: "add", Place: proxy.Before, Kind: proxy.Cut, Times: proxy.Always})
	for range 3 {
		if b.add() == nil {
			t.Error("a message passed")
		}
	}
	b.proxy.Heal()
	if err := b.add(); err != nil {
		t.Errorf("after Heal: %v", err)
	}
	if got := b.count(); got != "1" || trap.Fired() != 3 {
		t.Errorf("executed %s times after %d strikes, want 1 after 3", got, trap.Fired())
	}
}

// What is late still arrives when nobody waits for it any more.
func TestFault_slow_outlives_its_client(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.proxy.Arm(proxy.Fault{Script: "add", Place: proxy.InRequest, Kind: proxy.Slow, Delay: 400 * time.Millisecond, Seed: 1})
	if err := b.add(); err == nil {
		t.Error("the client got an answer before its time limit")
	}
	if got := b.count(); got != "1" {
		t.Errorf("executed %s times, want 1", got)
	}
}

func TestFault_Do_runs_at_the_place(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.proxy.Arm(proxy.Fault{Script: "add", Place: proxy.Before, Do: func() { b.direct.ScriptFlush(context.Background()) }})
	if err := b.add(); !redis.HasErrorPrefix(err, "NOSCRIPT") {
		t.Errorf("got %v, want NOSCRIPT: the scripts were dropped before the message arrived", err)
	}
}

func TestClose_ends_connections_that_hang(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	trap := b.proxy.Arm(proxy.Fault{Script: "add", Place: proxy.Before, Kind: proxy.Slow, Delay: time.Hour})
	if err := b.add(); err == nil || trap.Fired() != 1 {
		t.Fatalf("got %v after %d strikes, want the client's time limit after 1", err, trap.Fired())
	}
	start := time.Now()
	if err := b.proxy.Close(); err != nil || time.Since(start) > 5*time.Second {
		t.Errorf("Close took %v: %v", time.Since(start), err)
	}
	if err := b.proxy.Close(); err != nil {
		t.Errorf("a second Close: %v", err)
	}
	if err := b.add(); err == nil {
		t.Error("a closed proxy passes something on")
	}
}
