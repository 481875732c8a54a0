-- lock_claim: ask for permits of a lock.
-- KEYS[1] lock
-- ARGV    1 holder and request  2 permits  3 limit  4 term in us  5 turn: 0 any, 1 arrival, 2 largest
--         6 the ticket's life in us, 0 not to wait  7 1 to notify of the grant and its end
--         8 the newest token of the name that the claimer knows
-- returns the token when it is new, and all else of the answer follows from it; otherwise
--         {status (see below), token, holder, left, now, for each that was taken away "token holder"...}
local GRANTED, HELD, QUEUED = 1, 2, 10
local me, permits, limit, term, turn = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local l, lost = load(KEYS[1], me), {}
begin(l, int(math.max(now, ARGV[8] + 1)))
if l.refused > now then
  return {HELD, '0', '', l.refused - now, now}
end
if l.withdrawn then
  remember(l, now)
end
local h = find(l, me)
if h and h.ends > now then
  return {GRANTED, h.n, '', h.ends - now, now}
end
if h then
  lose(l, h, lost)
end
local ticket = l.ticket and node(l, TICKET, l.ticket)
local waits = ticket and ticket.ends > now
local head, dropped = first(l, now)
-- Who waits in any order comes after those who wait in another, and may pass those who do as well.
local rank = turn == 0 and MAXPERMITS or turn == 2 and MAXPERMITS - permits or 0
local mine = waits and ticket or {rank = rank, n = int(l.arrived + 1)}
local place = turn == 0 and {rank = mine.rank, n = '0'} or mine

-- Those who come before take what they can; whoever of them cannot is waited for.
local ahead, blocked = 0, false
if head and before(head, place) then
  local used = l.used
  for _, x in ipairs(between(l, -1, now)) do
    used = used - x.permits
  end
  local reached = false
  each(l, function(t)
    if not before(t, place) then
      reached = true
      return true
    end
    if t.ends > now then
      if used + ahead + t.permits <= t.limit then
        ahead = ahead + t.permits
      else
        blocked = t.turn ~= 0
      end
    end
    return blocked
  end)
  blocked = blocked or not reached and l.waits > LOOKED
else
  head = nil
end
if l.used + ahead + permits > limit then
  sweep(l, now, lost)
end

local status, token, holder, left, woken
local upto = now
if not blocked and l.used + ahead + permits <= limit then
  status, token, holder, left = GRANTED, int(math.max(l.token + 1, l.born, ARGV[8] + 1, now)), '', term
  upto = now + term
  raise(l, token)
  add(l, {id = me, n = token, permits = permits, since = stamp, tell = ARGV[7], ends = now + term})
  if ticket then
    leave(l, ticket)
  end
  if lost[1] or dropped or waits and ticket.permits > permits then
    woken = turns(l, now)
  end
  if ARGV[7] == '1' then
    woken = also(woken, string.match(me, ' (.*)'))
  end
else
  status, token, holder = HELD, '0', head and string.match(head.id, '%S+') or ''
  local ends = head and head.ends or math.huge
  local x = between(l, now, math.huge, 1)[1]
  if x then
    token, holder, ends = x.n, string.match(x.id, '%S+'), math.min(ends, x.ends)
  end
  left = ends - now
  if ARGV[6] ~= '0' then
    status = QUEUED
    if not waits then
      if ticket then
        leave(l, ticket)
      end
      mine.id, mine.since = me, stamp
      enter(l, mine)
    end
    mine.permits, mine.limit, mine.turn, mine.ends = permits, limit, turn, now + ARGV[6]
    change(l, TICKET, mine)
    upto = mine.ends
  end
  if lost[1] or dropped then
    woken = turns(l, now)
  end
end
store(l, now, upto)
wake(l, woken)
table.sort(lost, function(a, b) return tonumber(a.n) < tonumber(b.n) end)
local answer = {status, token, holder, left, now}
for i, x in ipairs(lost) do
  answer[5 + i] = x.n .. ' ' .. string.match(x.id, '%S+')
end
return answer
