-- names: list keys of a job. They are in a sorted set of texts, in order: see list_name in lua/values.lua.
-- KEYS    one for each tag
-- ARGV    1 from where on  2 up to where  3 how many texts at most
-- returns of each the text that the first may be in, and those behind it
local list, from = {}, ARGV[1] .. '\n\255'
for i, key in ipairs(KEYS) do
  list[2 * i - 1] = redis.call('ZRANGE', key, '[' .. from, '-', 'BYLEX', 'REV', 'LIMIT', 0, 1)
  list[2 * i] = redis.call('ZRANGE', key, '(' .. from, '(' .. ARGV[2], 'BYLEX', 'LIMIT', 0, ARGV[3])
end
return list
