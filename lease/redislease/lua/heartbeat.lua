-- heartbeat: announce a member, or that it takes part no more, and say what since says.
-- KEYS[6] the namespace's key  [7] its triggers
-- ARGV    1 holder  2 life in ms; 0: no more  3 what it says about itself  4 for how many ms former members are kept  5 how many of them
--         6, 7 as since has them  8, 9 not before and not after, us  10 the digest of what the caller said last; empty: nothing
-- returns {now, since, {names and occasions}}, or {now, the format that is there, {}}; and then, unless nothing was announced,
--         what tells these members from any others, and what somebody else has said in the caller's name, if so
local stamp, now = clock()
local since = memory(KEYS[6], ARGV[6], now)
if type(since) == 'table' then
  return since
end
local answer = {now, since, noted(KEYS[7], ARGV[7])}
if type(since) == 'string' or now < tonumber(ARGV[8]) or now > tonumber(ARGV[9]) then
  return answer
end
retire_dead(KEYS, now, ARGV[4], tonumber(ARGV[5]))
if ARGV[2] == '0' then
  if redis.call('ZSCORE', KEYS[4], ARGV[1]) then
    redis.call('ZADD', KEYS[2], stamp, ARGV[1])
    retire(KEYS, ARGV[1], now, ARGV[4], tonumber(ARGV[5]))
  end
  return answer
end
local before = join(KEYS, ARGV[1], ARGV[2], ARGV[3], stamp, now, ARGV[4])
answer[4] = redis.call('GET', KEYS[5])
if before and ARGV[10] ~= '' and string.sub(redis.sha1hex(before), 1, 16) ~= ARGV[10] then
  answer[5] = before
end
return answer
