-- release brings a reservation down to what its run holds, or takes it away.
--
-- KEYS
--   1 held     zset   reservations by the end of their run's life in ms
--   2 quota    hash   sums of all, and the numbers of each
-- ARGV
--   1 name     text   <run id>:<mark of the opening that reserved>
--   2 records  int    calls that the run has admitted, -1 to take the reservation away
--   3 bytes    int    capacity that the run holds
--   4 seen     int    when the run was seen to hold it, in ms of its own slot
-- REPLY
--   kept
--   gone
--   later
--   foreign
-- INVARIANTS
--   No reservation is made here, and no expiry moves.
--   What was seen later is not overwritten by what was seen before, in whatever order both arrive.
local held, quota = KEYS[1], KEYS[2]
local name, records, bytes, seen = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])

local function text(n) return string.format('%.0f', n) end
local kind_held, kind_quota = redis.call('TYPE', held).ok, redis.call('TYPE', quota).ok
if kind_held ~= 'none' and kind_held ~= 'zset' or kind_quota ~= 'none' and kind_quota ~= 'hash' then return {'foreign'} end

local n, b, was = unpack(redis.call('HMGET', quota, 'n', 'b', 'r:' .. name))
if not was or not redis.call('ZSCORE', held, name) then return {'gone'} end
local r, w, at = string.match(was, '^(%d+):(%d+):(%d+)$')
if tonumber(at) > seen and records >= 0 then return {'later'} end

local keep_records, keep_bytes = math.max(records, 0), math.max(bytes, 0)
redis.call('HSET', quota, 'n', text(tonumber(n) - tonumber(r) + keep_records), 'b', text(tonumber(b) - tonumber(w) + keep_bytes),
  'r:' .. name, text(keep_records) .. ':' .. text(keep_bytes) .. ':' .. text(seen))
if records < 0 then
  redis.call('HDEL', quota, 'r:' .. name)
  redis.call('ZREM', held, name)
  return {'gone'}
end
return {'kept'}
