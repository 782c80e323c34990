-- sweep ends one call that nobody will end.
--
-- KEYS
--   1 ledger    hash   state, deadline, budgets, counters and guards of the run
--   2 record    hash   the call's record
--   3 open      zset   names of open calls by due time in ms
--   4 effects   zset   names of calls that may have changed something by due time in ms
-- ARGV
--   1 version   int    schema that this client writes, the newest it understands
--   2 name      text   <turn>:<tool_call_id>
--   3 grace_ms  int    how long past its due time a call is left alone
--   4 meta      bytes  what else is known of the end, opaque
-- REPLY
--   swept code execution
--   early
--   ended
--   newer
--   foreign
-- INVARIANTS
--   Raw that was saved is kept, and then the effect is known. Else nothing is known.
--   An end leaves no payload field that the record does not name. No expiry moves.
local ledger, record, open, effects = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local version, name, grace, meta = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3]), ARGV[4]

local function text(n) return string.format('%.0f', n) end
local function newer(v) return v and (tonumber(v) or math.huge) > version end
local function holds(key, want)
  local kind = redis.call('TYPE', key).ok
  return kind == 'none' or kind == want
end
if not (holds(ledger, 'hash') and holds(record, 'hash') and holds(open, 'zset') and holds(effects, 'zset')) then
  return {'foreign'}
end

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local run_v, phase = unpack(redis.call('HMGET', ledger, 'v', 'st'))
local rec_v, state, due, effect, kept, accepted, reserve = unpack(redis.call(
  'HMGET', record, 'v', 'st', 'due', 'ef', 'rd', 'ac', 'rs'))
if newer(run_v) or newer(rec_v) then return {'newer'} end
if state ~= 'PROJECTING' then
  redis.call('ZREM', open, name) -- the record is gone, with whatever the sets still say
  return {'ended'}
end
if now <= tonumber(due) + grace then return {'early'} end

local code, execution = 'OUTCOME_UNKNOWN', 'unknown'
if effect == 'read' then code = 'ORPHANED' end
if kept then code, execution = 'PROJECTION_FAILED', 'completed' end
redis.call('HSET', record, 'st', 'ERROR', 'cd', code, 'xe', execution, 'fm', meta, 'ac', accepted or '',
  'by', 'sweep', 'en', text(now))

local held, named = redis.call('HSTRLEN', record, 'rq'), {}
for field in string.gmatch(accepted or '', '%S+') do
  held, named[field] = held + redis.call('HSTRLEN', record, field), true
end
for _, field in ipairs(redis.call('HKEYS', record)) do
  if string.find(field, ':', 1, true) and not named[field] then redis.call('HDEL', record, field) end
end
redis.call('HSET', record, 'rs', text(held))
if phase then redis.call('HINCRBY', ledger, 'rs', text(held - tonumber(reserve))) end
redis.call('ZREM', open, name)
if execution == 'unknown' then redis.call('ZADD', effects, 'XX', '0', name) else redis.call('ZREM', effects, name) end
return {'swept', code, execution}
