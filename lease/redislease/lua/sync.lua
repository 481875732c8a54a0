-- sync: read a record, and make it when there is none.
-- KEYS[1] record
-- ARGV    1 mark of a new record  2 newest mark the caller knows  3 retention in ms
-- returns {made, mark, token, now, open, settled lines}
local key, known = KEYS[1], tonumber(ARGV[2])
local r = redis.call('HMGET', key, 'mark', 'token', 'open', 'settled', 'gap_from', 'gap_to')
local mark, made = tonumber(r[1]), 0
if not mark then
  -- Those who have written themselves anew meanwhile (gap_to) prove that at least so much was decided.
  made, mark = 1, math.max(tonumber(ARGV[1]), known, tonumber(r[6] or '0'))
  redis.call('HSET', key, 'mark', int(mark), 'gap_from', r[5] or '0', 'gap_to', int(mark))
elseif mark < known then
  raise(key, r[1], ARGV[2])
  mark = known
end
keep(key, ARGV[3])
return {made, mark, tonumber(r[2] or '0'), clock(), r[3] or '', table.concat(recent(key, r[4]), '\n')}
