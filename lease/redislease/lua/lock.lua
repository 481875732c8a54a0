-- A lock is a hash, ...:lock:
--   token     the last fencing token
--   born      since when this record remembers: what was granted since has at least this token
--   one       the only hold, while it is alone: holder request token permits since tell ends. Or, from the second on and
--             until none is left:
--   used      the permits of all holds, of which each has
--   h:ID      token permits since tell, where the ID is holder request, and is in
--             ...:holds, a sorted set, by the time at which its lease ends
--   gone      a line for each of the last 64 that ended in a way that a late request may ask about: token released
--   waits     how many are in the line; absent for none. They are in
--             ...:line, a sorted set without scores: rank arrival ID, so that it is in the line's order, and in
--             ...:tickets, a hash, by ID: rank arrival permits limit turn since ends
--   arrived   how many have come to wait
--   lasts     until when line and tickets are kept at least
--   kept      when the end of this record's life was moved away for the last time
-- Times and numbers are as in clock, the source before this one.
-- What this describes in Lua is what package record describes in Go.

local HOUR, LIFE = 3600000000, 691200000 -- us, ms
local LOOKED, WOKEN, GONE = 128, 64, 64
local MAXPERMITS = 2147483647

-- load reads a lock, and the hold of id.
local function load(key, id)
  local v = redis.call('HMGET', key, 'token', 'born', 'one', 'used', 'gone', 'waits', 'arrived', 'lasts', 'kept', 'h:' .. id)
  local base = string.sub(key, 1, -6)
  local l = {
    key = key, holds = base .. ':holds', line = base .. ':line', tickets = base .. ':tickets',
    token = v[1] or '0', born = v[2], used = tonumber(v[4] or '0'), gone = v[5] or '', waits = tonumber(v[6] or '0'),
    arrived = tonumber(v[7] or '0'), lasts = tonumber(v[8] or '0'), kept = tonumber(v[9] or '0'),
    set = {}, -- fields to be written; false to be deleted
    had = {one = v[3], used = v[4], waits = v[6]},
  }
  if v[3] then
    local who, token, permits, since, tell, ends = string.match(v[3], '^(%S+ %S+) (%d+) (%d+) (%d+) (%d) (%d+)$')
    l.one = {id = who, token = token, permits = tonumber(permits), since = since, tell = tell, ends = tonumber(ends)}
    l.used = l.one.permits
  end
  l.mine = v[10]
  return l
end

-- begin has a new record begin with nothing.
local function begin(l, stamp)
  if not l.born then
    l.born, l.set.born = stamp, stamp
    redis.call('UNLINK', l.holds, l.line, l.tickets)
  end
end

-- extend moves the end of a key's life away, but never back.
local function extend(key, ms)
  if redis.call('PEXPIRE', key, math.ceil(ms), 'GT') == 0 then
    redis.call('PEXPIRE', key, math.ceil(ms), 'NX')
  end
end

