-- members_info: say what some members say about themselves.
-- KEYS[1] what each member says
-- ARGV    holders
-- returns of each what it says; nil when it takes part no more
local list = {}
for i, holder in ipairs(ARGV) do
  list[i] = redis.call('HGET', KEYS[1], holder)
end
return list
