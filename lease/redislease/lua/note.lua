-- note: take down that an occasion was triggered, for those who do not hear of it otherwise.
-- KEYS[1] the namespace's triggers
-- ARGV    1 name and occasion  2 for how long, us
local stamp, now = clock()
redis.call('ZADD', KEYS[1], stamp, ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', int(now - ARGV[2]))
redis.call('PEXPIRE', KEYS[1], math.ceil(ARGV[2] / 1000))
return 1
