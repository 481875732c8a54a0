-- pause: pause a record, unless it is paused.
-- KEYS[1] record
-- ARGV    1 by  2 why
-- returns the pause; nil when there is no record
local v = redis.call('HMGET', KEYS[1], 'mark', 'paused')
if not v[1] then
  return false
end
if not v[2] then
  v[2] = clock() .. ' ' .. ARGV[1] .. ' ' .. ARGV[2]
  redis.call('HSET', KEYS[1], 'paused', v[2])
end
wake(KEYS[1], '-1')
return v[2]
