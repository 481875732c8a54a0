-- since: say what this server's time is, and since when it remembers this namespace.
-- KEYS[1] the namespace's key, a hash: format, since. Releases before the format had a number keep a string there.
-- ARGV[1] the format of the caller
-- returns {now, since}, or {now, the format that is there}, as text
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local r = redis.pcall('HMGET', KEYS[1], 'format', 'since')
if r.err then
  return string.find(r.err, 'WRONGTYPE', 1, true) and {now, '1'} or r
end
if not r[1] then
  redis.call('HSET', KEYS[1], 'format', ARGV[1], 'since', string.format('%.0f', now))
  return {now, now}
end
return {now, r[1] == ARGV[1] and tonumber(r[2]) or r[1]}
