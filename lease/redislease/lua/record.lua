-- A record is one hash:
--   mark      every occasion up to it is settled or open; absent while nobody knows (see sync)
--   token     the last fencing token
--   open      a line for each open occasion: occasion token attempt takeovers-left lease-end holder request
--   settled   a line for each of the last few settled ones: occasion id outcome; the id is the token of the grant that
--             settled it, or, when there was none, a hyphen and the request that did (no name starts with a hyphen)
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

-- line formats one open occasion.
local function line(occasion, token, attempt, takeovers, ends, holder, request)
  return occasion .. ' ' .. token .. ' ' .. attempt .. ' ' .. takeovers .. ' ' .. int(ends) .. ' ' .. holder .. ' ' .. request .. '\n'
end

-- remember appends an occasion to the settled ones, of which the newest 16 are kept. One that is dropped leaves the gap,
-- so that a late request for it cannot pass for a lost grant.
local function remember(key, settled, occasion, id, outcome)
  settled = (settled or '') .. occasion .. ' ' .. id .. ' ' .. outcome .. '\n'
  local _, n = string.gsub(settled, '\n', '\n')
  if n > 16 then
    local dropped = tonumber(string.match(settled, '^%d+'))
    local gap = redis.call('HMGET', key, 'gap_from', 'gap_to')
    if gap[1] and dropped > tonumber(gap[1]) and dropped <= tonumber(gap[2]) then
      redis.call('HSET', key, 'gap_from', int(dropped))
    end
    settled = string.sub(settled, string.find(settled, '\n', 1, true) + 1)
  end
  return settled
end

-- remembered tells whether the occasion was settled: by id (a token, or a hyphen and a request) and with the outcome,
-- each where given.
local function remembered(settled, occasion, id, outcome)
  local start = '\n' .. occasion .. ' ' .. (id and id .. ' ' or '') .. (outcome and outcome .. '\n' or '')
  return settled and string.find('\n' .. settled, start, 1, true)
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
    return tonumber(token) > tonumber(r.token or '0') and not remembered(r.settled, occasion, token)
  end
  if remembered(r.settled, occasion) then
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
