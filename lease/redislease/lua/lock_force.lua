-- lock_force: take the grant with a token away from its holder.
-- KEYS[1] lock
-- ARGV    1 token
-- returns 1 when it was held
local stamp, now = clock()
local l, lost = load(KEYS[1], ''), {}
for _, h in ipairs(between(l, -1, math.huge)) do
  if h.n == ARGV[1] then
    oust(l, h, lost)
  end
end
if not lost[1] then
  return 0
end
local woken = also(turns(l, now), string.match(lost[1].id, ' (.*)'))
store(l, now, now)
wake(l, woken)
return 1
