-- lock_renew: extend what is held of locks.
-- KEYS[i] locks
-- ARGV    for each key: holder and request, token, permits, limit, term in us, tell
-- returns for each key 1 when extended, 0 when the grant is not current
local stamp, now = clock()
local answers = {}
for i, key in ipairs(KEYS) do
  local a = (i - 1) * 6
  local me, token, term = ARGV[a + 1], ARGV[a + 2], tonumber(ARGV[a + 5])
  local l = load(key, me)
  begin(l, stamp)
  local h, current = find(l, me), false
  if h then
    current = h.n == token
    if current then
      prolong(l, h, now + term)
    end
  elseif forgotten(l, token) then
    local g = {
      id = me, n = token, permits = tonumber(ARGV[a + 3]), limit = tonumber(ARGV[a + 4]), since = token, tell = ARGV[a + 6],
      ends = now + term,
    }
    if make_room(l, g, now, {}) then
      raise(l, token)
      add(l, g)
      current = true
    end
  end
  store(l, now, now + term)
  answers[i] = current and 1 or 0
end
return answers
