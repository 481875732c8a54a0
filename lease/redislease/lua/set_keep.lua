-- set_keep: extend the lives of sets.
-- KEYS    their keys   ARGV[1] their life from now, ms
-- returns for each 1, or 0 when it is not kept
local kept = {}
for i, key in ipairs(KEYS) do
  kept[i] = redis.call('PEXPIRE', key, ARGV[1])
end
return kept
