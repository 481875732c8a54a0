-- members_known: tell who takes part, and what each says about itself in short.
-- KEYS[1] the namespace's members  [2] when each was announced last  [3] former members
-- ARGV    1 for how many ms former members are kept  2 how many of them
-- returns a line for each: holder, what is left of its life in us, announced last, and the digest of what it says
local _, now = clock()
local lines = {}
local all = redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
  local ends, info = string.match(all[i + 1], '^(%d+) (.*)$')
  if tonumber(ends) <= now then
    retire(KEYS, all[i], all[i + 1], now, ARGV[1], tonumber(ARGV[2]))
  else
    lines[#lines + 1] = all[i] .. ' ' .. int(tonumber(ends) - now) .. ' ' .. (redis.call('ZSCORE', KEYS[2], all[i]) or '0') ..
      ' ' .. string.sub(redis.sha1hex(info), 1, 16)
  end
end
return table.concat(lines, '\n')
