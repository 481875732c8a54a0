-- pause: pause a record, unless it is paused.
-- KEYS[1] record
-- ARGV    1 by  2 why  3 the latest time at which it holds, ms (0: no bound)
-- returns the pause; nil when there is no record
local stamp, now = clock()
if late(ARGV[3], now) then
  return out_of_bounds(stamp)
end
local v = redis.call('HMGET', KEYS[1], 'mark', 'paused')
if not v[1] then
  return false
end
if not v[2] then
  v[2] = stamp .. ' ' .. ARGV[1] .. ' ' .. ARGV[2]
  redis.call('HSET', KEYS[1], 'paused', v[2])
end
wake(KEYS[1], '-1')
return v[2]
