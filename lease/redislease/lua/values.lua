-- values: operations on values, one after another. A key is a hash:
--   s     the state of its value; absent when there is none: one character, + when k is present and - when not; the
--         version, which is a stamp of 16 digits and an id; then for each lease, behind a line end, its token, its end, 1
--         if it is stopped and else 0, and its holder
--   d     the data of its value. A change does not read it: long strings cost Lua more than all else
--   k     for how many ms the key is kept when nobody touches it
--   nN    of the list beside the value, which has N slots: how many entries were appended so far
--   oN    slot N of the list: at id text. The Nth entry of all is in slot N modulo their number
-- Times and tokens are microseconds of this server's clock, in 16 digits, since Lua would print 1.79e15.
-- left, of the source before this one, is for how many us this server grants nothing.
--
-- KEYS    one for each operation; then those of the indexes that changes name, sorted sets: of each a share of what is due,
--         and behind it, with the letter i, the keys of its job
-- ARGV    for each operation one of
--         r                                 read the value
--         f n                               read its stamp, its leases and the first n bytes of its data
--         e                                 say whether there is one
--         l most                            read the newest of the list
--         a nN id text                      append to the list, unless it has an entry with this id
--         k token holder ttl                renew: extend the lease to ttl us from now
--         size from id data not-before not-after kinds ...
--                                           change the value of the version from (empty: there is none), see
--                                           driver.Change. size is the number of arguments, this one included. kinds
--                                           has a letter for each of the groups that follow:
--           a nN id text                    append to the list; those come first
--           m stamp                         the least new stamp
--           q                               only while this server grants anything
--           e token                         this lease must have ended
--           d token, s token                a lease is removed, or is not to be renewed any more
--           g holder ttl                    a lease begins whose token is the new stamp
--           r token holder ttl              a lease begins again
--           n channel message               publish
--           p ms                            for how long the key is kept
--           u index due member              its place in the index KEYS[index]: due in ms, or empty: none. After all
--                                           groups but i and x
--           i                               KEYS[index + 1] gets the member, or with x loses it
--           x                               remove the key
-- returns the time, and for each operation one of
--         a number                          the change was made, at this stamp; of e: 1 or 0
--         version                           the lease was renewed, or the entry appended (empty)
--         text                              of f: the stamp, its leases as in s, two line ends, and the data; empty when
--                                           there is no value
--         {s, d}                            what is there: of a read, or because something is not as named
--         {s, d, 0}                         the time is not within the bounds
--         {left}                            nothing is granted for so many us
--         {entry ...}                       of l
--         an error                          of this key alone
local call, sub, find, byte, format = redis.call, string.sub, string.find, string.byte, string.format
local clock = call('TIME')
local now = clock[1] * 1000000 + clock[2]
local stamp = sub('0000000000' .. clock[1], -10) .. sub('000000' .. clock[2], -6)
local ends = {} -- of a lease from now, by its ttl
local rare -- what few operations need

