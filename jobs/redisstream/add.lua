-- add: add an entry for a tick, unless one was added already.
-- KEYS[1] stream   KEYS[2] memory: a sorted set of "tick id", by tick
-- ARGV    1 tick in Unix ms  2 how many ticks to remember  3 for how many ms  4 about how many entries to keep; 0: all
--         5... names and values of the entry's fields
-- returns {'added', id, ''}; or, when nothing is written, {'there', id, ''}, {'forgotten', oldest tick that is remembered, ''}
--         or {'type', type, key that is of it}
for i, want in ipairs({'stream', 'zset'}) do
  local found = redis.call('TYPE', KEYS[i]).ok
  if found ~= 'none' and found ~= want then
    return {'type', found, KEYS[i]}
  end
end

local tick, most = ARGV[1], tonumber(ARGV[2])
local there = redis.call('ZRANGE', KEYS[2], tick, tick, 'BYSCORE')
if there[1] then
  return {'there', string.match(there[1], ' (.+)'), ''}
end
if redis.call('ZCARD', KEYS[2]) >= most then
  local oldest = redis.call('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES')
  if tonumber(tick) < tonumber(oldest[2]) then
    return {'forgotten', oldest[2], ''}
  end
end

local add = {'XADD', KEYS[1]}
if ARGV[4] ~= '0' then
  add[3], add[4], add[5] = 'MAXLEN', '~', ARGV[4]
end
add[#add + 1] = '*'
for i = 5, #ARGV do
  add[#add + 1] = ARGV[i]
end
local id = redis.call(unpack(add))
redis.call('ZADD', KEYS[2], tick, tick .. ' ' .. id) -- an id alone comes again when a stream is deleted
redis.call('ZREMRANGEBYRANK', KEYS[2], 0, -most - 1)
redis.call('PEXPIRE', KEYS[2], ARGV[3])
return {'added', id, ''}
