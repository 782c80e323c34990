package place

import (
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

// Outside looks at the server with a client of its own, as any other program could, and knows of the store nothing but
// the documented beginning of a run's keys.
type Outside struct {
	client  *redis.Client
	options *redis.Options
}

// newOutside takes an address that redisstore has accepted. The errors of the client's own parser quote what they refuse,
// a password included, so none of them is passed on.
func newOutside(address string) (*Outside, error) {
	options, err := redis.ParseURL(escaped(address))
	if err != nil {
		return nil, &AddressError{}
	}
	options.ContextTimeoutEnabled = true
	options.DisableIdentity = true
	options.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return &Outside{client: redis.NewClient(options), options: options}, nil
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

func (o *Outside) close() error { return o.client.Close() }

// Key is a key as a client of its own sees it.
type Key struct {
	Name string `json:"key"`
	TTL  int64  `json:"ttl_ms"` // -1 for a key without an expiry
}

// PrefixOf begins every key of a run and no other: the run's id has none of the characters that end it.
func PrefixOf(run canonical.RunKey) string { return seriesOf(run.Scope, string(run.Run)) + "}:" }

// seriesOf begins every key of the runs whose ids begin as given.
func seriesOf(scope canonical.Scope, id string) string {
	return fmt.Sprintf("%s:v%d:{%s:%s", redisstore.DefaultPrefix, canonical.SchemaVersion, scope.Digest(), id)
}

// RecordOf is the key of one call's record.
func RecordOf(run canonical.RunKey, call canonical.CallName) string {
	return PrefixOf(run) + "call:" + call.String()
}

// scanStep is how many keys the server looks at in one step: it serves nobody else meanwhile.
const scanStep = 1000

// Keys finds every key of the runs, sorted, each with its time to live: -1 ms for one without.
func (o *Outside) Keys(ctx context.Context, runs []canonical.RunKey) ([]Key, error) {
	names, err := o.namesOf(ctx, runs)
	if err != nil {
		return nil, err
	}
	var keys []Key
	for _, name := range names {
		left, err := o.client.PTTL(ctx, name).Result()
		if err != nil {
			return nil, unseen(err)
		}
		keys = append(keys, Key{Name: name, TTL: milliseconds(left)})
	}
	return keys, nil
}

func (o *Outside) namesOf(ctx context.Context, runs []canonical.RunKey) ([]string, error) {
	var names []string
	for _, run := range runs {
		more, err := o.names(ctx, PrefixOf(run))
		if err != nil {
			return nil, err
		}
		names = append(names, more...)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// names are the keys that begin so, sorted. Nothing in a beginning has a meaning for a pattern.
func (o *Outside) names(ctx context.Context, beginning string) ([]string, error) {
	var names []string
	found := o.client.Scan(ctx, 0, beginning+"*", scanStep).Iterator()
	for found.Next(ctx) {
		if strings.HasPrefix(found.Val(), beginning) {
			names = append(names, found.Val())
		}
	}
	if err := found.Err(); err != nil {
		return nil, unseen(err)
	}
	slices.Sort(names) // a scan may give a key twice
	return slices.Compact(names), nil
}

// milliseconds undoes the client's reading of the answers -1 and -2, which it gives as nanoseconds.
func milliseconds(left time.Duration) int64 {
	if left < 0 {
		return int64(left)
	}
	return left.Milliseconds()
}

// listOf is the key of the list in which a scope's runs stand, other programs' runs too.
func listOf(scope canonical.Scope) string {
	return fmt.Sprintf("%s:v%d:{%s}:runs", redisstore.DefaultPrefix, canonical.SchemaVersion, scope.Digest())
}

// Remove takes exactly the keys of the runs away, and the runs out of the lists of their scopes. Each run costs one pass
// over the server's keys.
func (o *Outside) Remove(ctx context.Context, runs []canonical.RunKey) error {
	names, err := o.namesOf(ctx, runs)
	if err != nil {
		return err
	}
	if err := o.unlink(ctx, names); err != nil {
		return err
	}
	for _, run := range runs {
		if err := o.client.ZRem(ctx, listOf(run.Scope), string(run.Run)).Err(); err != nil {
			return unseen(err)
		}
	}
	return nil
}

// RemoveSeries takes away every key of every run of the scope whose id begins as given, in one pass however many runs
// there are, and takes these runs out of the scope's list. The beginning must be one that chance made, or other runs go
// with it.
func (o *Outside) RemoveSeries(ctx context.Context, scope canonical.Scope, id string) error {
	names, err := o.names(ctx, seriesOf(scope, id))
	if err != nil {
		return err
	}
	if err := o.unlink(ctx, names); err != nil {
		return err
	}
	var listed []any
	found := o.client.ZScan(ctx, listOf(scope), 0, id+"*", scanStep).Iterator() // member and score by turns
	for member := true; found.Next(ctx); member = !member {
		if member && strings.HasPrefix(found.Val(), id) {
			listed = append(listed, found.Val())
		}
	}
	if err := found.Err(); err != nil {
		return unseen(err)
	}
	for part := range slices.Chunk(listed, scanStep) {
		if err := o.client.ZRem(ctx, listOf(scope), part...).Err(); err != nil {
			return unseen(err)
		}
	}
	return nil
}

// CountSeries is how many keys RemoveSeries would take away.
func (o *Outside) CountSeries(ctx context.Context, scope canonical.Scope, id string) (int, error) {
	names, err := o.names(ctx, seriesOf(scope, id))
	return len(names), err
}

// unlink removes keys, so many at a time that no command of it holds the server up.
func (o *Outside) unlink(ctx context.Context, names []string) error {
	for part := range slices.Chunk(names, scanStep) {
		if err := o.client.Unlink(ctx, part...).Err(); err != nil {
			return unseen(err)
		}
	}
	return nil
}

// unseen leaves the client's words out; they can quote addresses and keys.
func unseen(err error) error { return &answerError{err} }

type answerError struct{ cause error }

func (e *answerError) Error() string { return "the server did not answer the program's own client" }
func (e *answerError) Unwrap() error { return e.cause }

// Command is what a person types to see a key. A password is never part of it.
func (o *Outside) Command(key string) string {
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

// NeedsPassword reports whether a person must give one to redis-cli, which reads it from REDISCLI_AUTH.
func (o *Outside) NeedsPassword() bool { return o.options.Password != "" }
