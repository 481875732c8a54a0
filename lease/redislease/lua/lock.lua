-- A lock is one hash, ...:lock, so that a slot of Cluster that moves takes all of it at once:
--   token     the last fencing token
--   born      since when this record remembers: what was granted since has at least this token
--   one       the only hold, while it is alone: holder request token permits since tell ends. Or, from the second on and
--             until none is left:
--   used      the permits of all holds, which are a list, in the order in which their leases end, from the token in
--   soonest   to the one in
--   latest,   each with
--   h:TOKEN   earlier later permits since tell ends ID, where the first two are the tokens of its neighbours, 0 for none,
--             and the ID is holder request; and with
--   i:ID      the token
--   gone      a line for each of the last 64 that ended in a way that a late request may ask about: token released
--   waits     how many are in the queue; absent for none. They are in lists, one for each rank, in the order of arrival;
--   ranks     has for each of these, in order: rank first last, separated by commas, where the last two are numbers of
--   w:NUMBER  earlier later permits limit turn since ends rank ID; and
--   n:ID      the number
--   arrived   how many have come to wait, which is the number of the last of them
--   withdrawn the numbers of the first and the last of the IDs that are refused, since a claim may come after its release;
--   x:NUMBER  until ID; and
--   y:ID      until
--   until     when this record is forgotten, unless it is needed for longer
--   owed      until when a holder may ask that lost its hold before the end of its lease
-- Times and numbers are as in clock, the source before this one.
-- What this describes in Lua is what package record describes in Go.

-- For so long a record is kept after it was of use: longer than the clock may go back while nobody uses the lock, since tokens
-- have to rise. It is kept for up to twice SPARE longer, so that not every use has to move its end.
local KEEP, SPARE = 300000000, 60000000 -- us
local LOOKED, WOKEN, GONE = 128, 64, 64
local WITHDRAWN = 60000000 -- us
local MAXPERMITS = 2147483647

