-- append: add a note to a journal, unless its request has done so before.
-- KEYS[1] journal
-- ARGV    1 request  2 text  3 how many notes are kept  4 for how many ms a journal is kept that nobody adds to
local stamp = clock()
local start = '^%d+ ' .. string.gsub(ARGV[1], '%p', '%%%0') .. ' '
for _, note in ipairs(redis.call('LRANGE', KEYS[1], 0, -1)) do
  if string.find(note, start) then
    return 0
  end
end
redis.call('LPUSH', KEYS[1], stamp .. ' ' .. ARGV[1] .. ' ' .. ARGV[2])
redis.call('LTRIM', KEYS[1], 0, ARGV[3] - 1)
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return 1
