-- set_put: keep a set.
-- KEYS[1] the set's key   ARGV[1] the set  2 its life from now, ms
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
