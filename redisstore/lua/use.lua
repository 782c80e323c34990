-- use sums up what is reserved in a scope. It writes nothing.
--
-- KEYS
--   1 held   zset  reservations by the end of their run's life in ms
--   2 quota  hash  sums of all, and the numbers of each
-- ARGV
-- REPLY
--   use runs records bytes
--   foreign
-- INVARIANTS
--   What is over and not yet taken out of the sums is taken off here.
local held, quota = KEYS[1], KEYS[2]

local function text(n) return string.format('%.0f', n) end
local kind_held, kind_quota = redis.call('TYPE', held).ok, redis.call('TYPE', quota).ok
if kind_held ~= 'none' and kind_held ~= 'zset' or kind_quota ~= 'none' and kind_quota ~= 'hash' then return {'foreign'} end
if kind_held == 'none' then return {'use', '0', '0', '0'} end

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local n, b = unpack(redis.call('HMGET', quota, 'n', 'b'))
n, b = tonumber(n or '0'), tonumber(b or '0')
for _, gone in ipairs(redis.call('ZRANGEBYSCORE', held, '-inf', text(now))) do
  local r, w = string.match(redis.call('HGET', quota, 'r:' .. gone) or '0:0', '^(%d+):(%d+)')
  n, b = n - tonumber(r), b - tonumber(w)
end
return {'use', text(redis.call('ZCOUNT', held, '(' .. text(now), '+inf')), text(n), text(b)}
