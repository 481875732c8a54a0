-- lock_claim: ask for permits of a lock.
-- KEYS[1] lock
-- ARGV    1 holder and request  2 permits  3 limit  4 term in us  5 turn: 0 any, 1 arrival, 2 largest
--         6 the ticket's life in us, 0 not to wait  7 1 to tell of the grant and its end
-- returns the token when it is new, and all else of the answer follows from it; otherwise
--         {status (see below), token, holder, left, now, for each that was taken away "token holder"...}
local GRANTED, HELD, QUEUED = 1, 2, 10
local me, permits, limit, term, turn = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local l, lost = load(KEYS[1], me), {}
begin(l, stamp)
local h = find(l, me)
if h and h.ends > now then
  return {GRANTED, h.token, '', h.ends - now, now}
end
if h then
  lose(l, h, lost)
end
local ticket = l.waits > 0 and read_ticket(me, redis.call('HGET', l.tickets, me))
local waits = ticket and ticket.ends > now
local head, dropped = first(l, now)
local mine = waits and ticket.place or place(turn == 2 and MAXPERMITS - permits or 0, l.arrived + 1)

-- Those who come before take what they can; whoever of them cannot is waited for.
local ahead, blocked = 0, false
if turn ~= 0 and head and before(head.place, mine) then
  local used = l.used
  for _, x in ipairs(between(l, -1, now)) do
    used = used - x.permits
  end
  local reached = false
  each(l, function(t)
    if not before(t.place, mine) then
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
if not blocked and l.used + ahead + permits <= limit then
  status, token, holder, left = GRANTED, int(math.max(l.token + 1, now)), '', term
  raise(l, token)
  add(l, {id = me, token = token, permits = permits, since = stamp, tell = ARGV[7], ends = now + term})
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
    token, holder, ends = x.token, string.match(x.id, '%S+'), math.min(ends, x.ends)
  end
  left = ends - now
  if ARGV[6] ~= '0' then
    status = QUEUED
    local since, stays = waits and ticket.since or stamp, now + ARGV[6]
    if stays > l.lasts or l.waits == 0 then
      l.lasts = stays + HOUR
      l.set.lasts = int(l.lasts)
    end
    if not waits then
      if ticket then
        leave(l, ticket)
      end
      l.arrived, l.waits = l.arrived + 1, l.waits + redis.call('ZADD', l.line, 0, mine .. ' ' .. me)
      l.set.arrived = int(l.arrived)
      write_waits(l)
    end
    redis.call('HSET', l.tickets, me,
      mine .. ' ' .. permits .. ' ' .. limit .. ' ' .. turn .. ' ' .. since .. ' ' .. int(stays))
    if l.set.lasts then
      local ms = math.ceil((l.lasts - now) / 1000)
      redis.call('PEXPIRE', l.line, ms)
      redis.call('PEXPIRE', l.tickets, ms)
    end
  end
  if lost[1] or dropped then
    woken = turns(l, now)
  end
end
store(l, now, term)
wake(l, woken)
table.sort(lost, function(a, b) return tonumber(a.token) < tonumber(b.token) end)
local answer = {status, token, holder, left, now}
for i, x in ipairs(lost) do
  answer[5 + i] = x.token .. ' ' .. string.match(x.id, '%S+')
end
return answer
