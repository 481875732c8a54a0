-- due: list what is due. The index of a share of a job is a sorted set: KEY of each key JOB/KEY, by when it is due in ms.
-- KEYS    one for each share
-- ARGV    1 until when, ms  2 how many of each share at most
-- returns of each share a list: KEY, ms, and so on
local list = {}
for i, key in ipairs(KEYS) do
  list[i] = redis.call('ZRANGEBYSCORE', key, '-inf', ARGV[1], 'WITHSCORES', 'LIMIT', 0, ARGV[2])
end
return list
