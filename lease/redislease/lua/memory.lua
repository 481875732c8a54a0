-- memory returns since when this server remembers the namespace whose key that is, a hash: format, since. It returns the format
-- that is there when that is another; releases before the format had a number keep a string there. Or an error.
local function memory(key, format, now)
  local r = redis.pcall('HMGET', key, 'format', 'since')
  if r.err then
    return string.find(r.err, 'WRONGTYPE', 1, true) and '1' or r
  end
  if not r[1] then
    redis.call('HSET', key, 'format', format, 'since', int(now))
    return now
  end
  return r[1] == format and tonumber(r[2]) or r[1]
end

-- noted returns what was triggered, paused or resumed since a time in us; nothing when that is empty.
local function noted(key, since)
  return since ~= '' and redis.call('ZRANGEBYSCORE', key, '(' .. since, '+inf') or {}
end
