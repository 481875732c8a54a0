-- sync: read a record, and make it when there is none.
-- KEYS[1] record
-- ARGV    1 mark of a new record  2 newest mark the caller knows  3 revision, or empty  4 a new record's pause, or empty
-- returns {made, mark, token, now, open, revision, since when, pause}
local key, known = KEYS[1], tonumber(ARGV[2])
local r = read(key)
local made = 0
if not r.mark then
  -- Those who have written themselves anew meanwhile (gap_to) prove that at least so much was decided.
  made, r.mark = 1, int(math.max(tonumber(ARGV[1]), known, tonumber(r.gap_to or '0')))
  gap(r, r.gap_from or '0', r.mark, 'mark', r.mark)
  if ARGV[4] ~= '' then
    r.paused = ARGV[4]
    redis.call('HSET', key, 'paused', r.paused)
  end
elseif tonumber(r.mark) < known then
  raise(r, ARGV[2])
end
local stamp, now = clock()
local v = redis.call('HMGET', key, 'revision', 'revised')
if ARGV[3] ~= '' and ARGV[3] ~= v[1] then
  v = {ARGV[3], made == 1 and int(r.mark * 1000) or stamp} -- of a new one, what is past the mark came due under it
  redis.call('HSET', key, 'revision', v[1], 'revised', v[2])
end
keep(key, '1', 0)
return {made, tonumber(r.mark), tonumber(r.token or '0'), now, r.open, v[1] or '', tonumber(v[2] or '0'), r.paused or ''}
