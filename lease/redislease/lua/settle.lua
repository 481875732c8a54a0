-- settle: record the outcome of an occasion, finally; or release it, which frees it for the next claim.
-- KEYS[1] record
-- ARGV    1 occasion  2 token  3 outcome; empty: release  4 retention in ms  5 channel  6 name
--         7 attempt  8 takeovers  9 holder  10 request
-- returns 1 when done, 0 when the grant is not current
local key, occasion, token, outcome, attempt, takeovers = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[7], ARGV[8]
local v = redis.call('HMGET', key, 'open', 'settled', 'mark', 'token', 'wait')
local r = {settled = v[2], mark = v[3], token = v[4]}
local lock = occasion == '0'
local rest, found = '', nil
for o, t, at, left, e, h, q in string.gmatch(v[1] or '', LINE) do
  if o ~= occasion then
    rest = rest .. line(o, t, at, left, tonumber(e), h, q)
  else
    found = t
    if t == token then
      attempt, takeovers = math.max(tonumber(at), tonumber(attempt)), left
    end
  end
end

if found ~= token then
  if not found and remembered(r.settled, occasion, token, not lock and outcome or nil) then
    return 1
  end
  if not forgotten(key, occasion, token, found, r) then
    return 0
  end
  restore(key, occasion, token, r)
end
if outcome ~= '' or lock then
  local settled = remember(key, r.settled, occasion, token, outcome ~= '' and outcome or 'released')
  redis.call('HSET', key, 'open', rest, 'settled', settled)
else
  redis.call('HSET', key, 'open', rest .. line(occasion, token, attempt, takeovers, 0, ARGV[9], ARGV[10]))
end
if found ~= token then
  keep(key, ARGV[4])
end
if v[5] then
  redis.call('HDEL', key, 'wait')
end
if v[5] or outcome == '' or lock then
  redis.pcall('PUBLISH', ARGV[5], ARGV[6]) -- not allowed everywhere, and nothing depends on it
end
return 1
