package redisstore_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// shift moves time forward by d for the store's keys on a real server, whose
// clock cannot be moved, by moving every stored time of every key back by d:
// the expiry of the key, the times in ledger, records and settlements, and the
// due times in the sets. What the store sees afterwards differs from time that
// has passed only in the absolute values it answers. TestRealExpiry waits.
func shift(t testing.TB, c *redis.Client, d time.Duration) {
	t.Helper()
	keys, err := c.Keys(ctx, "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		at, err := c.PExpireTime(ctx, key).Result()
		if err != nil {
			t.Fatal(err)
		}
		if at > 0 {
			if err := c.PExpireAt(ctx, key, time.UnixMilli((at - d).Milliseconds())).Err(); err != nil {
				t.Fatal(err)
			}
		}
		if _, rest, ours := strings.Cut(key, "}:"); ours {
			shiftKey(t, c, key, rest, d)
		}
	}
}

// timeFields lists the fields of a key that hold times, by what follows the tag.
func timeFields(rest string) []string {
	switch {
	case rest == "run":
		return []string{"op", "dl", "ex"}
	case strings.HasPrefix(rest, "call:"):
		return []string{"at", "due", "ex", "en"}
	case strings.HasPrefix(rest, "settled:"):
		return []string{"lt", "rt"}
	default:
		return nil
	}
}

// hasTimes reports whether the scores of a set are times.
func hasTimes(rest string) bool { return rest == "open" || rest == "effects" }

func shiftKey(t testing.TB, c *redis.Client, key, rest string, d time.Duration) {
	t.Helper()
	if kind, err := c.Type(ctx, key).Result(); err != nil || kind == "string" { // planted by a test
		return
	}
	if hasTimes(rest) {
		members, err := c.ZRangeWithScores(ctx, key, 0, -1).Result()
		if err != nil {
			t.Fatal(err)
		}
		for _, z := range members {
			if z.Score == 0 { // an outcome that is known to be unknown has no time
				continue
			}
			z.Score -= float64(d.Milliseconds())
			if err := c.ZAddXX(ctx, key, z).Err(); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, name := range timeFields(rest) {
		text, err := c.HGet(ctx, key, name).Result()
		if err == redis.Nil {
			continue
		}
		ms, bad := strconv.ParseInt(text, 10, 64)
		if err != nil || bad != nil {
			t.Fatalf("field %s of %s: %v %v", name, key, err, bad)
		}
		if err := c.HSet(ctx, key, name, strconv.FormatInt(ms-d.Milliseconds(), 10)).Err(); err != nil {
			t.Fatal(err)
		}
	}
}
