-- sync: read a record, and make it when there is none.
-- KEYS[1] record
-- ARGV    1 mark of a new record  2 newest mark the caller knows  3 revision, or empty  4 a new record's pause, or empty
--         5 schedule that the revision stands for  6 the latest time at which it holds, ms (0: no bound)
-- returns {made, mark, token, now, open, revision, since when, pause, schedules}
local SCHEDULES = 4

-- reschedule appends a schedule to the lines of those before, and drops those that no tick past the mark came due under.
local function reschedule(mark, lines, since, text)
  local list = {}
  for l in string.gmatch(lines .. since .. ' ' .. text .. '\n', '[^\n]+\n') do
    if #list == 1 and math.floor(tonumber(string.match(l, '^%d+')) / 1000) <= mark then
      list = {}
    end
    list[#list + 1] = l
  end
  if #list > SCHEDULES then
    table.remove(list, 2)
  end
  return table.concat(list)
end

local key, known = KEYS[1], tonumber(ARGV[2])
local stamp, now = clock()
if late(ARGV[6], now) then
  return out_of_bounds(stamp)
end
local r = read(key)
restart(r, stamp, now)
local made = 0
if not r.mark then
  -- Those who have written themselves anew meanwhile (gap_to) prove that at least so much was decided.
  made, r.mark = 1, int(math.max(tonumber(ARGV[1]), known, tonumber(r.gap_to or '0')))
  gap(r, r.gap_from or '0', r.mark, 'mark', r.mark)
  if ARGV[4] ~= '' then
    r.paused = ARGV[4]
    redis.call('HSET', key, 'paused', r.paused)
  end
elseif tonumber(r.mark) < known then
  raise(r, ARGV[2])
end
local v = redis.call('HMGET', key, 'revision', 'revised', 'schedules')
if ARGV[3] ~= '' and (ARGV[3] ~= v[1] or not v[3]) then
  local since = stamp
  if made == 1 then -- what is past the mark came due under it, for all that is known
    since = int(r.mark * 1000)
  elseif ARGV[3] == v[1] then -- written by a version that kept no schedules
    since = v[2]
  end
  v = {ARGV[3], since, reschedule(tonumber(r.mark), v[3] or '', since, ARGV[5])}
  redis.call('HSET', key, 'revision', v[1], 'revised', v[2], 'schedules', v[3])
end
keep(key, '1', 0)
return {made, tonumber(r.mark), tonumber(r.token or '0'), now, r.open, v[1] or '', tonumber(v[2] or '0'), r.paused or '', v[3] or ''}
