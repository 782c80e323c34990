package checker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// contents are the runs that a server holds, by the base of their keys.
type contents struct {
	runs    map[string]*run
	strange []string          // keys that are none of the store's
	endless []string          // keys of a scope that have no expiry
	quotas  map[string]*quota // of scopes, by the base of their keys
}

// run is what lies under one base.
type run struct {
	ledger  map[string]string
	order   map[string]float64
	open    map[string]float64
	effects map[string]float64
	records map[string]*record
	settled map[string]map[string]string
	foreign []string // parts of keys whose type is not the store's
	expiry  map[string]int64
}

// record is one call's hash, its bodies replaced by digests.
type record struct {
	fields map[string]string
	bodies map[string]body // payload fields by name
}

type body struct {
	size  int
	bytes string
}

// readContents looks at every key of database 0. It reads and writes nothing
// else.
func readContents(ctx context.Context, addr string) (*contents, error) {
	client := redis.NewClient(&redis.Options{Addr: addr, ContextTimeoutEnabled: true, DisableIdentity: true})
	defer client.Close()
	c := &contents{runs: map[string]*run{}, quotas: map[string]*quota{}}
	seen := map[string]bool{}
	for cursor := uint64(0); ; {
		keys, next, err := client.Scan(ctx, cursor, "*", 1000).Result()
		if err != nil {
			return nil, err
		}
		for _, key := range keys {
			if seen[key] {
				continue // SCAN may answer a key twice
			}
			seen[key] = true
			if err := c.read(ctx, client, key); err != nil {
				return nil, err
			}
		}
		if cursor = next; cursor == 0 {
			return c, nil
		}
	}
}

func (c *contents) read(ctx context.Context, client *redis.Client, key string) error {
	kind, err := client.Type(ctx, key).Result()
	if err != nil {
		return err
	}
	if kind == "none" {
		return nil // it has expired in between
	}
	at := strings.Index(key, "}:")
	if at < 0 {
		c.strange = append(c.strange, key)
		return nil
	}
	if tag := strings.LastIndexByte(key[:at], '{'); !strings.Contains(key[tag+1:at], ":") {
		return c.readScope(ctx, client, key, kind)
	}
	base, part := key[:at+2], key[at+2:]
	r := c.runs[base]
	if r == nil {
		r = &run{records: map[string]*record{}, settled: map[string]map[string]string{}, expiry: map[string]int64{}}
		c.runs[base] = r
	}
	expires, err := client.PExpireTime(ctx, key).Result() // -1 without one, in nanoseconds
	if err != nil {
		return err
	}
	if r.expiry[part] = int64(expires); expires > 0 {
		r.expiry[part] = expires.Milliseconds()
	}
	return r.take(ctx, client, key, part, kind)
}

// readScope looks at a key that belongs to a scope and not to one run: the list of
// its runs, and the reservations of its quota with their sums.
func (c *contents) readScope(ctx context.Context, client *redis.Client, key, kind string) error {
	at := strings.Index(key, "}:")
	want := map[string]string{"runs": "zset", "held": "zset", "quota": "hash"}[key[at+2:]]
	if kind != want {
		c.strange = append(c.strange, key)
		return nil
	}
	expires, err := client.PExpireTime(ctx, key).Result()
	if err != nil {
		return err
	}
	if expires <= 0 {
		c.endless = append(c.endless, key)
	}
	q := c.quotas[key[:at+2]]
	if q == nil {
		q = &quota{}
		c.quotas[key[:at+2]] = q
	}
	switch key[at+2:] {
	case "held":
		q.held, err = scores(ctx, client, key)
	case "quota":
		q.sums, err = client.HGetAll(ctx, key).Result()
	}
	return err
}

// take reads one key into the run.
func (r *run) take(ctx context.Context, client *redis.Client, key, part, kind string) (err error) {
	call, isRecord := strings.CutPrefix(part, "call:")
	settled, isSettled := strings.CutPrefix(part, "settled:")
	sets := map[string]*map[string]float64{"order": &r.order, "open": &r.open, "effects": &r.effects}
	switch {
	case sets[part] != nil && kind == "zset":
		*sets[part], err = scores(ctx, client, key)
	case part == "run" && kind == "hash":
		r.ledger, err = client.HGetAll(ctx, key).Result()
	case isRecord && kind == "hash":
		var all map[string]string
		all, err = client.HGetAll(ctx, key).Result()
		r.records[call] = split(all)
	case isSettled && kind == "hash":
		r.settled[settled], err = client.HGetAll(ctx, key).Result()
	default:
		r.foreign = append(r.foreign, part)
	}
	return err
}

func scores(ctx context.Context, client *redis.Client, key string) (map[string]float64, error) {
	all, err := client.ZRangeWithScores(ctx, key, 0, -1).Result()
	out := map[string]float64{}
	for _, z := range all {
		name, ok := z.Member.(string)
		if !ok {
			err = errors.Join(err, fmt.Errorf("%s: a member that is no text", key))
		}
		out[name] = z.Score
	}
	return out, err
}

// split tells a record's payload fields, which have a colon, from the others.
func split(all map[string]string) *record {
	r := &record{fields: map[string]string{}, bodies: map[string]body{}}
	for name, value := range all {
		if strings.Contains(name, ":") {
			r.bodies[name] = body{len(value), value}
		} else {
			r.fields[name] = value
		}
	}
	return r
}

// digest is the SHA-256 of a payload: of the fields of its kind that are named
// as accepted, in that order. Empty where none is named, or one is missing.
func digest(kind, accepted string, fields func(string) (string, bool)) string {
	h := sha256.New()
	found := false
	for _, name := range strings.Fields(accepted) {
		if !strings.HasPrefix(name, kind+":") {
			continue
		}
		bytes, ok := fields(name)
		if !ok {
			return ""
		}
		found = true
		h.Write([]byte(bytes))
	}
	if !found {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil))
}

func (r *record) digest(kind string) string {
	if r == nil {
		return ""
	}
	return digest(kind, r.fields["ac"], func(name string) (string, bool) {
		b, ok := r.bodies[name]
		return b.bytes, ok
	})
}

// settledDigest is the digest of the raw that was settled after a record's end.
func (r *run) settledDigest(call string) string {
	s := r.settled[call]
	return digest("raw", s["lf"], func(name string) (string, bool) {
		value, ok := s[name]
		return value, ok
	})
}

// number reads a stored decimal; -1 where there is none.
func number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// guards are the names that the ledger says were admitted, sorted.
func (r *run) guards() []string {
	var names []string
	for field := range r.ledger {
		if name, ok := strings.CutPrefix(field, "c:"); ok {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	return names
}
