-- Most settles: the grant is current, nothing else is open, nobody waits, and nothing was cancelled. The rest is below.
local first = redis.call('HMGET', KEYS[1], 'open', 'settled', 'wait', 'check', 'gap_to', 'cancels')
local open = first[1]
if open and ARGV[3] ~= '' and not first[3] and not first[6] then
  local settled = tonumber(first[2] or '0')
  local start = ARGV[1] .. ' ' .. ARGV[2] .. ' '
  local mine = start .. ARGV[4] .. ' '
  if string.sub(open, 1, #mine) == mine and string.find(open, '\n', 1, true) == #open and ARGV[1] ~= '0' and
    settled >= tonumber(first[4] or '0') and tonumber(ARGV[1]) > tonumber(first[5] or '0') then
    local t = redis.call('TIME')
    redis.call('HSET', KEYS[1], 'open', '', 'settled', settled + 1, 'settled:' .. settled % 128, start .. ARGV[3] .. ' ' ..
      t[1] .. string.sub('00000' .. t[2], -6) .. ' ' .. ARGV[4] .. ' 0 ' .. ARGV[5] .. ' ' .. ARGV[6])
    return 1
  end
end