-- store writes what has changed, and once an hour moves the end of the record's life away, for which there is no other use
-- than to collect garbage.
local function store(l, now, term)
  local due = l.born and (now - l.kept >= HOUR or now < l.kept or term > HOUR)
  if due then
    l.set.kept = int(now)
  end
  local set, del = {}, {}
  for field, value in pairs(l.set) do
    if value then
      set[#set + 1], set[#set + 2] = field, value
    elseif l.had[field] ~= false then
      del[#del + 1] = field
    end
  end
  if set[1] then
    redis.call('HSET', l.key, unpack(set))
  end
  for i = 1, #del, 1000 do
    redis.call('HDEL', l.key, unpack(del, i, math.min(i + 999, #del)))
  end
  if due then
    extend(l.key, LIFE + term / 1000)
  end
  if (due or l.spread) and l.used > 0 and not l.one then -- they outlast what they belong to
    extend(l.holds, LIFE + (HOUR + term) / 1000)
  end
end

-- The holds.

local function write_one(l)
  local h = l.one
  l.set.one = h and h.id .. ' ' .. h.token .. ' ' .. h.permits .. ' ' .. h.since .. ' ' .. h.tell .. ' ' .. int(h.ends) or false
end

local function write_used(l)
  l.set.used = not l.one and l.used > 0 and int(l.used)
end

local function read_hold(id, text, ends)
  local token, permits, since, tell = string.match(text or '', '^(%d+) (%d+) (%d+) (%d)$')
  return token and {id = id, token = token, permits = tonumber(permits), since = since, tell = tell, ends = tonumber(ends or 0)}
end

local function write_hold(l, h)
  l.set['h:' .. h.id] = h.token .. ' ' .. h.permits .. ' ' .. h.since .. ' ' .. h.tell
  redis.call('ZADD', l.holds, int(h.ends), h.id)
end

-- find returns the hold of id, which is the one that was loaded with the lock, before anything is changed.
local function find(l, id)
  if l.one or l.used == 0 then
    return l.one and l.one.id == id and l.one
  end
  return l.mine and read_hold(id, l.mine, redis.call('ZSCORE', l.holds, id))
end

-- add adds a hold.
local function add(l, h)
  if l.used == 0 then
    l.one = h
  else
    if l.one then
      write_hold(l, l.one)
      l.one, l.spread = nil, true
    end
    write_hold(l, h)
  end
  l.used = l.used + h.permits
  write_one(l)
  write_used(l)
end

local function drop(l, h)
  l.used = l.used - h.permits
  if l.one then
    l.one = nil
  else
    redis.call('ZREM', l.holds, h.id)
    l.set['h:' .. h.id] = false
  end
  write_one(l)
  write_used(l)
end

local function prolong(l, h, ends)
  h.ends = ends
  if l.one then
    write_one(l)
  else
    redis.call('ZADD', l.holds, int(ends), h.id)
  end
end

-- between returns the holds that end after one time and not after another, oldest grant first; at most the first count of
-- them to end, where that is given.
local function between(l, after, upto, count)
  local list = {}
  if l.one then
    if l.one.ends > after and l.one.ends <= upto then
      list[1] = l.one
    end
  elseif l.used > 0 then
    local found = redis.call('ZRANGE', l.holds, '(' .. int(after), upto == math.huge and '+inf' or int(upto),
      'BYSCORE', 'LIMIT', 0, count or -1, 'WITHSCORES')
    for i = 1, #found, 1000 do
      local fields = {}
      for j = i, math.min(i + 999, #found), 2 do
        fields[#fields + 1] = 'h:' .. found[j]
      end
      for j, text in ipairs(redis.call('HMGET', l.key, unpack(fields))) do
        local id = found[i + 2 * j - 2]
        list[#list + 1] = read_hold(id, l.set[fields[j]] or text, found[i + 2 * j - 1])
      end
    end
    table.sort(list, function(a, b) return tonumber(a.token) < tonumber(b.token) end)
  end
  return list
end

local function bury(l, token, released)
  local lines = l.gone .. token .. ' ' .. released .. '\n'
  local _, count = string.gsub(lines, '\n', '')
  for _ = GONE + 1, count do
    lines = string.sub(lines, string.find(lines, '\n', 1, true) + 1)
  end
  l.gone, l.set.gone = lines, lines
end

-- gone returns '1' for a token that was released, '0' for one that has ended otherwise, nil for any other.
local function gone(l, token)
  return string.match('\n' .. l.gone, '\n' .. token .. ' (%d)\n')
end

-- lose takes a hold away, and puts it on the list.
local function lose(l, h, lost)
  drop(l, h)
  bury(l, h.token, '0')
  lost[#lost + 1] = h
end

local function sweep(l, now, lost)
  for _, h in ipairs(between(l, -1, now)) do
    lose(l, h, lost)
  end
end

-- make_room takes away what has run out, and then the grants before one that is to be written anew, if that helps.
local function make_room(l, g, now, lost)
  if l.used + g.permits > g.limit then
    sweep(l, now, lost)
  end
  if l.used + g.permits <= g.limit then
    return true
  end
  local all, newer = between(l, -1, math.huge), 0
  for _, h in ipairs(all) do
    newer = newer + (tonumber(h.token) > tonumber(g.token) and h.permits or 0)
  end
  if newer + g.permits > g.limit then
    return false
  end
  for _, h in ipairs(all) do
    if l.used + g.permits > g.limit then
      lose(l, h, lost)
    end
  end
  return true
end

-- forgotten tells whether a grant that is not held may be missing only because the record was lost or went back in time.
local function forgotten(l, token)
  return (tonumber(token) > tonumber(l.token) or tonumber(token) < tonumber(l.born)) and not gone(l, token)
end

local function raise(l, token)
  if tonumber(token) > tonumber(l.token) then
    l.token, l.set.token = token, token
  end
end

-- The line.

local function place(rank, arrived)
  return string.format('%010.0f %016.0f', rank, arrived)
end

-- before tells whether one place comes before another.
local function before(a, b)
  local rank, other = tonumber(string.sub(a, 1, 10)), tonumber(string.sub(b, 1, 10))
  return rank < other or rank == other and tonumber(string.sub(a, 12, 27)) < tonumber(string.sub(b, 12, 27))
end

local function read_ticket(id, text)
  local p, permits, limit, turn, since, ends = string.match(text or '', '^(%d+ %d+) (%d+) (%d+) (%d) (%d+) (%d+)$')
  return p and {
    id = id, place = p, permits = tonumber(permits), limit = tonumber(limit), turn = tonumber(turn), since = since, ends = tonumber(ends),
  }
end

-- tickets returns those in the line from one index to another; one that is missing has ended.
local function tickets(l, from, to)
  local places = redis.call('ZRANGE', l.line, from, to)
  if not places[1] then
    return {}
  end
  local ids = {}
  for i, p in ipairs(places) do
    ids[i] = string.sub(p, 29)
  end
  local list = redis.call('HMGET', l.tickets, unpack(ids))
  for i, id in ipairs(ids) do
    local p = string.sub(places[i], 1, 27)
    local t = read_ticket(id, list[i])
    list[i] = t and t.place == p and t or {id = id, place = p, ends = 0}
  end
  return list
end

-- each calls f for those in the line, in order, until it returns true. It returns how many it was called for.
local function each(l, f)
  local from, size = 0, 4
  while from < LOOKED do
    local list = tickets(l, from, from + size - 1)
    for i, t in ipairs(list) do
      if f(t) then
        return from + i
      end
    end
    if #list < size then
      return from + #list
    end
    from, size = from + size, 62
  end
  return from
end

local function write_waits(l)
  l.set.waits = l.waits > 0 and int(l.waits)
end

-- leave takes a ticket out of the line.
local function leave(l, t)
  l.waits = math.max(l.waits - redis.call('ZREM', l.line, t.place .. ' ' .. t.id), 0)
  redis.call('HDEL', l.tickets, t.id)
  write_waits(l)
end

-- first returns the first ticket in the line, and whether any before it were thrown away since their life is over.
local function first(l, now)
  local size, dropped = 1, false
  while l.waits > 0 do
    local list, dead = tickets(l, 0, size - 1), {}
    for _, t in ipairs(list) do
      if t.ends > now then
        break
      end
      dead[#dead + 1] = t.id
    end
    if dead[1] then
      redis.call('ZREMRANGEBYRANK', l.line, 0, #dead - 1)
      redis.call('HDEL', l.tickets, unpack(dead))
      l.waits, dropped = math.max(l.waits - #dead, 0), true
      write_waits(l)
    end
    if #dead < #list then
      return list[#dead + 1], dropped
    end
    if not list[1] then -- it was evicted
      l.waits = 0
      write_waits(l)
    end
    size = 100
  end
  return nil, dropped
end

-- turns returns the requests of those who would be granted the lock if they asked now, in turn; nil when nobody waits. An
-- empty list means any.
local function turns(l, now)
  if not first(l, now) then
    return nil
  end
  local used, woken, any = l.used, {}, false
  for _, h in ipairs(between(l, -1, now)) do
    used = used - h.permits
  end
  each(l, function(t)
    if t.ends > now then
      if used + t.permits <= t.limit then
        any = #woken == WOKEN
        used = used + t.permits
        woken[#woken + 1] = string.match(t.id, ' (.*)')
      elseif t.turn ~= 0 then
        return true
      end
    end
    return any
  end)
  return any and {} or woken[1] and woken
end

-- also adds a request to those that are woken.
local function also(woken, request)
  if not woken then
    return {request}
  end
  if woken[1] then
    woken[#woken + 1] = request
  end
  return woken
end
