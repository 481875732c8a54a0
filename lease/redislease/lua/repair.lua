-- repair: bring what a clock that was wrong has left in the future back to now.
-- KEYS[1] record
-- ARGV    1 the latest time at which it holds, ms (0: no bound)
-- returns {1 when something changed, mark before, mark, exceptions}; nil when there is no record
local EXCEPTIONS = 512

local key = KEYS[1]
local stamp, now = clock()
if late(ARGV[1], now) then
  return out_of_bounds(stamp)
end
local r = read(key)
if not r.mark then
  return false
end
prune(r)

-- except makes exceptions of the occasions past a mark that are open, or remembered as settled one by one.
local function except(mark)
  local list, known = {}, {}
  local function add(o)
    if tonumber(o) > mark and not known[o] then
      known[o], list[#list + 1] = true, o
    end
  end
  for o in string.gmatch(r.exceptions or '', '%d+') do
    add(o)
  end
  for o in string.gmatch(r.open, '(%d+) %d+ %d+ %d+ %d+ %d+ %S+ %S+\n') do
    add(o)
  end
  for _, e in ipairs(recent(key, r.settled, HISTORY)) do
    local o, from = string.match(e, '^(%d+) %S+ %S+ %d+ %d+ (%d+) ')
    if from == '0' then
      add(o)
    end
  end
  table.sort(list, function(a, b) return tonumber(a) < tonumber(b) end)
  list[EXCEPTIONS + 1] = nil
  return list
end

local count = 0
for _ in string.gmatch(r.exceptions or '', '%d+') do
  count = count + 1
end
local before, ms = tonumber(r.mark), math.floor(now / 1000)
local v = redis.call('HMGET', key, 'revised', 'schedules')
local paused_since = tonumber(r.paused and string.match(r.paused, '^%d+') or '0')
if math.max(before, last_triggered(r)) <= ms and tonumber(v[1] or '0') <= now and paused_since <= now then
  return {0, before, before, count}
end
restart(r, stamp, now)
local mark = math.min(before, ms)
local list = except(mark)
local set = {'mark', int(mark)}
local function put(field, value)
  set[#set + 1], set[#set + 2] = field, value
end
if r.gap_to then
  put('gap_from', int(math.min(tonumber(r.gap_from or '0'), mark)))
  put('gap_to', int(math.min(tonumber(r.gap_to), mark)))
end
if list[1] then
  put('exceptions', table.concat(list, ' ') .. ' ')
end
if last_triggered(r) > ms then
  put('triggered', (string.gsub(r.triggered, '(%d+) %S+\n', function(o)
    if tonumber(o) > ms then
      return ''
    end
  end)))
end
if paused_since > now then
  put('paused', stamp .. string.match(r.paused, '^%d+(.*)$'))
end
if tonumber(v[1] or '0') > now then
  put('revised', stamp)
end
if v[2] then
  put('schedules', (string.gsub(v[2], '(%d+)( [^\n]*\n)', function(since, text)
    if tonumber(since) > now then
      return stamp .. text
    end
  end)))
end
redis.call('HSET', key, unpack(set))
redis.call('HDEL', key, 'tat')
wake(key, '-1')
return {1, before, mark, #list}
