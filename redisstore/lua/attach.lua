-- attach lets payload fields stay only where they have a life.
--
-- It follows the HSET of the fields in the same transaction, always as EVAL, so that
-- it runs even where a script cache was lost. A plain HSET on a record that has expired
-- would bring the key back without an expiry.
--
-- KEYS
--   1 holder   hash   a record, or what was settled of one
-- ARGV
--   1 expires  int    expiry of the holder in ms where the fields may come first; empty for a record
--   2 ...      words  names of the fields
-- REPLY
--   kept
--   dropped
--   foreign
-- INVARIANTS
--   A key of another type is not touched, and the expiry of a record never is.
local holder, expires = KEYS[1], ARGV[1]

if redis.call('TYPE', holder).ok ~= 'hash' then return {'foreign'} end
if redis.call('HEXISTS', holder, 'st') == 1 then return {'kept'} end
if expires ~= '' then
  redis.call('PEXPIREAT', holder, expires)
  return {'kept'}
end
for i = 2, #ARGV do redis.call('HDEL', holder, ARGV[i]) end
return {'dropped'}
