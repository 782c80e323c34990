-- save accepts the raw result of a call that goes on.
--
-- KEYS
--   1 ledger      hash   state, deadline, budgets, counters and guards of the run
--   2 record      hash   the call's record
--   3 effects     zset   names of calls that may have changed something by due time in ms
-- ARGV
--   1 version     int    schema that this client writes, the newest it understands
--   2 name        text   <turn>:<tool_call_id>
--   3 claim       text   mark of the entry that the sender holds
--   4 seen        int    highest sequence that the client knows of
--   5 raw_digest  hex    digest of the whole raw
--   6 raw_meta    bytes  its descriptor, opaque
--   7 raw_fields  words  names of its fields, in the order of the pieces
--   8 sent        words  name and size of each field that travels beside this script
--   9 ...         pairs  name and bytes of each field that travels as an argument
-- REPLY
--   saved
--   repeat
--   missing
--   conflict state
--   incomplete
--   newer
--   foreign
-- INVARIANTS
--   Writes into a record that exists, is PROJECTING and has this claim, or not at all.
--   A refusal removes only fields that came with it and are not accepted.
--   No expiry moves. A repeat writes the stored one once more, so that WAIT behind it waits for what it repeats.
local ledger, record, effects = KEYS[1], KEYS[2], KEYS[3]
local version, name, claim, seen = tonumber(ARGV[1]), ARGV[2], ARGV[3], tonumber(ARGV[4])
local raw_digest, raw_meta, raw_fields, sent = ARGV[5], ARGV[6], ARGV[7], ARGV[8]

local function newer(v) return v and (tonumber(v) or math.huge) > version end
local function holds(key, want)
  local kind = redis.call('TYPE', key).ok
  return kind == 'none' or kind == want
end
if not (holds(ledger, 'hash') and holds(record, 'hash') and holds(effects, 'zset')) then return {'foreign'} end

local run_v, phase, last = unpack(redis.call('HMGET', ledger, 'v', 'st', 'sq'))
local rec_v, state, holder, kept, accepted, expires = unpack(redis.call(
  'HMGET', record, 'v', 'st', 'cl', 'rd', 'ac', 'ex'))

local function refuse(...)
  for field in string.gmatch(sent, '(%S+) %d+') do
    if not string.find(' ' .. (accepted or '') .. ' ', ' ' .. field .. ' ', 1, true) then
      redis.call('HDEL', record, field)
    end
  end
  return {...}
end
if newer(run_v) or newer(rec_v) then return refuse('newer') end
if not state then return refuse('missing') end
if holder ~= claim then return refuse('conflict', state) end
if phase == 'open' and tonumber(last) < seen then redis.call('HSET', ledger, 'st', 'damaged') end
if kept == raw_digest then redis.call('PEXPIREAT', record, expires) return {'repeat'} end
if kept or state ~= 'PROJECTING' then return refuse('conflict', state) end
for field, size in string.gmatch(sent, '(%S+) (%d+)') do
  if redis.call('HSTRLEN', record, field) ~= tonumber(size) then return {'incomplete'} end
end

local fields = {'rd', raw_digest, 'rm', raw_meta, 'ac', raw_fields}
for i = 9, #ARGV do fields[#fields + 1] = ARGV[i] end
redis.call('HSET', record, unpack(fields))
redis.call('ZREM', effects, name)
return {'saved'}
