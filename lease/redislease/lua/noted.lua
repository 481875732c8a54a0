-- noted: tell what was triggered.
-- KEYS[1] the namespace's triggers
-- ARGV    1 since when, us
-- returns {now, names and occasions}
local _, now = clock()
return {now, redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. ARGV[1], '+inf')}
