-- lock_claim, with a grace: see grace and lock_claim. Only who holds permits is answered.
do
  local left, now = grace_left()
  if left > 0 then
    local one = redis.call('HGET', KEYS[1], 'one') or ''
    local ends
    if string.sub(one, 1, #ARGV[1] + 1) == ARGV[1] .. ' ' then
      ends = string.match(one, '%d+$')
    else
      local token = redis.call('HGET', KEYS[1], 'i:' .. ARGV[1])
      ends = token and string.match(redis.call('HGET', KEYS[1], 'h:' .. token) or '', '^%d+ %d+ %d+ %d+ %d (%d+) ')
    end
    if not ends or tonumber(ends) <= now then
      return {left}
    end
  end
end
