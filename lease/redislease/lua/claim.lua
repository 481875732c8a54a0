-- claim: ask for an occasion.
-- KEYS[1] record
-- ARGV    1 occasion  2 holder  3 request  4 term in us  5 not before, ms  6 not after, ms (0: no bound)
--         7 newest mark the claimer knows  8 takeovers  9 overlap: 0 allow, 1 skip, 2 wait, 3 queue, 4 replace
--         10 the latest time at which it holds, ms (0: no bound)
--         11 the latest time at which a lease that ran out counts as ended, ms (0: no bound)
--         12 present: only if it is open
-- returns a token alone: granted at that time, as it was asked for, and nothing else is open. Otherwise {status, mark,
--         now}, and what is known besides: token, attempt, takeovers, left, holder; and then, if there are any: the
--         other open occasions, entries of what was settled besides; and of a takeover the former holder's token,
--         attempt, lease end (0 if it was released) and name
local GRANTED, HELD, DECIDED, SKIPPED, LOST, BUSY, EARLY, LATE, UNKNOWN, QUEUED, PAUSED, OUT_OF_BOUNDS = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12

local key, occasion, holder, request, overlap = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[9]
local n = tonumber(occasion)
local r = read(key)
if late(ARGV[10], now) then
  return {OUT_OF_BOUNDS, tonumber(r.mark or '0'), now}
end
restart(r, stamp, now)
if n > 0 then
  if not r.mark then
    return {UNKNOWN, tonumber(ARGV[7]), now}
  end
  if tonumber(r.mark) < tonumber(ARGV[7]) then
    raise(r, ARGV[7])
  end
  prune(r)
end
local mine, others = split(r.open, occasion)

-- answer lists the others as they stand: occasion token attempt left holder.
local settled, former = '', nil
local function answer(status, token, attempt, takeovers, left, by)
  local a = {status, tonumber(r.mark or '0'), now, tonumber(token or 0), tonumber(attempt or 0), tonumber(takeovers or 0), left or 0, by or ''}
  if others ~= '' or settled ~= '' then
    local list = ''
    for o, t, attempt, since, term, h in string.gmatch(others, '(%d+) (%d+) (%d+) %d+ (%d+) (%d+) (%S+) %S+\n') do
      list = list .. o .. ' ' .. t .. ' ' .. attempt .. ' ' .. int(math.max(since + term - now, 0)) .. ' ' .. h .. '\n'
    end
    a[9], a[10] = list, settled
  end
  if former then
    a[9], a[10], a[11] = a[9] or '', a[10] or '', former
  end
  return a
end

local function over(o, t, a, h, outcome, note)
  return remember(r, o, t, outcome, stamp, a, 0, h, note)
end

local function grant(attempt, takeovers)
  local token = stamp
  if r.token and tonumber(r.token) >= now then
    token = int(r.token + 1)
  end
  redis.call('HSET', key, 'token', token, 'open', others .. line(occasion, token, attempt, takeovers, stamp, ARGV[4], holder, request))
  keep(key, occasion, ARGV[4])
  return answer(GRANTED, token, attempt, takeovers, tonumber(ARGV[4]))
end

-- ended settles what ran out and has to end: what was cancelled, or replaced. It returns the entry, or nil.
local function ended(o, t, a, h)
  local by = cancelled(r.cancels, o)
  if by then
    return over(o, t, a, h, 'cancelled', 'cancelled by ' .. by)
  end
  return replaced(r.stop, o, t) and over(o, t, a, h, 'replaced', 'expired')
end

-- may_end reports whether this claim may treat what ran out, or was released (since is 0), as ended.
local function may_end(since)
  return since == '0' or not late(ARGV[11], now)
end

-- sweep settles what is over and stands in nobody's way: what ran out and may not be granted again, and what is free and
-- has to make room. It returns the line of what is granted for longest; of several, of the oldest.
local function sweep()
  local kept, first, last = '', nil, nil
  for o, t, a, left, since, term, h, q in string.gmatch(others, LINE) do
    local ends, number = since + term, tonumber(o)
    if o ~= '0' and a ~= '0' and ends <= now and may_end(since) then
      local entry = ended(o, t, a, h)
      if entry then
        settled = settled .. entry .. '\n'
        o = nil
      elseif overlap == '4' and number < n then
        settled = settled .. over(o, t, a, h, 'replaced', 'expired') .. '\n'
        o = nil
      elseif left == '0' and since ~= '0' then
        settled = settled .. over(o, t, a, h, 'lost', 'expired') .. '\n'
        o = nil
      end
    end
    if o then
      kept = kept .. line(o, t, a, left, since, term, h, q)
      if o ~= '0' and a ~= '0' and (not first or ends > last or ends == last and number < tonumber(first[1])) then
        first, last = {o, t, a, h, ends}, ends
      end
    end
  end
  others = kept
  return first
