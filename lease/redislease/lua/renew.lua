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
  local mine, others = split(v[1] or '', occasion)
  local found, current = nil, false
  if mine then
    local _, t, at, left, e = string.match(mine, LINE)
    found = t
    if t == token then
      attempt, takeovers = math.max(tonumber(at), tonumber(attempt)), left
      current = e ~= '0' -- else it was released
    end
  end
  if found ~= token then
    local r = {mark = v[2], token = v[3], settled = v[4]}
    if forgotten(key, occasion, token, found, r) then
      restore(key, occasion, token, r)
      current = true
    end
  end
  if current then
    redis.call('HSET', key, 'open', others .. line(occasion, token, attempt, takeovers, ends, holder, request))
    keep(key, ARGV[a + 8])
  end
  answers[i] = current and 1 or 0
end
return answers
