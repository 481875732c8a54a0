-- Most releases of a lock: nobody waits or wants to be told. The rest is below.
local first
if ARGV[4] == '1' then
  first = redis.call('HMGET', KEYS[1], 'one', 'waits', 'born')
else
  first = redis.call('HMGET', KEYS[1], 'one', 'waits', 'born', 'used', 'h:' .. ARGV[1])
end
if not first[2] and first[3] and tonumber(ARGV[2]) >= tonumber(first[3]) then
  local start = ARGV[1] .. ' ' .. ARGV[2] .. ' '
  if first[1] then
    if string.sub(first[1], 1, #start) == start and string.find(first[1], ' 0 %d+$') then
      return redis.call('HDEL', KEYS[1], 'one')
    end
  elseif first[5] then
    local token, permits = string.match(first[5], '^(%d+) (%d+) %d+ 0$')
    if token == ARGV[2] and first[4] - permits > 0 then
      redis.call('HDEL', KEYS[1], 'h:' .. ARGV[1])
      redis.call('HSET', KEYS[1], 'used', string.format('%.0f', first[4] - permits))
      redis.call('ZREM', string.sub(KEYS[1], 1, -5) .. 'holds', ARGV[1])
      return 1
    end
  end
end
