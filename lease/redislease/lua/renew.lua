-- renew: extend leases.
-- KEYS[i] records
-- ARGV    for each key: occasion token attempt takeovers term-in-us holder request
-- returns for each key 1 when extended, 0 when the grant is not current, 2 when it has to make room,
--         and who cancelled it when somebody did
local stamp = clock()
local answers = {}
for i, key in ipairs(KEYS) do
  local a = (i - 1) * 7
  local occasion, token, attempt, takeovers, term = ARGV[a + 1], ARGV[a + 2], ARGV[a + 3], ARGV[a + 4], ARGV[a + 5]
  local v = redis.call('HMGET', key, 'open', 'stop', 'cancels')
  local open = v[1] or ''
  local mine, others = split(open, occasion)
  local found, last, before, current = nil, '', 0, false
  if mine then
    local _, t, at, left, since, was = string.match(mine, LINE)
    found = t
    if t == token then
      attempt, takeovers, last = math.max(tonumber(at), tonumber(attempt)), left, since
      before = tonumber(was)
      current = since ~= '0' -- else it was released
    end
  end
  if found ~= token then
    local r = read(key)
    if forgotten(r, occasion, token, found) then
      restore(r, occasion, token)
      current = true
    end
  end
  answers[i] = current and 1 or 0
  local by = current and cancelled(v[3], occasion)
  if by or current and replaced(v[2], occasion, token) then
    answers[i] = by or 2
    if found ~= token then
      redis.call('HSET', key, 'open', others .. line(occasion, token, attempt, takeovers, stamp, 0, ARGV[a + 6], ARGV[a + 7]))
    end
  elseif current then
    redis.call('HSET', key, 'open', others .. line(occasion, token, attempt, takeovers, stamp, term, ARGV[a + 6], ARGV[a + 7]))
    if string.sub(last, 1, 9) ~= string.sub(stamp, 1, 9) or tonumber(term) > before then -- once in ten seconds is often enough
      keep(key, occasion, term)
    end
  end
end
return answers
