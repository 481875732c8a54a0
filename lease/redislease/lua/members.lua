-- members: say who takes part, or who did, and what each says about itself.
-- ARGV    1 for how many ms former members are kept  2 how many of them  3 1: of these  4 1: with all that each says
-- returns a text: a line that tells these members from any others, and then a line for each: holder, what is left of its life
--         in us, announced last, and the digest of what it says; and after the text what each says, if it was asked for
local _, now = clock()
retire_dead(KEYS, now, ARGV[1], tonumber(ARGV[2]))
local lines, answer = {redis.call('GET', KEYS[5]) or ''}, {''}
local function add(holder, left, info)
  if info then
    lines[#lines + 1] = holder .. ' ' .. left .. ' ' .. (redis.call('ZSCORE', KEYS[2], holder) or '0') ..
      ' ' .. string.sub(redis.sha1hex(info), 1, 16)
    if ARGV[4] == '1' then
      answer[#lines] = info
    end
  end
end
if ARGV[3] == '1' then
  forget_old(KEYS, now, ARGV[1])
  local former = redis.call('HGETALL', KEYS[3])
  for i = 1, #former, 2 do
    add(former[i], '0', former[i + 1])
  end
else
  local live = redis.call('ZRANGE', KEYS[4], 0, -1, 'WITHSCORES')
  for i = 1, #live, 2 do
    add(live[i], int(tonumber(live[i + 1]) - now), redis.call('HGET', KEYS[1], live[i]))
  end
end
answer[1] = table.concat(lines, '\n')
return answer
