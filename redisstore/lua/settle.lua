-- settle keeps the result that an owner brought after its call had been swept.
--
-- KEYS
--   1 ledger   hash   state, deadline, budgets, counters and guards of the run
--   2 record   hash   the call's record
--   3 settled  hash   what became known of the call after its end
-- ARGV
--   1 version  int    schema that this client writes, the newest it understands
--   2 claim    text   mark of the entry that the sender holds
--   3 outcome  hex    digest of the outcome, without times
--   4 meta     bytes  verdict and descriptors, opaque
--   5 fields   words  names of the fields of raw and agent result
--   6 sent     words  name and size of each field that travels beside this script
--   7 ...      pairs  name and bytes of each field that travels as an argument
-- REPLY
--   settled
--   repeat
--   missing
--   conflict state
--   incomplete
--   newer
--   foreign
-- INVARIANTS
--   The record is not touched, nor is the barrier. Written once, for the claim that was swept.
--   What is settled expires with the run. A repeat writes that expiry once more, so that WAIT behind it waits for what
--   it repeats.
local ledger, record, settled = KEYS[1], KEYS[2], KEYS[3]
local version, claim, outcome, meta = tonumber(ARGV[1]), ARGV[2], ARGV[3], ARGV[4]
local accepted, sent = ARGV[5], ARGV[6]

local function newer(v) return v and (tonumber(v) or math.huge) > version end
local function holds(key)
  local kind = redis.call('TYPE', key).ok
  return kind == 'none' or kind == 'hash'
end
if not (holds(ledger) and holds(record) and holds(settled)) then return {'foreign'} end

local time = redis.call('TIME')
local run_v, expires = unpack(redis.call('HMGET', ledger, 'v', 'ex'))
local rec_v, state, holder, by = unpack(redis.call('HMGET', record, 'v', 'st', 'cl', 'by'))
local set_v, former, named = unpack(redis.call('HMGET', settled, 'v', 'lo', 'lf'))

local function refuse(...)
  for field in string.gmatch(sent, '(%S+) %d+') do
    if not string.find(' ' .. (named or '') .. ' ', ' ' .. field .. ' ', 1, true) then
      redis.call('HDEL', settled, field)
    end
  end
  return {...}
end
if newer(run_v) or newer(rec_v) or newer(set_v) then return refuse('newer') end
if not state or not expires then return refuse('missing') end
if holder ~= claim or by ~= 'sweep' then return refuse('conflict', state) end
if former == outcome then redis.call('PEXPIREAT', settled, expires) return refuse('repeat') end
if former then return refuse('conflict', state) end
for field, size in string.gmatch(sent, '(%S+) (%d+)') do
  if redis.call('HSTRLEN', settled, field) ~= tonumber(size) then return {'incomplete'} end
end

local fields = {'v', ARGV[1], 'lo', outcome, 'lm', meta, 'lf', accepted,
  'lt', string.format('%.0f', tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000))}
for i = 7, #ARGV do fields[#fields + 1] = ARGV[i] end
redis.call('HSET', settled, unpack(fields))
redis.call('PEXPIREAT', settled, expires)
return {'settled'}
