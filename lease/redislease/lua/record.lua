-- A record is one hash:
--   mark      every occasion up to it is settled or open; absent while nobody knows (see sync)
--   token     the last fencing token
--   open      a line for each open occasion: occasion token attempt takeovers-left since term holder request. Its lease
--             ends a term after since; since and term are 0 when it was released. One that waits has token and attempt 0.
--   settled   how many occasions were settled so far; the last of them are in
--   settled:I for I from 0 to 127, by that number modulo 128: occasion id outcome at attempt from holder note. The id is
--             the token of the grant that settled it, or, when there was none, a hyphen and the request that did
--             (no name starts with a hyphen); 0 when it had waited. With a from, it stands for all that were undecided after from.
--   skipped   what settled was when a claim settled an occasion without a grant for the last time
--   gap_from  of the occasions after gap_from up to gap_to this record may have lost grants, since it was lost or went
--   gap_to    back in time: their holders may write themselves anew
--   check     while settled is below it, what is remembered no longer may be in the gap
--   wait      present when a claim was told to wait
--   stop      occasion token: what was granted, up to the token, of the occasions before that one has to make room
--   cancels   a line for each open occasion that was cancelled while it was held: occasion by; absent when there is none
--   exceptions occasions past the mark, in order, that a repair found open or settled, each followed by a space; absent when
--             there are none. What the mark has passed since is dropped when it is convenient
--   paused    since by why; absent when it is not
--   triggered a line for each of the last 16 occasions that were triggered, newest first: occasion request
--   tat       when the next trigger would come if they came evenly
--   revision  the newest that a replica has brought, and
--   revised   since when
--   schedules a line for each schedule that was in force since the mark, oldest first: since text
-- Times are microseconds of this server's clock. Numbers are written in full, since Lua would print a token as 1.79e15.

local LINE = '(%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%S+) (%S+)\n'
local REMEMBERED, HISTORY = 16, 128

local function int(n)
  return string.format('%.0f', n)
end

-- clock returns the time as text, and as a number.
local function clock()
  local t = redis.call('TIME')
  local stamp = t[1] .. string.sub('00000' .. t[2], -6)
  return stamp, tonumber(stamp)
end

-- late tells that it is too late for a request with that bound, in ms; 0 is none.
local function late(bound, now)
  return bound ~= '0' and now > bound * 1000
end

-- out_of_bounds is the answer to such a request, but for a claim.
local function out_of_bounds(stamp)
  return redis.error_reply('OUTOFBOUNDS ' .. stamp)
end

-- keep moves the end of a record's life, for which there is no other use than to collect garbage, away from now: by a day
-- for a plain lock, or by more than a year, since jobs may run once a year; and the term.
local function keep(key, occasion, term)
  local ms = math.ceil((occasion == '0' and 86400000 or 34560000000) + term / 1000)
  if redis.call('PEXPIRE', key, ms, 'GT') == 0 then
    redis.call('PEXPIRE', key, ms, 'NX')
  end
end

-- read reads a record, but for what is settled.
local function read(key)
  local v = redis.call('HMGET', key, 'mark', 'token', 'open', 'settled', 'skipped', 'gap_from', 'gap_to', 'check',
    'wait', 'stop', 'paused', 'triggered', 'cancels', 'exceptions')
  return {
    key = key, mark = v[1], token = v[2], open = v[3] or '', settled = tonumber(v[4] or '0'), skipped = v[5],
    gap_from = v[6], gap_to = v[7], check = tonumber(v[8] or '0'), wait = v[9], stop = v[10],
    paused = v[11], triggered = v[12] or '', cancels = v[13], exceptions = v[14],
  }
end

-- last_triggered returns the last occasion that was triggered, 0 when none was.
local function last_triggered(r)
  return tonumber(string.match(r.triggered, '^%d+') or '0')
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
local function line(occasion, token, attempt, takeovers, since, term, holder, request)
  return occasion .. ' ' .. token .. ' ' .. attempt .. ' ' .. takeovers .. ' ' .. since .. ' ' .. term .. ' ' .. holder .. ' ' .. request .. '\n'
