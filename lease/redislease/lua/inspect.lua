-- inspect: read a record, and change nothing.
-- KEYS[1] record
-- returns {0, mark, token, now, open, settled lines}, as sync does
local r = redis.call('HMGET', KEYS[1], 'mark', 'token', 'open', 'settled')
return {0, tonumber(r[1] or '0'), tonumber(r[2] or '0'), clock(), r[3] or '', table.concat(recent(KEYS[1], r[4]), '\n')}
