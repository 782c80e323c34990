-- enlist writes a run into the list of its scope.
--
-- KEYS
--   1 runs     zset  ids of the scope's runs by the end of their life in ms
-- ARGV
--   1 run      text  id of the run
--   2 life_ms  int   from now to the end of its life
--   3 least    int   the end in ms before which the entry must not lie, 0 where none is known
-- REPLY
--   listed expires
--   foreign
-- INVARIANTS
--   A run that is listed and lives stays in its place, unless that lies before least.
--   The list expires with the last run in it. Runs that are over leave it, at most 1000 at a time.
local runs, run, life, least = KEYS[1], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])

local function text(n) return string.format('%.0f', n) end
local kind = redis.call('TYPE', runs).ok
if kind ~= 'none' and kind ~= 'zset' then return {'foreign'} end

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local listed = tonumber(redis.call('ZSCORE', runs, run) or '0')
if listed > now and listed >= least then return {'listed', text(listed)} end

local expires = text(math.max(now + life, least))
redis.call('ZADD', runs, expires, run)
for _, over in ipairs(redis.call('ZRANGEBYSCORE', runs, '-inf', text(now), 'LIMIT', '0', '1000')) do
  redis.call('ZREM', runs, over)
end
local last = redis.call('ZRANGE', runs, '-1', '-1', 'WITHSCORES')
redis.call('PEXPIREAT', runs, text(tonumber(last[2])))
return {'listed', expires}
