-- summary: read what a table shows of records, and change nothing.
-- KEYS    records
-- ARGV    1 how many outcomes of each
-- returns {now, then for each record: nil when there is none, or
--         {mark token newest outcomes, open, {pause, cancels} or nil, schedule, entries ...}}: the outcomes newest first,
--         each followed by how many of it are in a row; the entries are those that lease.Summary has, newest first
local _, now = clock()
local answer = {now}

-- entries returns the outcomes of the newest entries, and those entries that are of note.
local function entries(key, settled, most, list)
  local outcomes, count, single, granted, succeeded, found = {}, 0, false, false, false, 0
  local at = settled
  while at > math.max(settled - HISTORY, 0) and not (single and granted and succeeded and count >= most) do
    local slots = {}
    for i = at - 1, math.max(at - most, settled - HISTORY, 0), -1 do
      slots[#slots + 1] = 'settled:' .. i % HISTORY
    end
    at = at - #slots
    for _, e in ipairs(redis.call('HMGET', key, unpack(slots))) do
      local id, outcome, from = string.match(e, '^%d+ (%S+) (%S+) %d+ %d+ (%d+)')
      if count < most then
        count = count + 1
        if outcomes[#outcomes - 1] == outcome then
          outcomes[#outcomes] = outcomes[#outcomes] + 1
        else
          outcomes[#outcomes + 1] = outcome
          outcomes[#outcomes + 1] = 1
        end
      end
      local is_single, is_granted, is_succeeded = from == '0', id ~= '0' and string.byte(id) ~= 45, outcome == 'succeeded'
      if found == 0 or is_single and not single or is_granted and not granted or is_succeeded and not succeeded then
        list[#list + 1] = e
      end
      found = found + 1
      single, granted, succeeded = single or is_single, granted or is_granted, succeeded or is_succeeded
    end
  end
  return table.concat(outcomes, ' ')
end

for i, key in ipairs(KEYS) do
  local v = redis.call('HMGET', key, 'mark', 'token', 'open', 'paused', 'cancels', 'schedules', 'settled')
  if v[1] or v[2] or v[3] or v[7] then
    local list = {'', v[3] or '', (v[4] or v[5]) and {v[4] or '', v[5] or ''},
      v[6] and string.match(v[6], '%d+ ([^\n]*)\n$') or ''}
    list[1] = (v[1] or '0') .. ' ' .. (v[2] or '0') .. ' ' .. entries(key, tonumber(v[7] or '0'), tonumber(ARGV[1]), list)
    answer[i + 1] = list
  else
    answer[i + 1] = false
  end
end
return answer
