-- pass: settle every occasion from one to another that nobody runs, provided that the mark has not moved.
-- KEYS[1] record
-- ARGV    1 from  2 to  3 outcome  4 request
-- returns {mark, 1 when this request moved it}; a mark of -1 means that there is none
local r = redis.call('HMGET', KEYS[1], 'mark', 'settled')
if not r[1] then
  return {-1, 0}
end
if tonumber(r[1]) >= tonumber(ARGV[2]) and remembered(KEYS[1], r[2], ARGV[2], '-' .. ARGV[4]) then
  return {tonumber(r[1]), 1}
end
if r[1] ~= ARGV[1] then
  return {tonumber(r[1]), 0}
end
remember(KEYS[1], r[2], ARGV[2], '-' .. ARGV[4], ARGV[3], 'mark', ARGV[2])
return {tonumber(ARGV[2]), 1}
