-- wake tells those who listen whose turn it is. It is not allowed everywhere, and nothing depends on it.
local function wake(l, woken)
  if woken then
    local namespace, name = string.match(l.key, '{([^:]+):(.+)}')
    table.insert(woken, 1, name)
    redis.pcall('PUBLISH', 'solotick:' .. namespace .. ':line', table.concat(woken, ' '))
  end
end
