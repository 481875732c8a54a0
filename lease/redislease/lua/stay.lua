-- stay: lengthen the life of one that is a member. It takes no memory, so it may when there is none.
-- ARGV    1 holder  2 life in ms  3 for how many ms former members are kept
local stamp, now = clock()
local info = redis.call('ZSCORE', KEYS[4], ARGV[1]) and redis.call('HGET', KEYS[1], ARGV[1])
if info then
  join(KEYS, ARGV[1], ARGV[2], info, stamp, now, ARGV[3])
end
return 1
