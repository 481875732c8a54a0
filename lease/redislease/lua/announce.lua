-- announce: say that somebody takes part, or does no more.
-- KEYS[1] the namespace's members  [2] when each was announced last  [3] former members
-- ARGV    1 holder  2 life in ms; 0: no more  3 what it says about itself  4 for how many ms former members are kept
--         5 how many of them
local stamp, now = clock()
if ARGV[2] == '0' then
  local entry = redis.call('HGET', KEYS[1], ARGV[1])
  if entry then
    if tonumber(string.match(entry, '^%d+')) > now then
      redis.call('ZADD', KEYS[2], stamp, ARGV[1])
    end
    retire(KEYS, ARGV[1], entry, now, ARGV[4], tonumber(ARGV[5]))
  end
  return 1
end
redis.call('HSET', KEYS[1], ARGV[1], int(now + ARGV[2] * 1000) .. ' ' .. ARGV[3])
redis.call('ZADD', KEYS[2], stamp, ARGV[1])
redis.call('HDEL', KEYS[3], ARGV[1])
for i = 1, 2 do -- long enough for the next to see that all are gone
  redis.call('PEXPIRE', KEYS[i], ARGV[2] + ARGV[4])
end
return 1
