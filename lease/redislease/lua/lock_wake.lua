-- wake notifies those who listen whose turn it is. It is not allowed everywhere, and nothing depends on it. On Cluster the
-- channel is one that only the server of this slot and its replicas know of. SHARDED is of the source before this one.
local function wake(l, woken)
  if woken then
    local shard, namespace, name = string.match(l.key, '^(solotick:{(.+)/%d+}:)lock:(.+)$')
    table.insert(woken, 1, name)
    if SHARDED then
      redis.pcall('SPUBLISH', shard .. 'line', table.concat(woken, ' '))
    else
      redis.pcall('PUBLISH', 'solotick:' .. namespace .. ':line', table.concat(woken, ' '))
    end
  end
end
