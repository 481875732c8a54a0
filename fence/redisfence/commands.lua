-- commands: run commands.
-- ARGV, for each: how many words it has, and its words
-- returns their replies, false for a reply that is nil
local replies, at = {}, 1
while at <= #ARGV do
  local words = {}
  for i = 1, tonumber(ARGV[at]) do
    words[i] = ARGV[at + i]
  end
  replies[#replies + 1] = redis.call(unpack(words)) or false
  at = at + 1 + #words
end
return replies