end

-- restart has each lease of a record begin anew that was renewed when this server's clock was ahead of what it is now: no
-- more may be left of a lease than its term. A second is what the clocks of a quorum may be apart.
local function restart(r, stamp, now)
  local changed = false
  local open = string.gsub(r.open, LINE, function(o, t, a, left, since, term, h, q)
    if a ~= '0' and since - now > 1000000 then
      changed = true
      return line(o, t, a, left, stamp, term, h, q)
    end
  end)
  if changed then
    r.open = open
    redis.call('HSET', r.key, 'open', open)
  end
end

-- waiting returns the oldest of the open occasions that waits, with who asked for it, and how many wait.
local function waiting(open)
  local first, by, count = nil, nil, 0
  for o, a, h in string.gmatch(open, '(%d+) %d+ (%d+) %d+ %d+ %d+ (%S+) %S+\n') do
    if a == '0' then
      count = count + 1
      if not first or tonumber(o) < tonumber(first) then
        first, by = o, h
      end
    end
  end
  return first, by, count
end

-- replaced tells whether what was granted has to make room, by the stop of its record.
local function replaced(stop, occasion, token)
  if not stop or occasion == '0' then
    return false
  end
  local before, last = string.match(stop, '(%d+) (%d+)')
  return tonumber(occasion) < tonumber(before) and tonumber(token) <= tonumber(last)
end

-- cancelled returns who cancelled an open occasion, by the cancels of its record; nil when nobody did.
local function cancelled(cancels, occasion)
  return cancels and string.match('\n' .. cancels, '\n' .. occasion .. ' (%S+)\n')
end

-- note_of returns the note of a settled entry.
local function note_of(entry)
  return string.match(entry, '^%d+ %S+ %S+ %d+ %d+ %d+ %S+ (.*)$')
end

-- of_store tells whether a note is one that only stores make: its occasion was not settled by its holder.
local function of_store(note)
  return note == 'expired' or string.sub(note, 1, 13) == 'cancelled by '
end

-- forget_cancel drops the cancel of an occasion that is settled.
local function forget_cancel(r, occasion)
  local kept = ''
  for o, by in string.gmatch(r.cancels, '(%d+) (%S+)\n') do
    if o ~= occasion then
      kept = kept .. o .. ' ' .. by .. '\n'
    end
  end
  if kept == '' then
    redis.call('HDEL', r.key, 'cancels')
    r.cancels = nil
  elseif kept ~= r.cancels then
    redis.call('HSET', r.key, 'cancels', kept)
    r.cancels = kept
  end
end

-- remember takes down that an occasion was settled, and returns the entry. What follows are further fields to set. An
-- occasion that is remembered no longer leaves the gap, so that a late request for it cannot pass for a lost grant.
local function remember(r, occasion, id, outcome, at, attempt, from, holder, note, ...)
  local check = {}
  if r.cancels and tonumber(from) == 0 then
    forget_cancel(r, occasion)
  end
  if r.settled < r.check then
    local dropped = redis.call('HGET', r.key, 'settled:' .. (r.settled - REMEMBERED) % HISTORY)
    dropped = dropped and tonumber(string.match(dropped, '^%d+'))
    if r.settled >= REMEMBERED and dropped > tonumber(r.gap_from or '0') and dropped <= tonumber(r.gap_to or '0') then
      r.gap_from = int(dropped)
      redis.call('HSET', r.key, 'gap_from', r.gap_from)
    end
  end
  if tonumber(occasion) <= tonumber(r.gap_to or '0') then
    r.check = math.max(r.check, r.settled + 1 + REMEMBERED)
    check = {'check', r.check}
  end
  local entry = occasion .. ' ' .. id .. ' ' .. outcome .. ' ' .. at .. ' ' .. attempt .. ' ' .. from .. ' ' .. holder .. ' ' .. note
  redis.call('HSET', r.key, 'settled', r.settled + 1, 'settled:' .. r.settled % HISTORY, entry, ...)
  if check[1] then
    redis.call('HSET', r.key, unpack(check))
  end
  r.settled = r.settled + 1
  return entry
