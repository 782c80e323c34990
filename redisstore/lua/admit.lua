-- admit creates the one record of a call, or says why not.
--
-- KEYS
--   1 ledger       hash   state, deadline, budgets, counters and guards of the run
--   2 record       hash   the call's record
--   3 order        zset   names of all calls ever admitted by sequence
--   4 open         zset   names of open calls by due time in ms
--   5 effects      zset   names of calls that may have changed something by due time in ms
-- ARGV
--   1 version      int    schema that this client writes, the newest it understands
--   2 name         text   <turn>:<tool_call_id>
--   3 claim        text   mark of this entry
--   4 evidence     text   id proposed for the call's evidence
--   5 tool         text   name of the tool
--   6 effect       text   read, or anything else
--   7 request      bytes  as sent, opaque
--   8 meta         bytes  what never changes of the record, opaque
--   9 reserve      int    bytes of capacity to set aside
--  10 tool_budget  int    calls of this tool, -1 without limit
--  11 not_after    int    server time in ms after which this message is void
--  12 timeout_ms   int    of the tool
--  13 closing_ms   int    what the end of a call may take after its tool
--  14 ttl_ms       int    life of the record
--  15 seen         int    highest sequence that the client knows of
-- REPLY
--   created state code seq evidence now deadline due expires
--   own state code seq evidence now deadline due expires
--   duplicate state
--   missing
--   closed
--   damaged
--   too_late
--   deadline
--   unresolved
--   capacity wanted limit
--   run_budget wanted limit
--   tool_budget wanted limit
--   newer
--   foreign
-- INVARIANTS
--   All or nothing. A refusal writes nothing, but for the mark of a damaged run.
--   Every key that is born here gets its expiry here; the sets only repeat the ledger's.
--   The guard field c:<name> is written here and removed by nothing.
--   A repeat writes the stored expiry once more and nothing else, so that WAIT behind it waits for what it repeats.
local ledger, record, order, open, effects = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local version, name, claim, evidence, tool, effect = tonumber(ARGV[1]), ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local request, meta, reserve, tool_budget = ARGV[7], ARGV[8], tonumber(ARGV[9]), tonumber(ARGV[10])
local not_after, timeout, closing = tonumber(ARGV[11]), tonumber(ARGV[12]), tonumber(ARGV[13])
local ttl, seen = tonumber(ARGV[14]), tonumber(ARGV[15])

local function text(n) return string.format('%.0f', n) end
local function newer(v) return v and (tonumber(v) or math.huge) > version end
local function holds(key, want)
  local kind = redis.call('TYPE', key).ok
  return kind == 'none' or kind == want
end
if not (holds(ledger, 'hash') and holds(record, 'hash') and holds(order, 'zset') and holds(open, 'zset')
  and holds(effects, 'zset')) then return {'foreign'} end

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local run_v, phase, deadline, run_ends, run_budget, per_tool, capacity, last, reserved, used, guard = unpack(redis.call(
  'HMGET', ledger, 'v', 'st', 'dl', 'ex', 'rb', 'tb', 'cb', 'sq', 'rs', 'u:' .. tool, 'c:' .. name))
local rec_v, state, holder, code, seq, id, due, expires = unpack(redis.call(
  'HMGET', record, 'v', 'st', 'cl', 'cd', 'sq', 'ev', 'due', 'ex'))

if newer(run_v) or newer(rec_v) then return {'newer'} end
if state and holder == claim then
  redis.call('PEXPIREAT', record, expires)
  return {'own', state, code or '', seq, id, text(now), deadline or '0', due, expires}
end
if state or guard then return {'duplicate', state or ''} end
if not phase then return {'missing'} end
if phase ~= 'open' then return {phase} end
if tonumber(last) < seen then
  redis.call('HSET', ledger, 'st', 'damaged')
  return {'damaged'}
end
if now > not_after then return {'too_late'} end
if now >= tonumber(deadline) then return {'deadline'} end
if redis.call('ZCOUNT', effects, '-inf', text(now)) > 0 then return {'unresolved'} end

local taken, limit, calls = tonumber(reserved) + reserve, tonumber(capacity), tonumber(last) + 1
if limit ~= -1 and taken > limit then return {'capacity', text(taken), capacity} end
if tonumber(run_budget) ~= -1 and calls > tonumber(run_budget) then return {'run_budget', text(calls), run_budget} end
local uses, most = tonumber(used or '0') + 1, tonumber(per_tool)
if most == -1 or (tool_budget ~= -1 and tool_budget < most) then most = tool_budget end
if most ~= -1 and uses > most then return {'tool_budget', text(uses), text(most)} end

seq, expires = text(calls), text(math.min(now + ttl, tonumber(run_ends)))
due = text(math.min(now + timeout, tonumber(deadline)) + closing)
redis.call('HSET', ledger, 'sq', seq, 'rs', text(taken), 'u:' .. tool, text(uses), 'c:' .. name, seq, 'e:' .. evidence, name)
redis.call('HSET', record, 'v', ARGV[1], 'st', 'PROJECTING', 'cl', claim, 'sq', seq, 'ev', evidence, 'ef', effect,
  'ex', expires, 'due', due, 'at', text(now), 'rs', text(reserve), 'rq', request, 'md', meta)
redis.call('PEXPIREAT', record, expires)
redis.call('ZADD', order, seq, name)
redis.call('PEXPIREAT', order, run_ends)
redis.call('ZADD', open, due, name)
redis.call('PEXPIREAT', open, run_ends)
if effect ~= 'read' then
  redis.call('ZADD', effects, due, name)
  redis.call('PEXPIREAT', effects, run_ends)
end
return {'created', 'PROJECTING', '', seq, evidence, text(now), deadline, due, expires}
