-- take: take units of a limit, by the rules of record.Limit.Decide.
-- KEYS[1] limit, a hash:
--   stamp  rises with each change
--   full   when the bucket is full again, in ns
--   slots  the units of the window, oldest first: time units, separated by spaces
--   done   of each client the last batch that took something: client name until granted, each after a line end, in the order
--          in which they came; granted has a digit for each request
-- ARGV    1 client  2 name of the batch  3 until when it may be carried out  4 for how many ms the limit is kept
--         5 the newest stamp that the caller knows; if the limit has an older one, it lost what was taken since, and nothing is
--         decided, unless that stamp is  6, of which  7 and  8 replace full and slots
--         9 for how long a batch may be sent again, us  10 of how many clients batches are kept
--         then for each request: 1 of a window, its units, how many there can be, how long it and a slot are; or 0 of a bucket,
--         how long its units and how long all of it take to fill, and how many ns more each of these
-- returns {now, stamp, full, slots}, from before the batch; when it is decided also granted, the stamp from then on, and
--         1 when it was decided before and 0 when not, or, when nothing is granted for too many clients, us below 0 until one is
--         forgotten
local stamp, now = clock()
local v = redis.call('HMGET', KEYS[1], 'stamp', 'full', 'slots', 'done')
local before = {stamp = v[1] or '0', full = v[2] or '0000', slots = v[3] or '', done = v[4] or ''}
local answer = {now, before.stamp, before.full, before.slots}
local over, taken_for = tonumber(ARGV[3]), tonumber(ARGV[9])
if now > over or over > now + 2 * taken_for then
  return answer
end

-- What the client did before.
local done = before.done
local from = string.find(done, '\n' .. ARGV[1] .. ' ', 1, true)
if from then
  local name, granted = string.match(done, '^%S+ (%S+) %d+ (%d+)', from + 1)
  if name == ARGV[2] then
    answer[5], answer[6], answer[7] = granted, before.stamp, 1
    return answer
  end
end
if tonumber(before.stamp) < tonumber(ARGV[5]) then
  if before.stamp ~= ARGV[6] then
    return answer
  end
  answer[3], answer[4] = ARGV[7], ARGV[8]
end
local function without(at)
  return string.sub(done, 1, at - 1) .. string.sub(done, string.find(done, '\n', at + 1, true) or #done + 1)
end
local closed = 0
if from then
  done = without(from)
else
  local ends = tonumber(string.match(done, '^\n%S+ %S+ (%d+)'))
  while ends and (ends < now or ends > now + 2 * taken_for) do
    done = without(1)
    ends = tonumber(string.match(done, '^\n%S+ %S+ (%d+)'))
  end
  if #done > 20 * ARGV[10] and select(2, string.gsub(done, '\n', '')) >= tonumber(ARGV[10]) then
    closed = math.min(now - ends, -1)
  end
end

-- The bucket is full again in us, and ns more: together they have more digits than a number.
local full, slots = answer[3], nil
local us, ns, moved = (tonumber(string.sub(full, 1, -4)) or 0) - now, tonumber(string.sub(full, -3)), false
local function bucket(cost, size, cost_ns, size_ns)
  if us > size or us == size and ns > size_ns then -- the clock was set back, or the limit changed
    us, ns, moved = size, size_ns, true
  end
  local u, n = cost, cost_ns
  if us >= 0 then
    u, n = us + cost, ns + cost_ns
  end
  if n >= 1000 then
    u, n = u + 1, n - 1000
  end
  if u > size or u == size and n > size_ns or closed < 0 then
    return '0'
  end
  us, ns, moved = u, n, true
  return '1'
end

local function window(units, count, per, slot)
  if not slots then
    slots = {}
    for at, n in string.gmatch(answer[4], '(%d+) (%d+)') do
      slots[#slots + 1] = {at = tonumber(at), units = tonumber(n)}
    end
  end
  local used = 0
  for i, s in ipairs(slots) do
    s.i = i
    if s.at > now + per then -- the clock was set back
      s.at = now + slot
    end
    if now < s.at + per then
      used = used + s.units
    end
  end
  table.sort(slots, function(a, b) return a.at < b.at or a.at == b.at and a.i < b.i end)
  if used + units > count or closed < 0 then
    return '0'
  end
  local kept = {}
  for _, s in ipairs(slots) do
    if now < s.at + per then
      kept[#kept + 1] = s
    end
  end
  slots = kept
  local at, last = now - now % slot + slot, slots[#slots]
  if last and last.at >= at then
    last.units = last.units + units
  else
    slots[#slots + 1] = {at = at, units = units}
  end
  return '1'
end

local granted = {}
for i = 11, #ARGV, 5 do
  local take = ARGV[i] == '1' and window or bucket
  granted[#granted + 1] = take(tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2]), tonumber(ARGV[i + 3]), tonumber(ARGV[i + 4]))
end
granted = table.concat(granted)

if moved then
  full = int(now + us) .. string.format('%03d', ns)
end
local list = answer[4]
if slots then
  for i, s in ipairs(slots) do
    slots[i] = int(s.at) .. ' ' .. int(s.units)
  end
  list = table.concat(slots, ' ')
end
if string.find(granted, '1', 1, true) then
  done = done .. '\n' .. ARGV[1] .. ' ' .. ARGV[2] .. ' ' .. ARGV[3] .. ' ' .. granted
else
  done = before.done
end
local after = before.stamp
if full ~= before.full or list ~= before.slots or done ~= before.done then
  after = int(math.max(before.stamp + 1, ARGV[5] + 1, now))
  redis.call('HSET', KEYS[1], 'stamp', after, 'full', full, 'slots', list, 'done', done)
  redis.call('PEXPIRE', KEYS[1], ARGV[4])
end
answer[5], answer[6], answer[7] = granted, after, closed
return answer
