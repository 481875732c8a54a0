-- Times are microseconds of this server's clock. Numbers are written in full, since Lua would print a token as 1.79e15.

local function int(n)
  return string.format('%.0f', n)
end

-- clock returns the time as text, and as a number.
local function clock()
  local t = redis.call('TIME')
  local stamp = t[1] .. string.sub('00000' .. t[2], -6)
  return stamp, tonumber(stamp)
end
