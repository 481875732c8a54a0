-- lock_view: show a lock, and change nothing.
-- KEYS[1] lock
-- ARGV    1 how many of those who wait are shown
-- returns {now, token, how many wait, the holds: ID token permits since ends..., who waits: ID permits since ends...}
local stamp, now = clock()
local l = load(KEYS[1], '')
local holds, line, waits = {}, {}, 0
for i, h in ipairs(between(l, -1, math.huge)) do
  holds[i] = h.id .. ' ' .. h.token .. ' ' .. h.permits .. ' ' .. h.since .. ' ' .. int(h.ends)
end
local from, list = 0, {}
repeat
  list = l.waits > 0 and tickets(l, from, from + 499) or {}
  for _, t in ipairs(list) do
    if t.ends > now then
      waits = waits + 1
      if waits <= tonumber(ARGV[1]) then
        line[waits] = t.id .. ' ' .. t.permits .. ' ' .. t.since .. ' ' .. int(t.ends)
      end
    end
  end
  from = from + 500
until not list[1]
return {now, tonumber(l.token), waits, holds, line}