-- load reads a lock, and where the hold and the ticket of id are.
local function load(key, id)
  local v = redis.call('HMGET', key, 'token', 'born', 'one', 'used', 'gone', 'waits', 'arrived', 'until',
    'soonest', 'latest', 'ranks', 'i:' .. id, 'n:' .. id, 'withdrawn', 'y:' .. id, 'owed')
  local l = {
    key = key, token = v[1] or '0', born = v[2], used = tonumber(v[4] or '0'), gone = v[5] or '', waits = tonumber(v[6] or '0'),
    arrived = tonumber(v[7] or '0'), ends = tonumber(v[8] or '0'), owed = tonumber(v[16] or '0'), holds = {first = v[9] or '0', last = v[10] or '0'}, ranks = {},
    mine = v[12], ticket = v[13], withdrawn = v[14], refused = tonumber(v[15] or '0'),
    nodes = {}, -- what was read of the lists, by field; false for what is not there
    changed = {}, -- nodes that are to be written, by field
    set = {}, -- fields to be written; false to be deleted
    had = {one = v[3], used = v[4], waits = v[6], soonest = v[9], latest = v[10], ranks = v[11], withdrawn = v[14]},
  }
  if v[3] then
    local who, token, permits, since, tell, ends = string.match(v[3], '^(%S+ %S+) (%d+) (%d+) (%d+) (%d) (%d+)$')
    l.one = {id = who, n = token, permits = tonumber(permits), since = since, tell = tell, ends = tonumber(ends)}
    l.used = l.one.permits
  end
  for rank, first, last in string.gmatch(v[11] or '', '(%d+) (%d+) (%d+)') do
    l.ranks[#l.ranks + 1] = {rank = tonumber(rank), first = first, last = last}
  end
  return l
end

-- begin has a new record begin: nothing that it grants has a token below least.
local function begin(l, least)
  if not l.born then
    l.born, l.set.born = least, least
  end
end

-- The lists. A node is named by a number, n, as text; '0' is none.

local HOLD, TICKET = 'h:', 'w:'

local function read_hold(n, text)
  local earlier, later, permits, since, tell, ends, id = string.match(text or '', '^(%d+) (%d+) (%d+) (%d+) (%d) (%d+) (.+)$')
  return earlier and {
    n = n, earlier = earlier, later = later, permits = tonumber(permits), since = since, tell = tell, ends = tonumber(ends), id = id,
  } or false
end

local function write_hold(h)
  return h.earlier .. ' ' .. h.later .. ' ' .. h.permits .. ' ' .. h.since .. ' ' .. h.tell .. ' ' .. int(h.ends) .. ' ' .. h.id
end

local function read_ticket(n, text)
  local earlier, later, permits, limit, turn, since, ends, rank, id =
    string.match(text or '', '^(%d+) (%d+) (%d+) (%d+) (%d) (%d+) (%d+) (%d+) (.+)$')
  return earlier and {
    n = n, earlier = earlier, later = later, permits = tonumber(permits), limit = tonumber(limit), turn = tonumber(turn),
    since = since, ends = tonumber(ends), rank = tonumber(rank), id = id,
  } or false
end

local function write_ticket(t)
  return t.earlier .. ' ' .. t.later .. ' ' .. t.permits .. ' ' .. t.limit .. ' ' .. t.turn .. ' ' .. t.since .. ' ' ..
    int(t.ends) .. ' ' .. int(t.rank) .. ' ' .. t.id
end

local readers, writers = {[HOLD] = read_hold, [TICKET] = read_ticket}, {[HOLD] = write_hold, [TICKET] = write_ticket}

-- fetch reads nodes that will be needed, all at once.
local function fetch(l, kind, ...)
  local fields, numbers = {}, {}
  for _, n in ipairs({...}) do
    if n ~= '0' and l.nodes[kind .. n] == nil then
      fields[#fields + 1], numbers[#numbers + 1] = kind .. n, n
    end
  end
  if fields[1] then
    for i, text in ipairs(redis.call('HMGET', l.key, unpack(fields))) do
      l.nodes[fields[i]] = readers[kind](numbers[i], text)
    end
  end
end

-- node returns a node; nil when there is none.
local function node(l, kind, n)
  if n == '0' then
    return nil
  end
  if l.nodes[kind .. n] == nil then
    l.nodes[kind .. n] = readers[kind](n, redis.call('HGET', l.key, kind .. n))
  end
  return l.nodes[kind .. n] or nil
end

local function change(l, kind, x)
  l.changed[kind .. x.n] = {x = x, write = writers[kind]}
end

-- link puts x into a list, behind the node named; '0' for the front.
local function link(l, kind, list, x, earlier)
  local a = node(l, kind, earlier)
  x.earlier, x.later = a and earlier or '0', a and a.later or list.first
  local b = node(l, kind, x.later)
  if a then
    a.later = x.n
    change(l, kind, a)
  else
    list.first = x.n
  end
  if b then
    b.earlier = x.n
    change(l, kind, b)
  else
    x.later, list.last = '0', x.n
  end
  l.nodes[kind .. x.n] = x
  change(l, kind, x)
end

-- unlink takes x out of a list. It is deleted unless it is linked again.
local function unlink(l, kind, list, x)
  fetch(l, kind, x.earlier, x.later)
  local a, b = node(l, kind, x.earlier), node(l, kind, x.later)
  if a then
    a.later = x.later
    change(l, kind, a)
  else
    list.first = x.later
  end
  if b then
    b.earlier = x.earlier
    change(l, kind, b)
  else
    list.last = x.earlier
  end
  l.nodes[kind .. x.n], l.changed[kind .. x.n] = false, false
end

local function some(n) return n ~= '0' and n end

-- store writes what has changed. The record is of use until a time, and for as long as its tokens and those whose holds it took
-- away need it. One that nobody holds or waits for is of no other use.
local function store(l, now, upto)
  local ends = math.max(now, upto, l.owed, tonumber(l.token)) + KEEP
  local due = l.ends < ends or l.used == 0 and l.waits == 0 and l.ends > ends + 2 * SPARE
  if due then
    l.set['until'] = int(ends + SPARE)
  end
  for field, c in pairs(l.changed) do
    l.set[field] = c and c.write(c.x)
  end
  if l.reordered then
    l.set.soonest, l.set.latest = some(l.holds.first), some(l.holds.last)
  end
  if l.requeued then
    local ranks = {}
    for i, r in ipairs(l.ranks) do
      ranks[i] = int(r.rank) .. ' ' .. r.first .. ' ' .. r.last
    end
    l.set.ranks, l.set.waits = #ranks > 0 and table.concat(ranks, ','), l.waits > 0 and int(l.waits)
  end
  local set, del = {}, {}
  for field, value in pairs(l.set) do
    if value then
      set[#set + 1], set[#set + 2] = field, value
    elseif l.had[field] ~= false then
      del[#del + 1] = field
    end
  end
  for i = 1, #set, 1000 do
    redis.call('HSET', l.key, unpack(set, i, math.min(i + 999, #set)))
  end
  for i = 1, #del, 1000 do
    redis.call('HDEL', l.key, unpack(del, i, math.min(i + 999, #del)))
  end
  if due then
    redis.call('PEXPIRE', l.key, int((ends + SPARE - now) / 1000))
  end
end

-- The holds.

local function write_one(l)
  local h = l.one
  l.set.one = h and h.id .. ' ' .. h.n .. ' ' .. h.permits .. ' ' .. h.since .. ' ' .. h.tell .. ' ' .. int(h.ends) or false
end

local function write_used(l)
  l.set.used = not l.one and l.used > 0 and int(l.used)
end

-- find returns the hold of id, which is the one that was loaded with the lock, before anything is changed.
local function find(l, id)
  if l.one or l.used == 0 then
    return l.one and l.one.id == id and l.one
  end
  return l.mine and node(l, HOLD, l.mine)
end

-- sooner tells whether one lease ends before another.
local function sooner(a, b) return a.ends < b.ends or a.ends == b.ends and a.id < b.id end

-- arrange puts a hold where it belongs: mostly its lease is the last to end, and otherwise it is looked for from the nearer side.
local function arrange(l, h)
  l.reordered = true
  fetch(l, HOLD, l.holds.first, l.holds.last)
  local first, last = node(l, HOLD, l.holds.first), node(l, HOLD, l.holds.last)
  local earlier = '0'
  if last and first and h.ends - first.ends < last.ends - h.ends then
    while first and sooner(first, h) do
      earlier, first = first.n, node(l, HOLD, first.later)
    end
  else
    while last and sooner(h, last) do
      last = node(l, HOLD, last.earlier)
    end
    earlier = last and last.n or '0'
  end
  link(l, HOLD, l.holds, h, earlier)
end

-- add adds a hold.
local function add(l, h)
  if l.used == 0 then
    l.one = h
  else
    if l.one then
      l.set['i:' .. l.one.id] = l.one.n
      arrange(l, l.one)
      l.one = nil
    end
    l.set['i:' .. h.id] = h.n
    arrange(l, h)
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
    unlink(l, HOLD, l.holds, h)
    l.reordered, l.set['i:' .. h.id] = true, false
  end
  write_one(l)
  write_used(l)
end

local function prolong(l, h, ends)
  h.ends = ends
  if l.one then
    return write_one(l)
  end
  fetch(l, HOLD, h.earlier, h.later, l.holds.first, l.holds.last)
  local earlier, later = node(l, HOLD, h.earlier), node(l, HOLD, h.later)
  if (earlier and sooner(h, earlier)) or (later and sooner(later, h)) then
    unlink(l, HOLD, l.holds, h)
    arrange(l, h)
  else
    change(l, HOLD, h)
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
    local h = node(l, HOLD, l.holds.first)
    while h and h.ends <= upto and #list ~= count do
      if h.ends > after then
        list[#list + 1] = h
      end
      h = node(l, HOLD, h.later)
    end
    table.sort(list, function(a, b) return tonumber(a.n) < tonumber(b.n) end)
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
  bury(l, h.n, '0')
  lost[#lost + 1] = h
end

-- oust takes a hold away whose lease may not be over.
local function oust(l, h, lost)
  lose(l, h, lost)
  if h.ends > l.owed then
    l.owed, l.set.owed = h.ends, int(h.ends)
  end
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
    newer = newer + (tonumber(h.n) > tonumber(g.n) and h.permits or 0)
  end
  if newer + g.permits > g.limit then
    return false
  end
  for _, h in ipairs(all) do
    if l.used + g.permits > g.limit then
      oust(l, h, lost)
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

-- What was withdrawn.

-- remember forgets the IDs that are not refused any more, and then has one more refused, if one is given.
local function remember(l, now, id)
  local first, last = string.match(l.withdrawn or '1 0', '^(%d+) (%d+)$')
  first, last = tonumber(first), tonumber(last)
  while first <= last do
    local field = 'x:' .. int(first)
    local ends, old = string.match(redis.call('HGET', l.key, field), '^(%d+) (.+)$')
    if tonumber(ends) > now then
      break
    end
    first, l.set[field], l.set['y:' .. old] = first + 1, false, false
  end
  if id and l.refused <= now then
    last = last + 1
    l.set['x:' .. int(last)], l.set['y:' .. id] = int(now + WITHDRAWN) .. ' ' .. id, int(now + WITHDRAWN)
  end
  l.set.withdrawn = first <= last and int(first) .. ' ' .. int(last)
end

-- The queue.

-- before tells whether one place in it comes before another.
local function before(a, b) return a.rank < b.rank or a.rank == b.rank and tonumber(a.n) < tonumber(b.n) end

-- each calls f for those who wait, in order, until it returns true: for at most LOOKED of them.
local function each(l, f)
  local looked = 0
  for _, r in ipairs(l.ranks) do
    local t = node(l, TICKET, r.first)
    while t do
      if looked == LOOKED or f(t) then
        return
      end
      looked, t = looked + 1, node(l, TICKET, t.later)
    end
  end
end

-- leave takes a ticket out of the queue.
local function leave(l, t)
  if l.nodes[TICKET .. t.n] == false then
    return
  end
  for i, r in ipairs(l.ranks) do
    if r.rank == t.rank then
      unlink(l, TICKET, r, t)
      if r.first == '0' then
        table.remove(l.ranks, i)
      end
      break
    end
  end
  l.waits, l.requeued, l.set['n:' .. t.id] = l.waits - 1, true, false
end

-- enter puts a new ticket at the end of those of its rank.
local function enter(l, t)
  local i, r = 1, l.ranks[1]
  while r and r.rank < t.rank do
    i, r = i + 1, l.ranks[i + 1]
  end
  if not r or r.rank ~= t.rank then
    r = {rank = t.rank, first = '0', last = '0'}
    table.insert(l.ranks, i, r)
  end
  l.arrived, l.waits, l.requeued = l.arrived + 1, l.waits + 1, true
  l.set.arrived, l.set['n:' .. t.id] = t.n, t.n
  link(l, TICKET, r, t, r.last)
end

-- first returns the first ticket in the queue, and whether any before it were thrown away since their life is over.
local function first(l, now)
  local dropped = false
  while l.ranks[1] do
    local t = node(l, TICKET, l.ranks[1].first)
    if t and t.ends > now then
      return t, dropped
    end
    if t then
      leave(l, t)
    else
      table.remove(l.ranks, 1)
    end
    dropped = true
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
