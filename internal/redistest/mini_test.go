package redistest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/toolharness/harness/internal/redistest"
)

// The three clocks of a server must never be seen apart: TIME, an absolute
// expiry, and a remaining life.
func TestMini_Advance_moves_every_clock_alike(t *testing.T) {
	t.Parallel()
	ctx, m := context.Background(), redistest.Mini(t)
	c := m.Client()
	birth := serverTime(t, c)
	set(t, c, "relative", 10*time.Second)
	set(t, c, "absolute", 0)
	if err := c.PExpireAt(ctx, "absolute", birth.Add(10*time.Second)).Err(); err != nil {
		t.Fatal(err)
	}

	m.Advance(9999 * time.Millisecond)
	for _, key := range []string{"relative", "absolute"} {
		if got := c.PTTL(ctx, key).Val(); got != time.Millisecond {
			t.Errorf("%s: remaining life %v, want 1ms", key, got)
		}
		if got, want := c.PExpireTime(ctx, key).Val(), time.Duration(birth.Add(10*time.Second).UnixMilli())*time.Millisecond; got != want {
			t.Errorf("%s: expires at %v, want %v", key, got, want)
		}
	}
	m.Advance(time.Millisecond)
	for _, key := range []string{"relative", "absolute"} {
		if err := c.Get(ctx, key).Err(); !errors.Is(err, redis.Nil) {
			t.Errorf("%s: error %v, want redis.Nil", key, err)
		}
	}
	if got := serverTime(t, c); !got.Equal(birth.Add(10*time.Second)) || !got.Equal(m.Now()) {
		t.Errorf("TIME %v, Now %v, want %v", got, m.Now(), birth.Add(10*time.Second))
	}
}

// Scripts read the time and set expiries too, through another path of the
// server than commands do.
func TestMini_Advance_is_seen_by_scripts(t *testing.T) {
	t.Parallel()
	ctx, m := context.Background(), redistest.Mini(t)
	c := m.Client()
	set(t, c, "k", 5*time.Second)
	m.Advance(2 * time.Second)
	script := redis.NewScript(`local t = redis.call('TIME') return {t[1], redis.call('PTTL', KEYS[1])}`)
	got, err := script.Run(ctx, c, []string{"k"}).Slice()
	if err != nil {
		t.Fatal(err)
	}
	want := m.Now().Unix()
	if s, ok := got[0].(string); !ok || s != itoa(want) {
		t.Errorf("TIME in a script %v, want %d", got[0], want)
	}
	if got[1] != int64(3000) {
		t.Errorf("PTTL in a script %v, want 3000", got[1])
	}
}

func TestMini_time_stands_still_by_itself(t *testing.T) {
	t.Parallel()
	m := redistest.Mini(t)
	first := serverTime(t, m.Client())
	for range 200 {
		set(t, m.Client(), "k", time.Hour)
	}
	if got := serverTime(t, m.Client()); !got.Equal(first) {
		t.Errorf("TIME moved from %v to %v without Advance", first, got)
	}
	if got := m.Client().PTTL(context.Background(), "k").Val(); got != time.Hour {
		t.Errorf("remaining life %v, want 1h", got)
	}
}

func TestMini_is_fresh_and_ends_with_its_test(t *testing.T) {
	t.Parallel()
	var addr string
	t.Run("first", func(t *testing.T) {
		m := redistest.Mini(t)
		addr = m.Addr()
		set(t, m.Client(), "left over", 0)
	})
	if !refuses(addr) {
		t.Errorf("%s still answers after its test", addr)
	}
	if keys := redistest.Mini(t).Client().Keys(context.Background(), "*").Val(); len(keys) != 0 {
		t.Errorf("keys %q in a fresh miniredis, want none", keys)
	}
}

func TestMini_URL_parses(t *testing.T) {
	t.Parallel()
	m := redistest.Mini(t)
	o, err := redis.ParseURL(m.URL())
	if err != nil || o.Addr != m.Addr() {
		t.Errorf("ParseURL(%q) = %+v, %v", m.URL(), o, err)
	}
}
