-- trigger: open an occasion that waits to be claimed.
-- KEYS[1] record  [2 what remembers the key]
-- ARGV    1 request  2 by  3 for how many ms the key is remembered  4 time between two, us; 0: no limit  5 how many at once
--         6 beside: 1 opens one even if another waits  7 how many may wait
--         8 the latest time at which it holds, ms (0: no bound)
-- returns {status, occasion, wait in us}; nil when there is no record
local OPENED, REPEATED, WAITING, LIMITED = 1, 2, 3, 4
local key = KEYS[1]
local stamp, now = clock()
if late(ARGV[8], now) then
  return out_of_bounds(stamp)
end
local r = read(key)
if not r.mark then
  return false
end

-- The last few are known by their requests, and so is whatever waits.
local kept, count = '', 0
for o, q in string.gmatch(r.triggered, '(%d+) (%S+)\n') do
  if q == ARGV[1] then
    return {OPENED, tonumber(o), 0}
  end
  count = count + 1
  if count < REMEMBERED then
    kept = kept .. o .. ' ' .. q .. '\n'
  end
end
for o, a, q in string.gmatch(r.open, '(%d+) %d+ (%d+) %d+ %d+ %d+ %S+ (%S+)\n') do
  if a == '0' and q == ARGV[1] then
    return {OPENED, tonumber(o), 0}
  end
end

local before = KEYS[2] and redis.call('GET', KEYS[2])
if before and not excepted(r, before) then
  return {REPEATED, tonumber(before), 0}
end
local first, _, waits = waiting(r.open)
if first and ARGV[6] ~= '1' then
  if KEYS[2] then
    redis.call('SET', KEYS[2], first, 'PX', ARGV[3])
  end
  return {WAITING, tonumber(first), 0}
end
if waits >= tonumber(ARGV[7]) then
  return {LIMITED, 0, 1000000}
end
local every = tonumber(ARGV[4])
if every > 0 then
  local next = math.max(tonumber(redis.call('HGET', key, 'tat') or '0'), now) + every
  local wait = next - ARGV[5] * every - now
  if wait > 0 then
    return {LIMITED, 0, wait}
  end
  redis.call('HSET', key, 'tat', int(next))
end
local n = math.max(math.floor(now / 1000), last_triggered(r) + 1)
while n % 1000 == 0 or split(r.open, int(n)) or remembered(r, int(n)) or excepted(r, int(n)) do -- whole seconds are ticks of schedules
  n = n + 1
end
local occasion = int(n)
redis.call('HSET', key, 'triggered', occasion .. ' ' .. ARGV[1] .. '\n' .. kept,
  'open', r.open .. line(occasion, 0, 0, 0, 0, 0, ARGV[2], ARGV[1]))
if KEYS[2] then
  redis.call('SET', KEYS[2], occasion, 'PX', ARGV[3])
end
wake(key, occasion)
return {OPENED, n, 0}
