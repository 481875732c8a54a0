-- lock_view: show a lock, and change nothing.
-- KEYS[1] lock
-- ARGV    1 how many of those who wait are shown
-- returns {now, token, how many wait, the holds: ID token permits since ends..., who waits: ID permits since ends...}
local stamp, now = clock()
local fields, hash = redis.call('HGETALL', KEYS[1]), {}
local holds, queue, waits = {}, {}, 0
for i = 1, #fields, 2 do
  local kind, n = string.match(fields[i], '^([hw]:)(%d+)$')
  if kind == HOLD then
    holds[#holds + 1] = read_hold(n, fields[i + 1]) or nil
  elseif kind == TICKET then
    queue[#queue + 1] = read_ticket(n, fields[i + 1]) or nil
  else
    hash[fields[i]] = fields[i + 1]
  end
end
if hash.one then
  holds = between(load(KEYS[1], ''), -1, math.huge)
end
table.sort(holds, function(a, b) return tonumber(a.n) < tonumber(b.n) end)
table.sort(queue, before)
for i, h in ipairs(holds) do
  holds[i] = h.id .. ' ' .. h.n .. ' ' .. h.permits .. ' ' .. h.since .. ' ' .. int(h.ends)
end
local line = {}
for _, t in ipairs(queue) do
  if t.ends > now then
    waits = waits + 1
    if waits <= tonumber(ARGV[1]) then
      line[waits] = t.id .. ' ' .. t.permits .. ' ' .. t.since .. ' ' .. int(t.ends)
    end
  end
end
return {now, tonumber(hash.token or '0'), waits, holds, line}
