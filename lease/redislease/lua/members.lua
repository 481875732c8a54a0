-- members: say who takes part, or who did.
-- ARGV    1 for how many ms former members are kept  2 how many of them  3 present: of these
-- returns {now, holder, life's end, what it says about itself, announced last, holder, …}; of former members the life's end
--         is 0
local _, now = clock()
retire_dead(KEYS, now, ARGV[1], tonumber(ARGV[2]))
local answer = {now}
local function add(holder, ends, info)
  if info then
    answer[#answer + 1] = holder
    answer[#answer + 1] = ends
    answer[#answer + 1] = info
    answer[#answer + 1] = redis.call('ZSCORE', KEYS[2], holder) or '0'
  end
end
if ARGV[3] then
  forget_old(KEYS, now, ARGV[1])
  local former = redis.call('HGETALL', KEYS[3])
  for i = 1, #former, 2 do
    add(former[i], '0', former[i + 1])
  end
else
  local live = redis.call('ZRANGE', KEYS[4], 0, -1, 'WITHSCORES')
  for i = 1, #live, 2 do
    add(live[i], live[i + 1], redis.call('HGET', KEYS[1], live[i]))
  end
end
return answer
