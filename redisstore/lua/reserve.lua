-- reserve sets the whole capacity of a run aside in its scope, or says why not.
--
-- KEYS
--   1 held          zset   reservations by the end of their run's life in ms
--   2 quota         hash   sums of all, and the numbers of each
-- ARGV
--   1 name          text   <run id>:<mark of the opening that reserves>
--   2 records       int    calls that the run may admit
--   3 bytes         int    capacity of the run
--   4 life_ms       int    from now to the end of the run's life
--   5 most_records  int    the scope's quota of records
--   6 most_bytes    int    the scope's quota of bytes
-- REPLY
--   reserved
--   held
--   full wanted limit
--   more
--   foreign
-- INVARIANTS
--   A reservation counts once, however often it is asked for, and nothing when its time is over.
--   A full quota writes nothing. more: too many were over for one call, they are gone, ask again.
--   Both keys expire with the last reservation in them.
local held, quota = KEYS[1], KEYS[2]
local name, records, bytes, life = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local most_records, most_bytes = ARGV[5], ARGV[6]

local function text(n) return string.format('%.0f', n) end
local kind_held, kind_quota = redis.call('TYPE', held).ok, redis.call('TYPE', quota).ok
if kind_held ~= 'none' and kind_held ~= 'zset' or kind_quota ~= 'none' and kind_quota ~= 'hash' then return {'foreign'} end

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local ends = tonumber(redis.call('ZSCORE', held, name) or '0')
if ends > now then return {'held'} end

local n, b = unpack(redis.call('HMGET', quota, 'n', 'b'))
if kind_held == 'none' then n, b = nil, nil end
n, b = tonumber(n or '0'), tonumber(b or '0')
local over = redis.call('ZRANGEBYSCORE', held, '-inf', text(now), 'LIMIT', '0', '1000')
for _, gone in ipairs(over) do
  local r, w = string.match(redis.call('HGET', quota, 'r:' .. gone) or '0:0', '^(%d+):(%d+)')
  n, b = n - tonumber(r), b - tonumber(w)
end
local wanted_records, wanted_bytes, many = n + records, b + bytes, #over == 1000
local full = wanted_records > tonumber(most_records) or wanted_bytes > tonumber(most_bytes)
local again = many and (full or ends > 0)
if full and not again then
  if wanted_records > tonumber(most_records) then return {'full', text(wanted_records), most_records} end
  return {'full', text(wanted_bytes), most_bytes}
end

if again then wanted_records, wanted_bytes = n, b end
redis.call('HSET', quota, 'n', text(wanted_records), 'b', text(wanted_bytes))
for _, gone in ipairs(over) do
  redis.call('HDEL', quota, 'r:' .. gone)
  redis.call('ZREM', held, gone)
end
if again then return {'more'} end
redis.call('HSET', quota, 'r:' .. name, text(records) .. ':' .. text(bytes) .. ':0')
redis.call('ZADD', held, text(now + life), name)
local last = text(tonumber(redis.call('ZRANGE', held, '-1', '-1', 'WITHSCORES')[2]))
redis.call('PEXPIREAT', held, last)
redis.call('PEXPIREAT', quota, last)
return {'reserved'}