end

-- makeRoom settles what waits, to let a newer occasion take its place.
local function makeRoom()
  local kept = ''
  for o, t, a, left, since, term, h, q in string.gmatch(others, LINE) do
    if a == '0' then
      settled = settled .. over(o, t, a, h, overlap == '4' and 'replaced' or 'skipped', 'newer') .. '\n'
    else
      kept = kept .. line(o, t, a, left, since, term, h, q)
    end
  end
  others = kept
end

-- replace tells what was granted of the occasions before this one that it has to make room. What will be granted later
-- has not: an occasion before this one may come after it, when it is caught up.
local function replace()
  for o, t, a in string.gmatch(others, '(%d+) (%d+) (%d+) %d+ %d+ %d+ %S+ %S+\n') do
    if o ~= '0' and tonumber(o) < n and a ~= '0' and not replaced(r.stop, o, t) then
      local before = r.stop and tonumber(string.match(r.stop, '%d+')) or 0
      r.stop = int(math.max(before, n)) .. ' ' .. r.token
      redis.call('HSET', key, 'stop', r.stop)
      return wake(key)
    end
  end
end

-- behind answers that the claim has to wait for first.
local function behind(status, first, open)
  redis.call('HSET', key, 'open', open, 'wait', '1')
  if overlap == '4' then
    replace()
  end
  return answer(status, first[2], first[3], 0, math.max(first[5] - now, 0), first[4])
end

local function skip(status, note)
  r.mark = occasion
  redis.call('HSET', key, 'skipped', r.settled)
  remember(r, occasion, '-' .. request, 'skipped', stamp, 0, 0, holder, note, 'mark', occasion, 'open', others)
  return answer(status)
end

if mine then
  local _, t, a, left, since, term, h, q = string.match(mine, LINE)
  local ends = since + term
  if a == '0' then
    local first = sweep()
    if first and overlap ~= '0' then
      return behind(QUEUED, first, others .. mine)
    end
    return grant(1, ARGV[8])
  end
  if ends > now then
    if h == holder and q == request then
      return answer(GRANTED, t, a, left, ends - now)
    end
    return answer(HELD, t, a, 0, ends - now, h)
  end
  if not may_end(since) then
    return answer(HELD, t, a, 0, 0, h)
  end
  former = t .. ' ' .. a .. ' ' .. (since == '0' and '0' or int(ends)) .. ' ' .. h
  if n == 0 then
    return grant(1, ARGV[8])
  end
  local entry = ended(occasion, t, a, h)
  if entry then
    redis.call('HSET', key, 'open', others)
    settled, former = entry .. '\n', nil
    return answer(DECIDED, t, a)
  end
  if since ~= '0' then
    if left == '0' then
      redis.call('HSET', key, 'open', others)
      over(occasion, t, a, h, 'lost', 'expired')
      former = nil
      return answer(LOST, t, a)
    end
    left = int(left - 1)
  end
  return grant(int(a + 1), left)
end

if n == 0 and not ARGV[12] then
  return grant(1, ARGV[8])
end
if n > 0 and n <= tonumber(r.mark) then
  local e = r.skipped and r.skipped + REMEMBERED >= r.settled and remembered(r, occasion, '-' .. request)
  if not e then
    return answer(DECIDED)
  end
  return answer(note_of(e) == 'paused' and PAUSED or SKIPPED)
end
if ARGV[12] then
  return answer(DECIDED)
end
if ARGV[5] * 1000 > now then
  return answer(EARLY, 0, 0, 0, ARGV[5] * 1000 - now)
end
if excepted(r, occasion) then
  r.mark = occasion
  redis.call('HSET', key, 'mark', occasion)
  prune(r)
  return answer(DECIDED)
end
if ARGV[6] ~= '0' and ARGV[6] * 1000 < now then
  return answer(LATE)
end
if r.paused then
  return skip(PAUSED, 'paused')
end
local first = sweep()
local o, by = waiting(others)
if (first or o) and overlap ~= '0' then
  if overlap == '1' then
    return skip(SKIPPED, 'overlap')
  elseif overlap == '2' then
    return behind(BUSY, first or {o, '0', '0', by, 0}, others)
  end
  makeRoom()
  if first then
    r.mark = occasion
    redis.call('HSET', key, 'mark', occasion)
    return behind(QUEUED, first, others .. line(occasion, 0, 0, ARGV[8], 0, 0, holder, request))
  end
end
r.mark = occasion
redis.call('HSET', key, 'mark', occasion)
return grant(1, ARGV[8])
