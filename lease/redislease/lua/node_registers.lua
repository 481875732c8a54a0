-- node_registers: carry operations on registers out, one after another. A register is a hash:
--   p   the highest ballot that was promised
--   pt  when that was
--   b   the ballot at which a value was accepted for the last time; absent while none was
--   v   the value
--   at  when its ballot was promised, or it was accepted without that
-- Ballots are of one length, and compare as text. Times are microseconds of this server's clock.
--
-- KEYS[1] which run of this server remembers the namespace, and since when
-- KEYS    2, 3, … the registers
-- ARGV    six for each operation: 1 what (p prepare, a accept)  2 ballot; empty: only read  3 since when the promise is
--         remembered; empty: whatever  4 value  5 for how long others have had it, us  6 for how long to keep it, ms; 0 for ever
-- returns {run, now, since, then for each operation: done, promised ballot, and ballot, value and age of what it holds}
local stamp, now = clock()
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
local known, since = string.match(redis.call('GET', KEYS[1]) or '', '^(%x+) (%d+)$')
if known ~= run then -- it was started, or emptied
  since = stamp
  redis.call('SET', KEYS[1], run .. ' ' .. since)
end

local answer = {run, now, tonumber(since)}
local function say(...)
  for _, v in ipairs({...}) do
    answer[#answer + 1] = v
  end
end

for i = 2, #KEYS do
  local key, a = KEYS[i], 6 * (i - 2)
  local ballot = ARGV[a + 2]
  if ARGV[a + 1] == 'p' then
    local r = redis.call('HMGET', key, 'p', 'b', 'v', 'at')
    local promised, done = r[1] or '', 0
    if ballot ~= '' and ballot >= promised then
      done = 1
      if ballot > promised then
        redis.call('HSET', key, 'p', ballot, 'pt', stamp)
        redis.call('PEXPIRE', key, 1200000, r[1] and 'GT' or 'NX') -- no request is under way for longer
        promised = ballot
      end
    end
    say(done, promised, r[2] or '', r[3] or '', r[4] and now - r[4] or 0)
  else
    local r = redis.call('HMGET', key, 'p', 'pt', 'b')
    local promised = r[1] or ''
    if ballot < promised or ARGV[a + 3] ~= '' and ARGV[a + 3] ~= since then
      say(0, promised, '', '', 0)
    else
      if ballot ~= r[3] then
        local at = int(now - ARGV[a + 5])
        if ballot == promised and ARGV[a + 5] == '0' then
          at = r[2]
        end
        redis.call('HSET', key, 'p', ballot, 'pt', ballot == promised and r[2] or stamp, 'b', ballot, 'v', ARGV[a + 4], 'at', at)
        if ARGV[a + 6] == '0' then
          redis.call('PERSIST', key)
        else
          redis.call('PEXPIRE', key, ARGV[a + 6], r[1] and 'GT' or 'NX') -- no sooner than was said before
        end
      end
      say(1, ballot, '', '', 0)
    end
  end
end
return answer
