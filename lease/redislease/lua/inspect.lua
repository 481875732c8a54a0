-- inspect: read a record, and change nothing.
-- KEYS[1] record
-- returns what sync does, and then the entries of what is settled, and what was cancelled
local r = read(KEYS[1])
local _, now = clock()
local v = redis.call('HMGET', KEYS[1], 'revision', 'revised', 'schedules')
return {0, tonumber(r.mark or '0'), tonumber(r.token or '0'), now, r.open, v[1] or '', tonumber(v[2] or '0'), r.paused or '', v[3] or '',
  recent(KEYS[1], r.settled, HISTORY), r.cancels or ''}
