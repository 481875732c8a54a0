-- pass: settle every occasion from one to another that nobody runs, provided that the mark has not moved.
-- KEYS[1] record
-- ARGV    1 from  2 to  3 outcome  4 request  5 holder  6 note
--         7 the latest time at which it holds, ms (0: no bound)
-- returns {mark, 1 when this request moved it}; a mark of -1 means that there is none
local stamp, now = clock()
if late(ARGV[7], now) then
  return out_of_bounds(stamp)
end
local r = read(KEYS[1])
if not r.mark then
  return {-1, 0}
end
if tonumber(r.mark) >= tonumber(ARGV[2]) and remembered(r, ARGV[2], '-' .. ARGV[4]) then
  return {tonumber(r.mark), 1}
end
if r.mark ~= ARGV[1] then
  return {tonumber(r.mark), 0}
end
remember(r, ARGV[2], '-' .. ARGV[4], ARGV[3], stamp, 0, ARGV[1], ARGV[5], ARGV[6], 'mark', ARGV[2])
return {tonumber(ARGV[2]), 1}
