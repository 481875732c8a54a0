-- A record is one hash:
--   mark      every occasion up to it is settled or open; absent while nobody knows (see sync)
--   token     the last fencing token
--   open      a line for each open occasion: occasion token attempt takeovers-left lease-end holder request
--   settled   how many occasions were settled so far; the last few of them are in
--   settled:I for I from 0 to 15, by that number modulo 16: occasion id outcome; the id is the token of the grant that
--             settled it, or, when there was none, a hyphen and the request that did (no name starts with a hyphen)
--   skipped   what settled was when an occasion was skipped for the last time
--   gap_from  of the occasions after gap_from up to gap_to this record may have lost grants, since it was lost or went
--   gap_to    back in time: their holders may write themselves anew
--   wait      present when a claim was told to wait
-- Times are microseconds of this server's clock; a lease end of 0 means released. Numbers are written in full, since
-- Lua would print a token as 1.79e15.

local LINE = '(%d+) (%d+) (%d+) (%d+) (%d+) (%S+) (%S+)\n'

local function int(n)
  return string.format('%.0f', n)
end

local function clock()
  local t = redis.call('TIME')
  return t[1] * 1000000 + t[2]
end

-- keep moves the end of a record's life, for which there is no other use than to collect garbage, to at least ms from now.
local function keep(key, ms)
  if redis.call('PEXPIRE', key, ms, 'GT') == 0 then
    redis.call('PEXPIRE', key, ms, 'NX')
  end
end

-- split takes the line of an occasion out of the open ones, and returns it (nil when there is none) and the other lines.
local function split(open, occasion)
  local start = occasion .. ' '
  local first = 1
  if string.sub(open, 1, #start) ~= start then
    first = string.find(open, '\n' .. start, 1, true)
    if not first then
      return nil, open
    end
    first = first + 1
  end
  local last = string.find(open, '\n', first, true)
  return string.sub(open, first, last), string.sub(open, 1, first - 1) .. string.sub(open, last + 1)
end

-- line formats one open occasion.
local function line(occasion, token, attempt, takeovers, ends, holder, request)
  return occasion .. ' ' .. token .. ' ' .. attempt .. ' ' .. takeovers .. ' ' .. int(ends) .. ' ' .. holder .. ' ' .. request .. '\n'
end

-- remember takes down that an occasion was settled, in the place of the oldest of those that are remembered, and returns
-- how many were settled by now. The oldest leaves the gap, so that a late request for it cannot pass for a lost grant.
-- What follows outcome are further fields to set.
local function remember(key, settled, occasion, id, outcome, ...)
  settled = tonumber(settled or '0')
  local slot = 'settled:' .. settled % 16
  local v = redis.call('HMGET', key, slot, 'gap_from', 'gap_to')
  local dropped = v[1] and v[2] and tonumber(string.match(v[1], '^%d+'))
  if dropped and dropped > tonumber(v[2]) and dropped <= tonumber(v[3]) then
    redis.call('HSET', key, 'gap_from', int(dropped))
  end
  redis.call('HSET', key, 'settled', settled + 1, slot, occasion .. ' ' .. id .. ' ' .. outcome, ...)
  return settled + 1
end

-- recent returns what is remembered, oldest first.
local function recent(key, settled)
  settled = tonumber(settled or '0')
  local slots = {}
  for i = math.max(settled - 16, 0), settled - 1 do
    slots[#slots + 1] = 'settled:' .. i % 16
  end
  return slots[1] and redis.call('HMGET', key, unpack(slots)) or slots
end

-- remembered tells whether the occasion was settled: by id (a token, or a hyphen and a request) and with the outcome,
-- each where given.
local function remembered(key, settled, occasion, id, outcome)
  local start = occasion .. ' ' .. (id and id .. ' ' .. (outcome or '') or '')
  for _, e in ipairs(recent(key, settled)) do
    if string.sub(e, 1, #start) == start and (not outcome or #e == #start) then
      return true
    end
  end
  return false
end

-- raise moves the mark to an occasion that lies ahead: the record has lost what happened in between.
local function raise(key, mark, occasion)
  local gap_to = redis.call('HGET', key, 'gap_to')
  if gap_to and tonumber(gap_to) >= tonumber(mark) then
    redis.call('HSET', key, 'mark', occasion, 'gap_to', occasion)
  else
    redis.call('HSET', key, 'mark', occasion, 'gap_from', mark, 'gap_to', occasion)
  end
end

-- forgotten tells whether a grant, which is not open, may be missing only because the record was lost or went back in
-- time. found is the token of another grant of the occasion that is open.
local function forgotten(key, occasion, token, found, r)
  if found or occasion == '0' then
    return tonumber(token) > tonumber(r.token or '0') and not remembered(key, r.settled, occasion, token)
  end
  if remembered(key, r.settled, occasion) then
    return false
  end
  local n = tonumber(occasion)
  local gap = redis.call('HMGET', key, 'gap_from', 'gap_to')
  return n > tonumber(r.mark or gap[2] or '0') or n > tonumber(gap[1] or '0') and n <= tonumber(gap[2] or '0')
end

-- restore makes up for a forgotten grant, but for its line in open or settled.
local function restore(key, occasion, token, r)
  if tonumber(token) > tonumber(r.token or '0') then
    redis.call('HSET', key, 'token', token)
  end
  local n = tonumber(occasion)
  if r.mark and n > tonumber(r.mark) then
    raise(key, r.mark, occasion)
  elseif not r.mark and n > 0 then
    local gap_to = redis.call('HGET', key, 'gap_to')
    if n > tonumber(gap_to or '0') then
      redis.call('HSET', key, 'gap_from', redis.call('HGET', key, 'gap_from') or '0', 'gap_to', occasion)
    end
  end
end
