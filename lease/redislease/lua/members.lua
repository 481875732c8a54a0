-- members: tell who takes part, and forget who is gone.
-- KEYS[1] the namespace's members
-- returns {now, holder, life's end and what it says about itself, holder, …}
local _, now = clock()
local answer = {now}
local all = redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
  if tonumber(string.match(all[i + 1], '^%d+')) > now then
    answer[#answer + 1] = all[i]
    answer[#answer + 1] = all[i + 1]
  else
    redis.call('HDEL', KEYS[1], all[i])
  end
end
return answer
