-- announce: say that somebody takes part, or does no more.
-- ARGV    1 holder  2 life in ms; 0: no more  3 what it says about itself  4 for how many ms former members are kept
--         5 how many of them
local stamp, now = clock()
retire_dead(KEYS, now, ARGV[4], tonumber(ARGV[5]))
if ARGV[2] ~= '0' then
  join(KEYS, ARGV[1], ARGV[2], ARGV[3], stamp, now, ARGV[4])
elseif redis.call('ZSCORE', KEYS[4], ARGV[1]) then
  redis.call('ZADD', KEYS[2], stamp, ARGV[1])
  retire(KEYS, ARGV[1], now, ARGV[4], tonumber(ARGV[5]))
end
return 1