end

-- recent returns the last count entries, oldest first.
local function recent(key, settled, count)
  local slots = {}
  for i = math.max(settled - count, 0), settled - 1 do
    slots[#slots + 1] = 'settled:' .. i % HISTORY
  end
  return slots[1] and redis.call('HMGET', key, unpack(slots)) or slots
end

-- remembered returns how the occasion was settled: by id (a token, or a hyphen and a request) and with the outcome, each
-- where given; nil when it was not.
local function remembered(r, occasion, id, outcome)
  local start = occasion .. ' ' .. (id and id .. ' ' .. (outcome and outcome .. ' ' or '') or '')
  for _, e in ipairs(recent(r.key, r.settled, REMEMBERED)) do
    if string.sub(e, 1, #start) == start then
      return e
    end
  end
  return nil
end

-- gap sets the gap, in which what is remembered may be.
local function gap(r, from, to, ...)
  r.gap_from, r.gap_to, r.check = from, to, r.settled + REMEMBERED
  redis.call('HSET', r.key, 'gap_from', from, 'gap_to', to, 'check', r.check, ...)
end

-- raise moves the mark to an occasion that lies ahead: the record has lost what happened in between.
local function raise(r, occasion)
  local from = r.mark
  if r.gap_to and tonumber(r.gap_to) >= tonumber(r.mark) then
    from = r.gap_from
  end
  r.mark = occasion
  gap(r, from, occasion, 'mark', occasion)
end

-- excepted reports whether a repair found an occasion, which lies past the mark, open or settled.
local function excepted(r, occasion)
  return r.exceptions and tonumber(occasion) > tonumber(r.mark or '0') and
    string.find(' ' .. r.exceptions, ' ' .. occasion .. ' ', 1, true)
end

-- prune drops the exceptions that the mark has passed.
local function prune(r)
  if not r.exceptions then
    return
  end
  local kept = {}
  for o in string.gmatch(r.exceptions, '%d+') do
    if tonumber(o) > tonumber(r.mark) then
      kept[#kept + 1] = o .. ' '
    end
  end
  if not kept[1] then
    redis.call('HDEL', r.key, 'exceptions')
    r.exceptions = nil
  elseif table.concat(kept) ~= r.exceptions then
    r.exceptions = table.concat(kept)
    redis.call('HSET', r.key, 'exceptions', r.exceptions)
  end
end

-- forgotten tells whether a grant, which is not open, may be missing only because the record was lost or went back in
-- time. found is the token of another grant of the occasion that is open.
local function forgotten(r, occasion, token, found)
  if found or occasion == '0' then
    return tonumber(token) > tonumber(r.token or '0') and not remembered(r, occasion, token)
  end
  if remembered(r, occasion) or excepted(r, occasion) then
    return false
  end
  local n = tonumber(occasion)
  local newest = r.mark and math.max(tonumber(r.mark), last_triggered(r)) or tonumber(r.gap_to or '0')
  return n > newest or n > tonumber(r.gap_from or '0') and n <= tonumber(r.gap_to or '0')
end

-- restore makes up for a forgotten grant, but for its line in open or settled.
local function restore(r, occasion, token)
  if tonumber(token) > tonumber(r.token or '0') then
    r.token = token
    redis.call('HSET', r.key, 'token', token)
  end
  local n = tonumber(occasion)
  if r.mark and n > tonumber(r.mark) then
    raise(r, occasion)
  elseif not r.mark and n > tonumber(r.gap_to or '0') then
    gap(r, r.gap_from or '0', occasion)
  end
end

-- wake tells those who watch that something happened to a record. It is not allowed everywhere, and nothing depends on it.
local function wake(key, occasion)
  local namespace, name = string.match(key, '{([^:]+):(.+)}')
  redis.pcall('PUBLISH', 'solotick:' .. namespace .. ':wake', name .. (occasion and ' ' .. occasion or ''))
end
