-- Most claims: nothing is open, and nothing speaks against a grant. The rest is below.
local first = redis.call('HMGET', KEYS[1], 'mark', 'open', 'token', 'paused', 'exceptions')
local seconds = redis.call('TIME')
local stamp = seconds[1] .. string.sub('00000' .. seconds[2], -6)
local now = tonumber(stamp)
if first[1] and (first[2] or '') == '' and not first[4] and not first[5] and not ARGV[12] then
  local mark, occasion, token = tonumber(first[1]), ARGV[1], first[3]
  if tonumber(occasion) > mark and mark >= tonumber(ARGV[7]) and now >= ARGV[5] * 1000 and
    (ARGV[6] == '0' or now <= ARGV[6] * 1000) and (ARGV[10] == '0' or now <= ARGV[10] * 1000) and (not token or tonumber(token) < now) then
    redis.call('HSET', KEYS[1], 'token', stamp, 'mark', occasion, 'open', occasion .. ' ' .. stamp .. ' 1 ' .. ARGV[8] ..
      ' ' .. stamp .. ' ' .. ARGV[4] .. ' ' .. ARGV[2] .. ' ' .. ARGV[3] .. '\n')
    if not token or string.sub(token, 1, 9) ~= string.sub(stamp, 1, 9) then -- once in ten seconds is often enough
      redis.call('PEXPIRE', KEYS[1], math.ceil(34560000000 + ARGV[4] / 1000), 'GT')
    end
    return stamp
  end
end
