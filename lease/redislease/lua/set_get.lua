-- set_get: read sets.
-- KEYS    their keys
-- returns for each the set, or nil when it is not kept
local sets = {}
for i, key in ipairs(KEYS) do
  sets[i] = redis.call('GET', key)
end
return sets
