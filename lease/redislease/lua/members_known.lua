-- members_known: say who takes part, and what each says about itself in short.
-- ARGV    1 for how many ms former members are kept  2 how many of them
-- returns a line that tells these members from any others, and then a line for each: holder, what is left of its life in us,
--         announced last, and the digest of what it says
local _, now = clock()
retire_dead(KEYS, now, ARGV[1], tonumber(ARGV[2]))
local lines = {redis.call('GET', KEYS[5]) or ''}
local live = redis.call('ZRANGE', KEYS[4], 0, -1, 'WITHSCORES')
for i = 1, #live, 2 do
  local info = redis.call('HGET', KEYS[1], live[i])
  if info then
    lines[#lines + 1] = live[i] .. ' ' .. int(tonumber(live[i + 1]) - now) .. ' ' .. (redis.call('ZSCORE', KEYS[2], live[i]) or '0') ..
      ' ' .. string.sub(redis.sha1hex(info), 1, 16)
  end
end
return table.concat(lines, '\n')
