-- resolve records a host's verdict on a call whose outcome is unknown, and lifts the barrier.
--
-- KEYS
--   1 ledger    hash   state, deadline, budgets, counters and guards of the run
--   2 record    hash   the call's record
--   3 effects   zset   names of calls that may have changed something by due time in ms
--   4 settled   hash   what became known of the call after its end
-- ARGV
--   1 version   int    schema that this client writes, the newest it understands
--   2 name      text   <turn>:<tool_call_id>
--   3 verdict   text   applied or not_applied
--   4 evidence  text   what the verdict rests on
-- REPLY
--   resolved
--   repeat
--   missing
--   open state
--   conflict state
--   newer
--   foreign
-- INVARIANTS
--   The record is not touched. Written once. What is settled expires with the run.
local ledger, record, effects, settled = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local version, name, verdict, evidence = tonumber(ARGV[1]), ARGV[2], ARGV[3], ARGV[4]

local function newer(v) return v and (tonumber(v) or math.huge) > version end
local function holds(key, want)
  local kind = redis.call('TYPE', key).ok
  return kind == 'none' or kind == want
end
if not (holds(ledger, 'hash') and holds(record, 'hash') and holds(effects, 'zset') and holds(settled, 'hash')) then
  return {'foreign'}
end

local time = redis.call('TIME')
local run_v, expires = unpack(redis.call('HMGET', ledger, 'v', 'ex'))
local rec_v, state, execution = unpack(redis.call('HMGET', record, 'v', 'st', 'xe'))
local set_v, former, grounds = unpack(redis.call('HMGET', settled, 'v', 'rv', 're'))
if newer(run_v) or newer(rec_v) or newer(set_v) then return {'newer'} end
if not state or not expires then return {'missing'} end
if state == 'PROJECTING' then return {'open', state} end
if execution ~= 'unknown' then return {'conflict', state} end
if former == verdict and grounds == evidence then return {'repeat'} end
if former then return {'conflict', state} end

redis.call('HSET', settled, 'v', ARGV[1], 'rv', verdict, 're', evidence,
  'rt', string.format('%.0f', tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)))
redis.call('PEXPIREAT', settled, expires)
redis.call('ZREM', effects, name)
return {'resolved'}
