-- fence: let a script run only under the newest fencing token of its resource.
-- KEYS[...] those of the script, and last the key of the newest token
-- ARGV[...] those of the script, and last two: token, for how many ms to remember it; 0: for ever
-- returns what the script returns; or the error 'SOLOTICKSTALE newest', when nothing is written
local keys, argv, token_key, token, expiry = {}, {}, KEYS[#KEYS], ARGV[#ARGV - 1], ARGV[#ARGV]
for i = 1, #KEYS - 1 do
  keys[i] = KEYS[i]
end
for i = 1, #ARGV - 2 do
  argv[i] = ARGV[i]
end
local newest = redis.call('GET', token_key)
if newest and tonumber(newest) > tonumber(token) then
  return redis.error_reply('SOLOTICKSTALE ' .. newest)
end
if expiry == '0' then
  redis.call('SET', token_key, token)
else
  redis.call('SET', token_key, token, 'PX', expiry)
end
