-- settle: record the outcome of an occasion, finally; or release it, which frees it for the next claim.
-- KEYS[1] record
-- ARGV    1 occasion  2 token  3 outcome; empty: release  4 retention in ms  5 channel  6 name
--         7 attempt  8 takeovers  9 holder  10 request
-- returns 1 when done, 0 when the grant is not current
local key, occasion, token, outcome, attempt, takeovers = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[7], ARGV[8]
local v = redis.call('HMGET', key, 'open', 'settled', 'mark', 'token', 'wait')
local lock = occasion == '0'
local mine, others = split(v[1] or '', occasion)
local found
if mine then
  local _, t, at, left = string.match(mine, LINE)
  found = t
  if t == token then
    attempt, takeovers = math.max(tonumber(at), tonumber(attempt)), left
  end
end

if found ~= token then
  if not found and remembered(key, v[2], occasion, token, not lock and outcome or nil) then
    return 1
  end
  local r = {settled = v[2], mark = v[3], token = v[4]}
  if not forgotten(key, occasion, token, found, r) then
    return 0
  end
  restore(key, occasion, token, r)
  keep(key, ARGV[4])
end
if outcome ~= '' or lock then
  remember(key, v[2], occasion, token, outcome ~= '' and outcome or 'released', 'open', others)
else
  redis.call('HSET', key, 'open', others .. line(occasion, token, attempt, takeovers, 0, ARGV[9], ARGV[10]))
end
if v[5] then
  redis.call('HDEL', key, 'wait')
end
if v[5] or outcome == '' or lock then
  redis.pcall('PUBLISH', ARGV[5], ARGV[6]) -- not allowed everywhere, and nothing depends on it
end
return 1
