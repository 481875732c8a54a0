-- Before anything is granted or decided anew by this server, the leases have to be over that it may not know of.
-- KEYS[#KEYS]  the server that the namespace remembers: the id of its replication, and since when
-- ARGV[#ARGV]  the grace in us
-- A claim that is refused returns {left in us}.

-- server_time returns the time as text, and as a number.
local function server_time()
  local t = redis.call('TIME')
  local stamp = t[1] .. string.sub('00000' .. t[2], -6)
  return stamp, tonumber(stamp)
end

-- grace_left returns how much of the grace is left, and the time. Numbers are written in full, as in the records.
local function grace_left()
  local id = string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)')
  if not id then
    error('INFO replication tells no master_replid, which the failover grace needs')
  end
  local stamp, now = server_time()
  local known, since = string.match(redis.call('GET', KEYS[#KEYS]) or '', '^(%x+) (%d+)$')
  if known ~= id or tonumber(since) > now then
    since = stamp
    redis.call('SET', KEYS[#KEYS], id .. ' ' .. since)
  end
  return since + table.remove(ARGV) - now, now
end
