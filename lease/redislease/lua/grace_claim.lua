-- claim, with a grace: see grace and claim.
do
  local left, now = grace_left()
  if left > 0 then
    local v = redis.call('HMGET', KEYS[1], 'mark', 'open')
    local a, since, term = string.match('\n' .. (v[2] or ''), '\n' .. ARGV[1] .. ' %d+ (%d+) %d+ (%d+) (%d+) ')
    local answered = false
    if a then -- what is held is told, also to its holder
      answered = a ~= '0' and since + term > now
    elseif ARGV[1] ~= '0' then -- what is decided stays so, and what nobody knows is not
      answered = not v[1] or tonumber(ARGV[1]) <= math.max(tonumber(v[1]), tonumber(ARGV[7]))
    end
    if not answered then
      return {left}
    end
  end
end
