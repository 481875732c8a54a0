-- Most claims of a lock: nobody waits, and nobody holds it, or there is room beside several who do; or the only hold is in
-- the way of a claim that does not wait. The rest is below.
local first
if ARGV[3] == '1' then
  first = redis.call('HMGET', KEYS[1], 'token', 'one', 'used', 'waits', 'until', 'withdrawn')
else
  first = redis.call('HMGET', KEYS[1], 'token', 'one', 'used', 'waits', 'until', 'withdrawn', 'latest', 'i:' .. ARGV[1])
end
local seconds = redis.call('TIME')
local stamp = seconds[1] .. string.sub('00000' .. seconds[2], -6)
local now = tonumber(stamp)
if first[1] and not first[4] then
  if first[2] then
    local id, token, permits, ends = string.match(first[2], '^(%S+ %S+) (%d+) (%d+) %d+ %d (%d+)$')
    if tonumber(ends) > now and id ~= ARGV[1] and permits + ARGV[2] > tonumber(ARGV[3]) and ARGV[6] == '0' and not first[6] then
      return {2, token, string.match(id, '%S+'), ends - now, now}
    end
  elseif not first[6] then
    if tonumber(first[1]) < now and tonumber(ARGV[8]) < now and ARGV[7] == '0' and
      first[5] and now + ARGV[4] + 300000000 <= tonumber(first[5]) then -- it is kept for long enough
      local ends = string.format('%.0f', now + ARGV[4])
      if not first[3] then
        redis.call('HSET', KEYS[1], 'token', stamp,
          'one', ARGV[1] .. ' ' .. stamp .. ' ' .. ARGV[2] .. ' ' .. stamp .. ' 0 ' .. ends)
        return stamp
      end
      local used = first[3] + ARGV[2]
      if first[7] and not first[8] and used <= tonumber(ARGV[3]) then
        local last = 'h:' .. first[7]
        local earlier, rest, before = string.match(redis.call('HGET', KEYS[1], last) or '', '^(%d+) 0 (%d+ %d+ %d (%d+) .+)$')
        if earlier and tonumber(before) < tonumber(ends) then
          redis.call('HSET', KEYS[1], 'token', stamp, 'used', string.format('%.0f', used), 'latest', stamp,
            last, earlier .. ' ' .. stamp .. ' ' .. rest, 'i:' .. ARGV[1], stamp,
            'h:' .. stamp, first[7] .. ' 0 ' .. ARGV[2] .. ' ' .. stamp .. ' 0 ' .. ends .. ' ' .. ARGV[1])
          return stamp
        end
      end
    end
  end
end
