-- cancel: end an open occasion.
-- KEYS[1] record
-- ARGV    1 occasion  2 by
-- returns {status, by, holder, what remains of its lease in us}; nil when there is no record
local PENDING, SETTLED, NOT_OPEN = 1, 2, 3
local key, occasion, by = KEYS[1], ARGV[1], ARGV[2]
local r = read(key)
if not r.mark then
  return false
end
local mine, others = split(r.open, occasion)
if not mine then
  local e
  for _, settled in ipairs(recent(key, r.settled, REMEMBERED)) do
    if string.match(settled, '^(%d+) %S+ cancelled ') == occasion then
      e = e or settled
    end
  end
  if not e then
    return {NOT_OPEN, '', '', 0}
  end
  return {SETTLED, string.match(note_of(e), '^cancelled by (.*)$') or '', '', 0}
end
local stamp, now = clock()
local before = cancelled(r.cancels, occasion)
by = before or by
local _, token, attempt, _, since, term, holder = string.match(mine, LINE)
if attempt == '0' or since + term <= now then
  remember(r, occasion, token, 'cancelled', stamp, attempt, 0, holder, 'cancelled by ' .. by, 'open', others)
  wake(key, '-2')
  return {SETTLED, by, '', 0}
end
if not before then
  redis.call('HSET', key, 'cancels', (r.cancels or '') .. occasion .. ' ' .. by .. '\n')
end
wake(key, '-2')
return {PENDING, by, holder, since + term - now}
