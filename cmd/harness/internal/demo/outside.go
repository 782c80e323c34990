package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/toolharness/harness/canonical"
	"github.com/toolharness/harness/redisstore"
)

// outside looks at the server with a client of its own, as any other program could, and knows of the store nothing but
// the documented beginning of a run's keys.
type outside struct {
	client  *redis.Client
	options *redis.Options
}

// newOutside takes an address that redisstore has accepted. The errors of the client's own parser quote what they refuse,
// a password included, so none of them is passed on.
func newOutside(address string) (*outside, error) {
	options, err := redis.ParseURL(escaped(address))
	if err != nil {
		return nil, &OptionError{Reason: "the address must name one server, as redis://, rediss:// or unix://"}
	}
	options.ContextTimeoutEnabled = true
	options.DisableIdentity = true
	options.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return &outside{client: redis.NewClient(options), options: options}, nil
}

// escaped writes user and password of an address with all their escapes. redisstore takes a slash or an @ in a password
// as it is, the client's own parser does not.
func escaped(address string) string {
	scheme, rest, _ := strings.Cut(address, "://")
	rest, query, hasQuery := strings.Cut(rest, "?")
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		name, secret, _ := strings.Cut(rest[:at], ":")
		user, err1 := url.PathUnescape(name)
		password, err2 := url.PathUnescape(secret)
		if errors.Join(err1, err2) != nil {
			return ""
		}
		rest = url.UserPassword(user, password).String() + rest[at:]
	}
	if hasQuery {
		rest += "?" + query
	}
	return scheme + "://" + rest
}

func (o *outside) close() error { return o.client.Close() }

// prefixOf begins every key of a run and no other: the run's id has none of the characters that end it.
func prefixOf(run canonical.RunKey) string {
	return fmt.Sprintf("%s:v%d:{%s:%s}:", redisstore.DefaultPrefix, canonical.SchemaVersion, run.Scope.Digest(), run.Run)
}

// recordOf is the key of one call's record.
func recordOf(run canonical.RunKey, call canonical.CallName) string {
	return prefixOf(run) + "call:" + call.String()
}

// scanStep is how many keys the server looks at in one step: it serves nobody else meanwhile.
const scanStep = 1000

// keys finds every key of the runs, each with its time to live: -1 ms for one without.
func (o *outside) keys(ctx context.Context, runs []canonical.RunKey) ([]Key, error) {
	var keys []Key
	seen := map[string]bool{}
	for _, run := range runs {
		found := o.client.Scan(ctx, 0, prefixOf(run)+"*", scanStep).Iterator() // nothing in a prefix has a meaning for a pattern
		for found.Next(ctx) {
			name := found.Val()
			if seen[name] || !strings.HasPrefix(name, prefixOf(run)) {
				continue // a scan may give a key twice
			}
			seen[name] = true
			left, err := o.client.PTTL(ctx, name).Result()
			if err != nil {
				return nil, unseen(err)
			}
			keys = append(keys, Key{Name: name, TTL: milliseconds(left)})
		}
		if err := found.Err(); err != nil {
			return nil, unseen(err)
		}
	}
	slices.SortFunc(keys, func(a, b Key) int { return cmp.Compare(a.Name, b.Name) })
	return keys, nil
}

// milliseconds undoes the client's reading of the answers -1 and -2, which it gives as nanoseconds.
func milliseconds(left time.Duration) int64 {
	if left < 0 {
		return int64(left)
	}
	return left.Milliseconds()
}

// remove takes exactly the keys of the runs away.
func (o *outside) remove(ctx context.Context, runs []canonical.RunKey) error {
	keys, err := o.keys(ctx, runs)
	if err != nil || len(keys) == 0 {
		return err
	}
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = key.Name
	}
	if err := o.client.Unlink(ctx, names...).Err(); err != nil {
		return unseen(err)
	}
	return nil
}

// unseen leaves the client's words out; they can quote addresses and keys.
func unseen(err error) error { return &outsideError{err} }

type outsideError struct{ cause error }

func (e *outsideError) Error() string { return "demo: the server did not answer the demo's own client" }
func (e *outsideError) Unwrap() error { return e.cause }

// command is what a person types to see a key. A password is never part of it.
func (o *outside) command(key string) string {
	words := []string{"redis-cli"}
	if o.options.Network == "unix" {
		words = append(words, "-s", quoted(o.options.Addr))
	} else if host, port, err := net.SplitHostPort(o.options.Addr); err == nil {
		words = append(words, "-h", quoted(host), "-p", port)
	}
	if o.options.TLSConfig != nil {
		words = append(words, "--tls")
	}
	if o.options.DB != 0 {
		words = append(words, "-n", strconv.Itoa(o.options.DB))
	}
	if o.options.Username != "" {
		words = append(words, "--user", quoted(o.options.Username))
	}
	return strings.Join(append(words, "HGETALL", quoted(key)), " ")
}

// quoted makes one word of a text for a shell.
func quoted(text string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_./-:", r)
	}
	if text != "" && strings.IndexFunc(text, func(r rune) bool { return !plain(r) }) < 0 {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// needsPassword reports whether a person must give one to redis-cli, which reads it from REDISCLI_AUTH.
func (o *outside) needsPassword() bool { return o.options.Password != "" }
