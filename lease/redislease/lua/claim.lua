-- claim: ask for an occasion.
-- KEYS[1] record
-- ARGV    1 occasion  2 holder  3 request  4 term in us  5 not before, ms  6 not after, ms (0: no bound)
--         7 newest mark the claimer knows  8 takeovers  9 overlap: 0 allow, 1 skip, 2 wait  10 retention in ms
-- returns {status, mark, now}, and what is known besides: token, attempt, takeovers, left, holder; and then, if there are
--         any: the other open occasions, the others settled as lost
local GRANTED, HELD, DECIDED, SKIPPED, LOST, BUSY, EARLY, LATE, UNKNOWN = 1, 2, 3, 4, 5, 6, 7, 8, 9

local key, occasion, holder, request = KEYS[1], ARGV[1], ARGV[2], ARGV[3]
local n, known = tonumber(occasion), tonumber(ARGV[7])
local r = redis.call('HMGET', key, 'mark', 'open', 'token', 'settled', 'skipped')
local now = clock()
local mark, settled = tonumber(r[1] or '0'), r[4]
if n > 0 then
  if not r[1] then
    return {UNKNOWN, known, now}
  end
  if mark < known then
    raise(key, r[1], ARGV[7])
    mark = known
  end
end
local mine, others = split(r[2] or '', occasion)

-- answer lists the others as they stand: occasion token attempt left holder.
local lost = ''
local function answer(status, token, attempt, takeovers, left, by)
  if others == '' and lost == '' then
    return {status, mark, now, token or 0, attempt or 0, takeovers or 0, left or 0, by or ''}
  end
  local list = ''
  for o, t, a, _, ends, h in string.gmatch(others, LINE) do
    list = list .. o .. ' ' .. t .. ' ' .. a .. ' ' .. int(math.max(ends - now, 0)) .. ' ' .. h .. '\n'
  end
  return {status, mark, now, token or 0, attempt or 0, takeovers or 0, left or 0, by or '', list, lost}
end

local attempt, takeovers = 1, ARGV[8]
if mine then
  local _, t, a, left, ends, h, q = string.match(mine, LINE)
  ends = tonumber(ends)
  if ends > now then
    if h == holder and q == request then
      return answer(GRANTED, tonumber(t), tonumber(a), tonumber(left), ends - now)
    end
    return answer(HELD, tonumber(t), tonumber(a), 0, ends - now, h)
  end
  if n > 0 then
    attempt, takeovers = a + 1, left
    if ends > 0 then
      if left == '0' then
        remember(key, settled, occasion, t, 'lost', 'open', others)
        return answer(LOST, tonumber(t), tonumber(a))
      end
      takeovers = int(left - 1)
    end
  end
elseif n > 0 then
  if n <= mark then
    local skipped = r[5] and r[5] + 16 >= tonumber(settled) and remembered(key, settled, occasion, '-' .. request)
    return answer(skipped and SKIPPED or DECIDED)
  end
  if ARGV[5] * 1000 > now then
    return answer(EARLY, 0, 0, 0, ARGV[5] * 1000 - now)
  end
  if ARGV[6] ~= '0' and ARGV[6] * 1000 < now then
    return answer(LATE)
  end
  if others ~= '' then
    local kept, first, until_when = '', nil, nil -- first is the occasion that is open for longest; of several, the oldest
    for o, t, a, left, ends, h, q in string.gmatch(others, LINE) do
      ends = tonumber(ends)
      if ends > 0 and ends <= now and left == '0' and o ~= '0' then
        -- What ran out and may not be granted again is over, and stands in nobody's way.
        settled = remember(key, settled, o, t, 'lost')
        lost = lost .. o .. '\n'
      else
        kept = kept .. line(o, t, a, left, ends, h, q)
        if o ~= '0' and (not first or ends > until_when or ends == until_when and tonumber(o) < tonumber(first[1])) then
          first, until_when = {o, t, a, h}, ends
        end
      end
    end
    others = kept
    if first and ARGV[9] == '1' then
      mark = n
      remember(key, settled, occasion, '-' .. request, 'skipped', 'mark', occasion, 'open', others, 'skipped', settled or '0')
      return answer(SKIPPED)
    elseif first and ARGV[9] == '2' then
      redis.call('HSET', key, 'open', others, 'wait', '1')
      return answer(BUSY, tonumber(first[2]), tonumber(first[3]), 0, math.max(until_when - now, 0), first[4])
    end
  end
  mark = n
end

local token = math.max(tonumber(r[3] or '0') + 1, now)
local text = int(token)
local open = others .. line(occasion, text, attempt, takeovers, now + ARGV[4], holder, request)
if n > 0 then
  redis.call('HSET', key, 'token', text, 'open', open, 'mark', int(mark))
else
  redis.call('HSET', key, 'token', text, 'open', open)
end
keep(key, ARGV[10])
return answer(GRANTED, token, attempt, tonumber(takeovers), tonumber(ARGV[4]))
