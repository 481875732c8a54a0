-- members_info: say what some members say about themselves, or said.
-- KEYS[1] what each says
-- ARGV    holders
-- returns of each what it says; nil when it is none of them
local list = {}
for i, holder in ipairs(ARGV) do
  list[i] = redis.call('HGET', KEYS[1], holder)
end
return list
