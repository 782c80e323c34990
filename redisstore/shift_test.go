package redisstore_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/toolharness/harness/internal/redistest"
)

// shiftScript moves every stored time of every key with a name like ARGV[2] back
// by ARGV[1] ms. It is no script of the store and keeps to none of its rules.
const shiftScript = `
local d = tonumber(ARGV[1])
local fields = {run = {'op', 'dl', 'ex'}, call = {'at', 'due', 'ex', 'en'}, settled = {'lt', 'rt'}}
local sets = {open = true, effects = true, runs = true, held = true}
for _, key in ipairs(redis.call('KEYS', ARGV[2])) do
  local kind, part = redis.call('TYPE', key).ok, string.match(key, '}:(%a+)')
  if kind == 'hash' and part and fields[part] then
    for _, field in ipairs(fields[part]) do
      local at = redis.call('HGET', key, field)
      if at then redis.call('HSET', key, field, string.format('%.0f', tonumber(at) - d)) end
    end
  elseif kind == 'zset' and sets[part] then
    local members = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
    for i = 1, #members, 2 do
      if tonumber(members[i + 1]) ~= 0 then
        redis.call('ZADD', key, string.format('%.0f', tonumber(members[i + 1]) - d), members[i])
      end
    end
  end
  local expires = redis.call('PEXPIRETIME', key)
  if expires > 0 then redis.call('PEXPIREAT', key, string.format('%.0f', expires - d)) end
end
return 1`

// shift moves time forward by d for the store's keys on a real server, whose
// clock cannot be moved, by moving every stored time of every key back by d:
// the expiry of the key, the times in ledger, records and settlements, and the
// due times in the sets, except 0, which is no time. What the store sees
// afterwards differs from time that has passed only in the absolute values it
// answers. TestRealExpiry waits.
func shift(t testing.TB, c *redis.Client, names string, d time.Duration) {
	t.Helper()
	if err := c.Eval(ctx, shiftScript, nil, d.Milliseconds(), names).Err(); err != nil {
		t.Fatal(err)
	}
}

// shiftCluster does so for the keys of one test, on all primaries.
func shiftCluster(t testing.TB, space *redistest.Space, d time.Duration) {
	t.Helper()
	err := space.Client().ForEachMaster(ctx, func(ctx context.Context, c *redis.Client) error {
		return c.Eval(ctx, shiftScript, nil, d.Milliseconds(), space.Prefix()+":*").Err()
	})
	if err != nil {
		t.Fatal(err)
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
