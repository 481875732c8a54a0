-- wake, on Cluster, tells it on a channel of the lock's own, which only this server and its replicas know of.
local function wake(l, woken)
  if woken then
    redis.pcall('SPUBLISH', string.sub(l.key, 1, -6) .. ':told', table.concat(woken, ' '))
  end
end
