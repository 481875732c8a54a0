-- members: tell who takes part, or who did.
-- KEYS[1] the namespace's members  [2] when each was announced last  [3] former members
-- ARGV    1 for how many ms former members are kept  2 how many of them  3 present: tell of these
-- returns {now, holder, life's end and what it says about itself, announced last, holder, …}; of former members the
--         life's end is 0
local _, now = clock()
local answer = {now}
local function add(holder, entry)
  answer[#answer + 1] = holder
  answer[#answer + 1] = entry
  answer[#answer + 1] = redis.call('ZSCORE', KEYS[2], holder) or '0'
end
local all = redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
  if tonumber(string.match(all[i + 1], '^%d+')) <= now then
    retire(KEYS, all[i], all[i + 1], now, ARGV[1], tonumber(ARGV[2]))
  elseif not ARGV[3] then
    add(all[i], all[i + 1])
  end
end
if ARGV[3] then
  forget_old(KEYS, now, ARGV[1])
  local former = redis.call('HGETALL', KEYS[3])
  for i = 1, #former, 2 do
    add(former[i], '0 ' .. former[i + 1])
  end
end
return answer
