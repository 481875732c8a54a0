-- lock_release: give back what is held of a lock, or a place in its queue.
-- KEYS[1] lock
-- ARGV    1 holder and request  2 token; 0: whatever they have  3 permits  4 limit
--         5 1 to refuse a claim of that ID that comes later
-- returns 1 when done, 0 when the grant is not current
local me, token = ARGV[1], ARGV[2]
local stamp, now = clock()
local l, lost = load(KEYS[1], me), {}
if ARGV[5] == '1' then
  remember(l, now, me)
end
local ticket = l.ticket and node(l, TICKET, l.ticket)
if ticket then
  leave(l, ticket)
end
local done, woken = 1, nil
local h = find(l, me)
if h and (token == '0' or h.n == token) then
  drop(l, h)
  if tonumber(h.n) < tonumber(l.born) then -- else it could be taken for a forgotten one
    bury(l, h.n, '1')
  end
  woken = turns(l, now)
  if h.tell == '1' then
    woken = also(woken, string.match(me, ' (.*)'))
  end
else
  if token ~= '0' then
    begin(l, stamp)
    local released = gone(l, token)
    if released then
      done = tonumber(released)
    elseif forgotten(l, token) then
      local g = {n = token, permits = tonumber(ARGV[3]), limit = tonumber(ARGV[4])}
      if make_room(l, g, now, lost) then
        raise(l, token)
        bury(l, token, '1')
      else
        done = 0
      end
    end
  end
  if ticket or lost[1] then
    woken = turns(l, now)
  end
end
if l.born or ARGV[5] == '1' then
  store(l, now, now)
end
wake(l, woken)
return done
