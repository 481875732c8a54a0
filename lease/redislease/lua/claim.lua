-- claim: ask for an occasion.
-- KEYS[1] record
-- ARGV    1 occasion  2 holder  3 request  4 term in us  5 not before, ms  6 not after, ms (0: no bound)
--         7 newest mark the claimer knows  8 takeovers  9 overlap: 0 allow, 1 skip, 2 wait  10 retention in ms
-- returns {status, mark, now, token, attempt, takeovers, left, holder, open, others settled as lost}
local GRANTED, HELD, DECIDED, SKIPPED, LOST, BUSY, EARLY, LATE, UNKNOWN = 1, 2, 3, 4, 5, 6, 7, 8, 9

local key, occasion, holder, request = KEYS[1], ARGV[1], ARGV[2], ARGV[3]
local n, known = tonumber(occasion), tonumber(ARGV[7])
local r = redis.call('HMGET', key, 'mark', 'open', 'settled', 'token')
local now = clock()
local mark, open, settled = tonumber(r[1] or '0'), r[2] or '', r[3]

if n > 0 then
  if not r[1] then
    return {UNKNOWN, known, now}
  end
  if mark < known then
    raise(key, r[1], ARGV[7])
    mark = known
  end
  if n <= mark and open == '' then
    return {remembered(settled, occasion, '-' .. request) and SKIPPED or DECIDED, mark, now}
  end
end

local mine
local others = {}
for o, token, attempt, takeovers, ends, h, q in string.gmatch(open, LINE) do
  local e = {o, token, attempt, takeovers, tonumber(ends), h, q}
  if o == occasion then
    mine = e
  else
    others[#others + 1] = e
  end
end

-- answer lists the others as they stand: occasion token attempt left holder.
local lost = ''
local function answer(status, token, attempt, takeovers, left, by)
  local list = ''
  for _, e in ipairs(others) do
    list = list .. e[1] .. ' ' .. e[2] .. ' ' .. e[3] .. ' ' .. int(math.max(e[5] - now, 0)) .. ' ' .. e[6] .. '\n'
  end
  return {status, mark, now, token or 0, attempt or 0, takeovers or 0, left or 0, by or '', list, lost}
end

-- others_as_lines puts the others back together.
local function others_as_lines()
  local s = ''
  for _, e in ipairs(others) do
    s = s .. line(e[1], e[2], e[3], e[4], e[5], e[6], e[7])
  end
  return s
end

local attempt, takeovers = 1, ARGV[8]
if mine then
  if mine[5] > now then
    if mine[6] == holder and mine[7] == request then
      return answer(GRANTED, tonumber(mine[2]), tonumber(mine[3]), tonumber(mine[4]), mine[5] - now)
    end
    return answer(HELD, tonumber(mine[2]), tonumber(mine[3]), 0, mine[5] - now, mine[6])
  end
  if n > 0 then
    attempt, takeovers = mine[3] + 1, mine[4]
    if mine[5] > 0 then
      if tonumber(takeovers) == 0 then
        redis.call('HSET', key, 'open', others_as_lines(), 'settled', remember(key, settled, occasion, mine[2], 'lost'))
        return answer(LOST, tonumber(mine[2]), tonumber(mine[3]))
      end
      takeovers = int(takeovers - 1)
    end
  end
elseif n > 0 then
  if n <= mark then
    return answer(remembered(settled, occasion, '-' .. request) and SKIPPED or DECIDED)
  end
  if ARGV[5] * 1000 > now then
    return answer(EARLY, 0, 0, 0, ARGV[5] * 1000 - now)
  end
  if ARGV[6] ~= '0' and ARGV[6] * 1000 < now then
    return answer(LATE)
  end
  -- What ran out and may not be granted again is over, and stands in nobody's way.
  for i = #others, 1, -1 do
    local e = others[i]
    if e[5] > 0 and e[5] <= now and e[4] == '0' and e[1] ~= '0' then
      settled = remember(key, settled, e[1], e[2], 'lost')
      lost = lost .. e[1] .. '\n'
      table.remove(others, i)
    end
  end
  if ARGV[9] ~= '0' then
    local first -- the other occasion that is open for longest
    for _, e in ipairs(others) do
      if e[1] ~= '0' and (not first or e[5] > first[5]) then
        first = e
      end
    end
    if first and ARGV[9] == '1' then
      mark = n
      redis.call('HSET', key, 'mark', occasion, 'open', others_as_lines(), 'settled', remember(key, settled, occasion, '-' .. request, 'skipped'))
      return answer(SKIPPED)
    elseif first then
      if lost ~= '' then
        redis.call('HSET', key, 'open', others_as_lines(), 'settled', settled)
      end
      redis.call('HSET', key, 'wait', '1')
      return answer(BUSY, tonumber(first[2]), tonumber(first[3]), 0, math.max(first[5] - now, 0), first[6])
    end
  end
  mark = n
end

local token = math.max(tonumber(r[4] or '0') + 1, now)
open = others_as_lines() .. line(occasion, int(token), attempt, takeovers, now + ARGV[4], holder, request)
local fields = {'token', int(token), 'open', open}
if n > 0 then
  fields[5], fields[6] = 'mark', int(mark)
end
if lost ~= '' then
  fields[7], fields[8] = 'settled', settled
end
redis.call('HSET', key, unpack(fields))
keep(key, ARGV[10])
return answer(GRANTED, token, attempt, tonumber(takeovers), tonumber(ARGV[4]))
