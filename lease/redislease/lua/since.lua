-- since: say what this server's time is, and since when it remembers this namespace.
-- KEYS[1] the namespace's key, a hash: format, since. A string there is of a release before the format had a number.
-- ARGV[1] the format of the caller
-- returns {now, since}, or {now, the format that is there}, as text
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local kind = redis.call('TYPE', KEYS[1]).ok
if kind == 'none' then
  redis.call('HSET', KEYS[1], 'format', ARGV[1], 'since', string.format('%.0f', now))
elseif kind ~= 'hash' then
  return {now, '1'}
end
local r = redis.call('HMGET', KEYS[1], 'format', 'since')
if r[1] ~= ARGV[1] then
  return {now, r[1] or ''}
end
return {now, tonumber(r[2])}
