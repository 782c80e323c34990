package place

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestAddressesAsTheStoreTakesThem(t *testing.T) {
	t.Parallel()
	for address, want := range map[string][5]string{ // network, address, user, password, command
		"redis://localhost":             {"tcp", "localhost:6379", "", "", "redis-cli -h localhost -p 6379 HGETALL key"},
		"redis://localhost:7000/3":      {"tcp", "localhost:7000", "", "", "redis-cli -h localhost -p 7000 -n 3 HGETALL key"},
		"redis://[::1]:7000":            {"tcp", "[::1]:7000", "", "", "redis-cli -h ::1 -p 7000 HGETALL key"},
		"redis://:a/b@c@h:1":            {"tcp", "h:1", "", "a/b@c", "redis-cli -h h -p 1 HGETALL key"},
		"redis://:a%2Fb%3F@h:1":         {"tcp", "h:1", "", "a/b?", "redis-cli -h h -p 1 HGETALL key"},
		"redis://us er:p:w@h:1":         {"tcp", "h:1", "us er", "p:w", "redis-cli -h h -p 1 --user 'us er' HGETALL key"},
		"rediss://u:p@h:1/0":            {"tcp", "h:1", "u", "p", "redis-cli -h h -p 1 --tls --user u HGETALL key"},
		"unix:///run/redis.sock":        {"unix", "/run/redis.sock", "", "", "redis-cli -s /run/redis.sock HGETALL key"},
		"unix://:p@/run/it's.sock?db=2": {"unix", "/run/it's.sock", "", "p", `redis-cli -s '/run/it'\''s.sock' -n 2 HGETALL key`},
	} {
		o, err := newOutside(address)
		if err != nil {
			t.Errorf("%s: got %v", address, err)
			continue
		}
		got := [5]string{o.options.Network, o.options.Addr, o.options.Username, o.options.Password, o.Command("key")}
		if got != want || (o.options.TLSConfig != nil) != strings.HasPrefix(address, "rediss:") {
			t.Errorf("%s: got %q, want %q", address, got, want)
		}
		if o.NeedsPassword() != (want[3] != "") || want[3] != "" && strings.Contains(got[4], want[3]) && len(want[3]) > 1 {
			t.Errorf("%s: the command shows the password: %s", address, got[4])
		}
		if err := o.close(); err != nil {
			t.Error(err)
		}
	}
}

func TestAddressesThatAreNone(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"", "marker_7", "redis+cluster://u:marker_7@h:1", "redis+sentinel://u:marker_7@h:1/m", "redis://u:%zzmarker_7@h", "redis://u:marker_7@h/x",
	} {
		_, err := newOutside(address)
		if !errors.As(err, new(*AddressError)) || strings.Contains(err.Error(), "marker_7") {
			t.Errorf("%q: got %v, want an AddressError that quotes nothing", address, err)
		}
	}
}

func TestMilliseconds(t *testing.T) {
	t.Parallel()
	for left, want := range map[int64]int64{-1: -1, -2: -2, 0: 0, 1e6: 1, 5_000_000_000: 5000} {
		if got := milliseconds(time.Duration(left)); got != want {
			t.Errorf("%d: got %d, want %d", left, got, want)
		}
	}
}

func TestShellWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":          "''",
		"a-b_c.d/1": "a-b_c.d/1",
		"a b":       "'a b'",
		"{x}":       "'{x}'",
		"$(rm -rf)": "'$(rm -rf)'",
		"it's":      `'it'\''s'`,
	} {
		if got := quoted(text); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}
