-- since: say what this server's time is, and since when it remembers this namespace.
-- KEYS[1] the namespace's key  [2] its triggers
-- ARGV    1 the format of the caller  2 since when it wants to know what was triggered, us; empty: not at all
-- returns {now, since, {names and occasions}}, or {now, the format that is there, {}}, as text
local _, now = clock()
local since = memory(KEYS[1], ARGV[1], now)
if type(since) == 'table' then
  return since
end
return {now, since, noted(KEYS[2], ARGV[2])}
