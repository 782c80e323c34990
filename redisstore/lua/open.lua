-- open creates a run, or answers the one that its token opened before.
--
-- KEYS
--   1 ledger       hash   state, deadline, budgets, counters and guards of the run
-- ARGV
--   1 version      int    schema that this client writes, the newest it understands
--   2 token        hex    digest of the owner's token
--   3 params       hex    digest of all parameters of the run
--   4 duration_ms  int    from now to the deadline
--   5 ttl_ms       int    life of a record
--   6 margin_ms    int    how long the ledger outlives the last record
--   7 run_budget   int    calls, -1 without limit
--   8 tool_budget  int    calls of one tool, -1 without limit
--   9 capacity     int    bytes, -1 without limit
--  10 meta         bytes  the parameters, opaque
--  11 mark         text   of the reservation for this opening, empty without one, - where the quota is full
-- REPLY
--   opened now phase opened_at deadline expires seq reserved meta mark
--   stored now phase opened_at deadline expires seq reserved meta mark
--   absent
--   taken
--   conflict
--   newer
--   foreign
-- INVARIANTS
--   The expiry of everything in the run is chosen here and never moved.
--   A run that exists is not changed, whatever the answer.
--   A run that does not is created under its reservation, and not at all where there was no room for one.
local ledger = KEYS[1]
local version, token, params = ARGV[1], ARGV[2], ARGV[3]
local duration, ttl, margin = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local run_budget, tool_budget, capacity, meta = ARGV[7], ARGV[8], ARGV[9], ARGV[10]
local mark = ARGV[11]

local function text(n) return string.format('%.0f', n) end

local kind = redis.call('TYPE', ledger).ok
if kind ~= 'none' and kind ~= 'hash' then return {'foreign'} end

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local written, phase, owner, given, opened, deadline, expires, seq, reserved, stored, under = unpack(redis.call('HMGET', ledger,
  'v', 'st', 'tk', 'pd', 'op', 'dl', 'ex', 'sq', 'rs', 'pm', 'qm'))

if written and (tonumber(written) or math.huge) > tonumber(version) then return {'newer'} end
if phase and owner ~= token then return {'taken'} end
if phase and given ~= params then return {'conflict'} end
if phase then return {'stored', text(now), phase, opened, deadline, expires, seq, reserved, stored, under or ''} end
if mark == '-' then return {'absent'} end

opened, deadline, expires = text(now), text(now + duration), text(now + duration + ttl + margin)
redis.call('HSET', ledger, 'v', version, 'st', 'open', 'tk', token, 'pd', params,
  'op', opened, 'dl', deadline, 'ex', expires, 'rb', run_budget, 'tb', tool_budget, 'cb', capacity,
  'sq', '0', 'rs', '0', 'pm', meta)
redis.call('PEXPIREAT', ledger, expires)
if mark ~= '' then redis.call('HSET', ledger, 'qm', mark) end
return {'opened', opened, 'open', opened, deadline, expires, '0', '0', meta, mark}
