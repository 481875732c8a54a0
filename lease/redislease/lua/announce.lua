-- announce: say that somebody takes part, or does no more.
-- KEYS[1] the namespace's members
-- ARGV    1 holder  2 life in ms; 0: no more  3 what it says about itself
local stamp, now = clock()
if ARGV[2] == '0' then
  return redis.call('HDEL', KEYS[1], ARGV[1])
end
redis.call('HSET', KEYS[1], ARGV[1], int(now + ARGV[2] * 1000) .. ' ' .. ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[2], 'GT')
redis.call('PEXPIRE', KEYS[1], ARGV[2], 'NX')
return 1
