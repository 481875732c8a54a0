-- resume: end a pause, and with it whatever came due in it.
-- KEYS[1] record
-- ARGV    1 by  2 the latest time at which it holds, ms (0: no bound)
-- returns the pause that ended, empty when there was none; nil when there is no record
local stamp, now = clock()
if late(ARGV[2], now) then
  return out_of_bounds(stamp)
end
local r = read(KEYS[1])
if not r.mark then
  return false
end
if not r.paused then
  return ''
end
redis.call('HDEL', KEYS[1], 'paused')
local ms = math.floor(now / 1000)
if ms > tonumber(r.mark) then
  remember(r, int(ms), '-resume', 'skipped', stamp, 0, r.mark, ARGV[1], 'paused', 'mark', int(ms))
end
wake(KEYS[1], '-1')
return r.paused
