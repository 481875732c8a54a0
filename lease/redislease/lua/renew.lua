-- renew: extend leases.
-- KEYS[i] records
-- ARGV    for each key: occasion token attempt takeovers term-in-us holder request retention-in-ms
-- returns for each key 1 when extended, 0 when the grant is not current
local now = clock()
local answers = {}
for i, key in ipairs(KEYS) do
  local a = (i - 1) * 8
  local occasion, token, attempt, takeovers = ARGV[a + 1], ARGV[a + 2], ARGV[a + 3], ARGV[a + 4]
  local ends, holder, request = now + ARGV[a + 5], ARGV[a + 6], ARGV[a + 7]
  local v = redis.call('HMGET', key, 'open', 'mark', 'token', 'settled')
  local r = {mark = v[2], token = v[3], settled = v[4]}
  local rest, found, released = '', nil, false
  for o, t, at, left, e, h, q in string.gmatch(v[1] or '', LINE) do
    if o ~= occasion then
      rest = rest .. line(o, t, at, left, tonumber(e), h, q)
    else
      found, released = t, e == '0'
      if t == token then
        attempt, takeovers = math.max(tonumber(at), tonumber(attempt)), left
      end
    end
  end
  local current = found == token and not released
  if not current and found ~= token and forgotten(key, occasion, token, found, r) then
    restore(key, occasion, token, r)
    current = true
  end
  if current then
    redis.call('HSET', key, 'open', rest .. line(occasion, token, attempt, takeovers, ends, holder, request))
    keep(key, ARGV[a + 8])
  end
  answers[i] = current and 1 or 0
end
return answers
