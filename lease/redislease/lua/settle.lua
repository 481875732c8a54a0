-- settle: record the outcome of an occasion, finally; or release it, which frees it for the next claim.
-- KEYS[1] record
-- ARGV    1 occasion  2 token  3 outcome; empty: release  4 attempt  5 holder  6 note  7 takeovers  8 request
--         9 term in us
-- returns 1 when done, 0 when the grant is not current
local key, occasion, token, outcome, attempt, holder = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local takeovers = ARGV[7]
local r = read(key)
local lock = occasion == '0'
local mine, others = split(r.open, occasion)
local found
if mine then
  local _, t, at, left = string.match(mine, LINE)
  found = t
  if t == token then
    attempt, takeovers = math.max(tonumber(at), tonumber(attempt)), left
  end
end

if found ~= token then
  if not found and (lock or outcome ~= '') then
    local e = remembered(r, occasion, token, not lock and outcome or nil)
    if e then -- but what the store settled when the lease had run out, the holder has not
      return of_store(note_of(e)) and 0 or 1
    end
  end
  if not forgotten(r, occasion, token, found) then
    return 0
  end
  restore(r, occasion, token)
  keep(key, occasion, ARGV[9])
end
if outcome ~= '' or lock then
  remember(r, occasion, token, outcome ~= '' and outcome or 'released', clock(), attempt, 0, holder, ARGV[6], 'open', others)
else
  redis.call('HSET', key, 'open', others .. line(occasion, token, attempt, takeovers, 0, 0, holder, ARGV[8]))
end
if r.wait then
  redis.call('HDEL', key, 'wait')
end
if r.wait or outcome == '' or lock or waiting(others) then
  wake(key)
end
return 1
