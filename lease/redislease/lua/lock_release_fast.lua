-- Most releases of a lock: nobody waits or wants to be told. The rest is below.
local first
if ARGV[4] == '1' then
  first = redis.call('HMGET', KEYS[1], 'one', 'waits', 'born', 'until')
else
  first = redis.call('HMGET', KEYS[1], 'one', 'waits', 'born', 'until', 'used', 'i:' .. ARGV[1])
end
if ARGV[5] == '0' and not first[2] and first[3] and tonumber(ARGV[2]) >= tonumber(first[3]) then
  local start = ARGV[1] .. ' ' .. ARGV[2] .. ' '
  if first[1] then
    if string.sub(first[1], 1, #start) == start and string.find(first[1], ' 0 %d+$') and
      first[4] and first[4] - redis.call('TIME')[1] * 1000000 <= 420000000 then -- it is forgotten soon
      return redis.call('HDEL', KEYS[1], 'one')
    end
  elseif first[6] == ARGV[2] then
    local h = 'h:' .. ARGV[2]
    local earlier, later, permits = string.match(redis.call('HGET', KEYS[1], h) or '', '^(%d+) (%d+) (%d+) %d+ 0 ')
    if earlier and first[5] - permits > 0 then
      local a, b = 'h:' .. earlier, 'h:' .. later
      local beside = redis.call('HMGET', KEYS[1], a, b)
      local set = {'used', string.format('%.0f', first[5] - permits)}
      if beside[1] then
        local before, rest = string.match(beside[1], '^(%d+) %d+(.+)$')
        set[3], set[4] = a, before .. ' ' .. later .. rest
      else
        set[3], set[4] = 'soonest', later
      end
      if beside[2] then
        set[5], set[6] = b, earlier .. string.match(beside[2], '^%d+(.+)$')
      else
        set[5], set[6] = 'latest', earlier
      end
      redis.call('HDEL', KEYS[1], h, 'i:' .. ARGV[1])
      redis.call('HSET', KEYS[1], unpack(set))
      return 1
    end
  end
end