local function make_rare()
  local rare = {}

  function rare.lease(token, holder, ttl)
    return '\n' .. token .. ' ' .. format('%016.0f', math.min(now + ttl, 9999999999999999)) .. ' 0 ' .. holder
  end

  -- span finds the line of a lease: where it begins and ends, and where its end is.
  function rare.span(leases, token)
    local from = find(leases, '\n' .. token .. ' ', 1, true)
    if from then
      return from, (find(leases, '\n', from + 1, true) or #leases + 1) - 1, from + #token + 2
    end
  end

  function rare.present(key, s, reason)
    return {s or '', s and call('HGET', key, 'd') or '', reason}
  end

  function rare.renew(key, a)
    local s = redis.pcall('HGET', key, 's')
    if type(s) == 'table' then
      return s
    end
    local from, to, at = rare.span(s or '', ARGV[a + 1])
    if not from or sub(s, at + 16, to) ~= ' 0 ' .. ARGV[a + 2] then
      return rare.present(key, s)
    end
    call('HSET', key, 's', sub(s, 1, from - 1) .. rare.lease(ARGV[a + 1], ARGV[a + 2], ARGV[a + 3]) .. sub(s, to + 1))
    if byte(s) == 43 then
      call('PEXPIRE', key, call('HGET', key, 'k'))
    end
    return sub(s, 2, find(s, '\n', 1, true) - 1)
  end

  -- list returns the entries of a list, newest first, the name of the field that counts them, and the count; or an error.
  function rare.list(key)
    local names = {}
    for i = 0, 16 do
      names[i + 1] = format('n%d', 2 ^ i)
    end
    local counts = redis.pcall('HMGET', key, unpack(names))
    if counts.err then
      return counts
    end
    for i, count in ipairs(counts) do
      if count then
        local slots, fields = 2 ^ (i - 1), {}
        for n = tonumber(count), math.max(count - slots + 1, 1), -1 do
          fields[#fields + 1] = format('o%d', n % slots)
        end
        local entries = {}
        for from = 1, #fields, 1000 do
          for _, e in ipairs(call('HMGET', key, unpack(fields, from, math.min(from + 999, #fields)))) do
            entries[#entries + 1] = e or nil
          end
        end
        return entries, names[i], tonumber(count), fields
      end
    end
    return {}
  end

  function rare.newest(key, most)
    local entries = rare.list(key)
    for n = #entries, most + 1, -1 do
      entries[n] = nil
    end
    return entries
  end

  -- resize gives a list another number of slots, or makes one, and returns how many entries it has had.
  function rare.resize(key, counter)
    local entries, before, count, fields = rare.list(key)
    if not before then
      return 0
    end
    call('HDEL', key, before)
    for _, field in ipairs(fields) do
      call('HDEL', key, field)
    end
    local slots = tonumber(sub(counter, 2))
    for i = math.min(#entries, slots), 1, -1 do
      call('HSET', key, format('o%d', (count - i + 1) % slots), entries[i])
    end
    return count
  end

  function rare.append(key, counter, count, id, text)
    local n = (count or rare.resize(key, counter)) + 1
    call('HSET', key, counter, n, format('o%d', n % sub(counter, 2)), stamp .. ' ' .. id .. ' ' .. text)
  end

  function rare.append_new(key, counter, id, text)
    local entries = rare.list(key)
    if entries.err then
      return entries
    end
    for _, e in ipairs(entries) do
      if sub(e, 18, 18 + #id) == id .. ' ' then
        return ''
      end
    end
    rare.append(key, counter, call('HGET', key, counter), id, text)
    return ''
  end

  -- begin returns why a value cannot begin, if so.
  function rare.begin(key, s, from)
    if s or from ~= '' then
      return rare.present(key, s)
    end
    if call('HLEN', key) > 0 and not select(2, rare.list(key)) then
      return redis.error_reply('WRONGTYPE Operation against a hash that is no value')
    end
  end

  -- other returns why a value of another version than the expected is not changed: it was, by the same change, or it
  -- differs.
  function rare.other(key, s, id)
    if s and sub(s, 19, 18 + #id) == id and (byte(s, 19 + #id) or 10) == 10 then
      return tonumber(sub(s, 2, 17))
    end
    return rare.present(key, s)
  end

  -- list_name puts a name into the keys of a job, or takes it out. A sorted set costs some 100 bytes for each element; so one has
  -- many names, each with a line end. They are in no order, and behind a line with the name from which on they are: all from
  -- there to that of the next element. The first element has an empty one.
  function rare.list_name(index, name, removed)
    local r = redis.pcall('ZRANGE', index, '[' .. name .. '\n\255', '-', 'BYLEX', 'REV', 'LIMIT', 0, 1)
    local text = r[1] or '\n'
    local at = find(text, '\n' .. name .. '\n', 1, true)
    if r.err or not at == removed then
      return r.err and r
    end
    if r[1] then
      call('ZREM', index, text)
    end
    text = removed and sub(text, 1, at) .. sub(text, at + #name + 2) or text .. name .. '\n'
    if #text > 400 then -- the set sorts its names: Lua would go by the server's locale
      local from, count, scored = string.match(text, '[^\n]*'), 0, {}
      for n in string.gmatch(sub(text, #from + 1), '[^\n]+') do
        count = count + 1
        scored[2 * count - 1], scored[2 * count] = 0, n
      end
      call('ZADD', index, unpack(scored))
      local names, half = call('ZRANGE', index, '[' .. from, '+', 'BYLEX', 'LIMIT', 0, count), math.floor(count / 2)
      call('ZREM', index, unpack(names))
      call('ZADD', index, 0, names[half + 1] .. '\n' .. table.concat(names, '\n', half + 1) .. '\n')
      text = from .. '\n' .. table.concat(names, '\n', 1, half) .. '\n'
    end
    if find(text, '\n', 1, true) < #text then
      call('ZADD', index, 0, text)
    end
  end

  return rare
end

local answers, a, i = {now}, 1, 1
while ARGV[a] do
  local kind, key, answer = ARGV[a], KEYS[i], nil
  local size = tonumber(kind)
  if size then
    local kinds = ARGV[a + 6]
    local letter, s, count = byte(kinds), nil, nil
    if letter == 97 then
      local r = redis.pcall('HMGET', key, 's', ARGV[a + 7])
      if r.err then
        answer = r
      end
      s, count = r[1], r[2]
    else
      s = redis.pcall('HGET', key, 's')
      if type(s) == 'table' then
        answer = s
      end
    end
    local from, id = ARGV[a + 1], ARGV[a + 2]
    local head = #from + 1 -- where the version ends
    if answer then -- an error
    elseif not s and from == '' then
      rare = rare or make_rare()
      answer = rare.begin(key, s, from)
    elseif not s or sub(s, 2, head) ~= from or (byte(s, head + 1) or 10) ~= 10 then
      rare = rare or make_rare()
      answer = rare.other(key, s, id)
    end
    if not answer and (stamp < ARGV[a + 4] or stamp > ARGV[a + 5]) then
      rare = rare or make_rare()
      answer = rare.present(key, s, 0)
    end

    local token, leases = stamp, ''
    if s and not answer then
      local before = sub(s, 2, 17)
      if before >= stamp then
        token = format('%016.0f', before + 1)
      end
      leases = sub(s, head + 1)
    end
    local n, at, keep, removed, messages, due, listed = a + 7, 1, nil, false, false, nil, false
    while letter and not answer do
      if letter == 103 then -- g
        local ttl = ARGV[n + 1]
        local e = ends[ttl]
        if not e then
          e = format('%016.0f 0 ', math.min(now + ttl, 9999999999999999))
          ends[ttl] = e
        end
        leases = leases .. '\n' .. token .. ' ' .. e .. ARGV[n]
        n = n + 2
      elseif letter == 100 then -- d
        local from = find(leases, '\n' .. ARGV[n] .. ' ', 1, true)
        if from then
          local to = find(leases, '\n', from + 1, true)
          leases = sub(leases, 1, from - 1) .. (to and sub(leases, to) or '')
        end
        n = n + 1
      elseif letter == 97 then -- a
        n = n + 3
      elseif letter == 110 then -- n
        messages = true
        n = n + 2
      elseif letter == 109 then -- m
        if token < ARGV[n] then
          token = ARGV[n]
        end
        n = n + 1
      elseif letter == 112 then -- p
        keep = ARGV[n]
        n = n + 1
      elseif letter == 113 then -- q
        if left > 0 then
          answer = {left}
        end
      elseif letter == 120 then -- x
        removed = true
      elseif letter == 117 then -- u
        due = n
        n = n + 3
      elseif letter == 105 then -- i
        listed = true
      else
        rare = rare or make_rare()
        local from, to, ends = rare.span(leases, ARGV[n])
        if letter == 101 then -- e
          if ends and tonumber(sub(leases, ends, ends + 15)) > now then
            answer = rare.present(key, s)
          end
          n = n + 1
        elseif letter == 115 then -- s
          if from then
            leases = sub(leases, 1, ends + 15) .. ' 1' .. sub(leases, ends + 18)
          end
          n = n + 1
        else -- r
          if from then
            leases = sub(leases, 1, from - 1) .. sub(leases, to + 1)
          end
          leases = leases .. rare.lease(ARGV[n], ARGV[n + 1], ARGV[n + 2])
          n = n + 3
        end
      end
      at = at + 1
      letter = byte(kinds, at)
    end

    if due then -- nothing before it has forbidden the change. It is made first, as it may fail: another program's key
      local index, ms, member = KEYS[tonumber(ARGV[due])], ARGV[due + 1], ARGV[due + 2]
      local r
      if ms == '' then
        r = redis.pcall('ZREM', index, member)
      else
        r = redis.pcall('ZADD', index, ms, member)
      end
      if listed and type(r) ~= 'table' then
        rare = rare or make_rare()
        r = rare.list_name(KEYS[ARGV[due] + 1], member, removed)
      end
      if type(r) == 'table' then
        answer = r
      end
    end
    if not answer then
      answer = token == stamp and now or tonumber(token)
      local state = (keep and '+' or '-') .. token .. ' ' .. id .. leases
      if removed then
        call('UNLINK', key)
      elseif byte(kinds) ~= 97 then
        call('HSET', key, 's', state, 'd', ARGV[a + 3])
      else
        local counter = ARGV[a + 7]
        if not count then
          rare = rare or make_rare()
          count = rare.resize(key, counter)
        end
        count = count + 1
        call('HSET', key, 's', state, 'd', ARGV[a + 3], counter, count, 'o' .. count % sub(counter, 2), stamp .. ' ' .. ARGV[a + 8] .. ' ' .. ARGV[a + 9])
        for k = 2, #kinds do
          if byte(kinds, k) ~= 97 then
            break
          end
          rare = rare or make_rare()
          n = a + 4 + 3 * k
          rare.append(key, ARGV[n], call('HGET', key, ARGV[n]), ARGV[n + 1], ARGV[n + 2])
        end
      end
      if keep then
        call('HSET', key, 'k', keep)
        call('PEXPIRE', key, keep)
      elseif s and byte(s) == 43 and not removed then
        call('HDEL', key, 'k')
        call('PERSIST', key)
      end
      if messages then
        n = a + 7
        for k = 1, #kinds do
          letter = byte(kinds, k)
          if letter == 110 then
            redis.pcall('PUBLISH', ARGV[n], ARGV[n + 1]) -- who may not only wakes nobody
          end
          n = n + (letter == 97 and 3 or letter == 114 and 3 or letter == 103 and 2 or letter == 110 and 2 or (letter == 120 or letter == 113) and 0 or 1)
        end
      end
    end
  else
    rare = rare or make_rare()
    if kind == 'k' then
      answer, size = rare.renew(key, a), 4
    elseif kind == 'a' then
      answer, size = rare.append_new(key, ARGV[a + 1], ARGV[a + 2], ARGV[a + 3]), 4
    elseif kind == 'l' then
      answer, size = rare.newest(key, tonumber(ARGV[a + 1])), 2
    elseif kind == 'f' then
      local r = redis.pcall('HMGET', key, 's', 'd')
      if r.err then
        answer = r
      elseif r[1] then
        answer = sub(r[1], 2, 17) .. sub(r[1], find(r[1], '\n', 18, true) or #r[1] + 1) .. '\n\n' .. sub(r[2], 1, ARGV[a + 1])
      end
      answer, size = answer or '', 2
    elseif kind == 'e' then
      answer, size = redis.pcall('HEXISTS', key, 's'), 1
    else
      local r = redis.pcall('HMGET', key, 's', 'd')
      answer, size = r.err and r or {r[1] or '', r[2] or ''}, 1
    end
  end
  a, i = a + size, i + 1
  answers[i] = answer
end
return answers
