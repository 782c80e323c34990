-- close ends a run for new calls and answers what is left of it.
--
-- KEYS
--   1 ledger   hash   state, deadline, budgets, counters and guards of the run
--   2 open     zset   names of open calls by due time in ms
--   3 effects  zset   names of calls that may have changed something by due time in ms
-- ARGV
--   1 version  int    schema that this client writes, the newest it understands
--   2 token    hex    digest of the owner's token
-- REPLY
--   closed seq open_count reserved mark now names...
--   missing
--   taken
--   newer
--   foreign
-- INVARIANTS
--   Closed is final, of a damaged run too: neither admits anything.
--   Open calls are left to end, no expiry moves, no member goes.
--   mark is that of the run's reservation, empty where it has none.
--   names: first the open calls, as many as open_count says, then the effects.
local ledger, open, effects = KEYS[1], KEYS[2], KEYS[3]
local version, token = tonumber(ARGV[1]), ARGV[2]

local function holds(key, want)
  local kind = redis.call('TYPE', key).ok
  return kind == 'none' or kind == want
end
if not (holds(ledger, 'hash') and holds(open, 'zset') and holds(effects, 'zset')) then return {'foreign'} end

local written, phase, owner, seq, reserved, mark = unpack(redis.call('HMGET', ledger, 'v', 'st', 'tk', 'sq', 'rs', 'qm'))
if written and (tonumber(written) or math.huge) > version then return {'newer'} end
if not phase then return {'missing'} end
if owner ~= token then return {'taken'} end

if phase ~= 'closed' then redis.call('HSET', ledger, 'st', 'closed') end

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local waiting = redis.call('ZRANGE', open, 0, -1)
local reply = {'closed', seq, string.format('%.0f', #waiting), reserved or '0', mark or '', string.format('%.0f', now)}
for _, name in ipairs(waiting) do reply[#reply + 1] = name end
for _, name in ipairs(redis.call('ZRANGE', effects, 0, -1)) do reply[#reply + 1] = name end
return reply
