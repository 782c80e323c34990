-- delete takes a record and the bodies of its settlement away before their time.
--
-- KEYS
--   1 ledger   hash   state, deadline, budgets, counters and guards of the run
--   2 record   hash   the call's record
--   3 effects  zset   names of calls that may have changed something by due time in ms
--   4 settled  hash   what became known of the call after its end
-- ARGV
--   1 version  int    schema that this client writes, the newest it understands
--   2 name     text   <turn>:<tool_call_id>
-- REPLY
--   deleted
--   missing
--   open state
--   unresolved state
--   newer
--   foreign
-- INVARIANTS
--   Guard, counters, order and a recorded verdict stay. No expiry moves.
--   The first write is a removal, so that memory can be freed when there is none left.
local ledger, record, effects, settled = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local version, name = tonumber(ARGV[1]), ARGV[2]

local function newer(v) return v and (tonumber(v) or math.huge) > version end
local function holds(key, want)
  local kind = redis.call('TYPE', key).ok
  return kind == 'none' or kind == want
end
if not (holds(ledger, 'hash') and holds(record, 'hash') and holds(effects, 'zset') and holds(settled, 'hash')) then
  return {'foreign'}
end

local run_v, phase = unpack(redis.call('HMGET', ledger, 'v', 'st'))
local rec_v, state, held = unpack(redis.call('HMGET', record, 'v', 'st', 'rs'))
if newer(run_v) or newer(rec_v) or newer(redis.call('HGET', settled, 'v')) then return {'newer'} end
if not state then return {'missing'} end
if state == 'PROJECTING' then return {'open', state} end
if redis.call('ZSCORE', effects, name) then return {'unresolved', state} end

redis.call('DEL', record)
if phase then redis.call('HINCRBY', ledger, 'rs', string.format('%.0f', -tonumber(held))) end
for _, field in ipairs(redis.call('HKEYS', settled)) do
  local late = field == 'lo' or field == 'lm' or field == 'lf' or field == 'lt'
  if late or string.find(field, ':', 1, true) then redis.call('HDEL', settled, field) end
end
return {'deleted'}
