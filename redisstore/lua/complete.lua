-- complete ends a record: PROJECTING to READY or ERROR, with everything it brings.
--
-- KEYS
--   1 ledger       hash   state, deadline, budgets, counters and guards of the run
--   2 record       hash   the call's record
--   3 open         zset   names of open calls by due time in ms
--   4 effects      zset   names of calls that may have changed something by due time in ms
-- ARGV
--   1 version      int    schema that this client writes, the newest it understands
--   2 name         text   <turn>:<tool_call_id>
--   3 claim        text   mark of the entry that the sender holds
--   4 seen         int    highest sequence that the client knows of
--   5 state        text   READY or ERROR
--   6 code         text   of an ERROR, else empty
--   7 execution    text   not_started, completed or unknown
--   8 outcome      hex    digest of the outcome, without times
--   9 meta         bytes  what else is known of the end, opaque
--  10 raw_digest   hex    digest of the whole raw, empty without
--  11 raw_meta     bytes  its descriptor, opaque; empty when it was saved before
--  12 raw_fields   words  names of its fields, in the order of the pieces
--  13 body_fields  words  names of the fields of agent result, facts and coverage
--  14 sent         words  name and size of each field that travels beside this script
--  15 ...          pairs  name and bytes of each field that travels as an argument
-- REPLY
--   ended
--   repeat
--   missing
--   conflict state
--   swept state expires
--   incomplete
--   newer
--   foreign
-- INVARIANTS
--   Writes into a record that exists, is PROJECTING and has this claim, or not at all.
--   A refusal removes only fields that came with it and are not accepted.
--   An end leaves no payload field that the record does not name. No expiry moves.
--   A repeat writes the stored expiry once more, so that WAIT behind it waits for what it repeats.
local ledger, record, open, effects = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local version, name, claim, seen = tonumber(ARGV[1]), ARGV[2], ARGV[3], tonumber(ARGV[4])
local verdict, code, execution, outcome, meta = ARGV[5], ARGV[6], ARGV[7], ARGV[8], ARGV[9]
local raw_digest, raw_meta, raw_fields, body_fields, sent = ARGV[10], ARGV[11], ARGV[12], ARGV[13], ARGV[14]

local function text(n) return string.format('%.0f', n) end
local function newer(v) return v and (tonumber(v) or math.huge) > version end
local function holds(key, want)
  local kind = redis.call('TYPE', key).ok
  return kind == 'none' or kind == want
end
if not (holds(ledger, 'hash') and holds(record, 'hash') and holds(open, 'zset')
  and holds(effects, 'zset')) then return {'foreign'} end

local run_v, phase, last, ends = unpack(redis.call('HMGET', ledger, 'v', 'st', 'sq', 'ex'))
local rec_v, state, holder, former, by, kept, accepted, reserve, expires, effect = unpack(redis.call(
  'HMGET', record, 'v', 'st', 'cl', 'od', 'by', 'rd', 'ac', 'rs', 'ex', 'ef'))

local function refuse(...)
  local named = ' ' .. (accepted or '') .. ' '
  for field in string.gmatch(sent, '(%S+) %d+') do
    if not string.find(named, ' ' .. field .. ' ', 1, true) then redis.call('HDEL', record, field) end
  end
  return {...}
end
if newer(run_v) or newer(rec_v) then return refuse('newer') end
if not state then return refuse('missing') end
if holder ~= claim then return refuse('conflict', state) end
if phase == 'open' and tonumber(last) < seen then redis.call('HSET', ledger, 'st', 'damaged') end
if former == outcome then redis.call('PEXPIREAT', record, expires) return refuse('repeat') end
if by == 'sweep' then return refuse('swept', state, ends or '0') end
if state ~= 'PROJECTING' then return refuse('conflict', state) end
if raw_digest ~= '' and (kept and raw_digest ~= kept or not kept and raw_meta == '') then return refuse('conflict', state) end
local sizes, time = {}, redis.call('TIME')
for field, size in string.gmatch(sent, '(%S+) (%d+)') do
  sizes[field] = tonumber(size)
  if redis.call('HSTRLEN', record, field) ~= sizes[field] then return {'incomplete'} end
end

accepted = kept and accepted or raw_fields
if accepted ~= '' and body_fields ~= '' then accepted = accepted .. ' ' end
accepted = accepted .. body_fields
local fields = {'st', verdict, 'cd', code, 'xe', execution, 'od', outcome, 'fm', meta, 'ac', accepted, 'by', 'owner',
  'en', text(tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000))}
local function put(field, value) fields[#fields + 1] = field; fields[#fields + 1] = value end
for i = 15, #ARGV, 2 do sizes[ARGV[i]] = #ARGV[i + 1] put(ARGV[i], ARGV[i + 1]) end
local known = 19 + ((kept or raw_meta ~= '') and 1 or 0) + ((kept or raw_fields ~= '') and 1 or 0) -- 12 of admit, 7 of ends, raw's
if not kept and raw_meta ~= '' then put('rm', raw_meta) end
if not kept and raw_fields ~= '' then put('rd', raw_digest) end
local held, named = redis.call('HSTRLEN', record, 'rq'), {}
for field in string.gmatch(accepted, '%S+') do
  held, named[field], known = held + (sizes[field] or redis.call('HSTRLEN', record, field)), true, known + 1
end
put('rs', text(held))
redis.call('HSET', record, unpack(fields))

for _, field in ipairs(redis.call('HLEN', record) == known and {} or redis.call('HKEYS', record)) do
  if string.find(field, ':', 1, true) and not named[field] then redis.call('HDEL', record, field) end
end
if phase then redis.call('HINCRBY', ledger, 'rs', text(held - tonumber(reserve))) end
redis.call('ZREM', open, name)
if effect ~= 'read' and execution == 'unknown' then redis.call('ZADD', effects, 'XX', '0', name)
elseif effect ~= 'read' then redis.call('ZREM', effects, name) end
return {'ended'}
