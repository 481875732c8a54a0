-- time: tell this server's time, and since when it remembers this namespace.
-- KEYS[1] the namespace's key
-- returns {now, since}
local stamp, now = clock()
local since = redis.call('GET', KEYS[1])
if not since then
  since = stamp
  redis.call('SET', KEYS[1], since)
end
return {now, tonumber(since)}
