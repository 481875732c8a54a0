-- Former members, for evidence of who lived when.

-- forget_old drops what is known of those who were not announced for so many ms.
local function forget_old(keys, now, keep)
  local old = redis.call('ZRANGEBYSCORE', keys[2], '-inf', int(now - keep * 1000))
  for _, holder in ipairs(old) do
    if redis.call('HEXISTS', keys[1], holder) == 0 then
      redis.call('HDEL', keys[3], holder)
      redis.call('ZREM', keys[2], holder)
    end
  end
end

-- retire makes a member a former one, of whom the newest few are kept.
local function retire(keys, holder, entry, now, keep, most)
  redis.call('HDEL', keys[1], holder)
  redis.call('HSET', keys[3], holder, string.match(entry, '^%d+ (.*)$') or '')
  forget_old(keys, now, keep)
  if redis.call('HLEN', keys[3]) > most then
    for _, other in ipairs(redis.call('ZRANGE', keys[2], 0, -1)) do
      if redis.call('HDEL', keys[3], other) == 1 then
        redis.call('ZREM', keys[2], other)
        break
      end
    end
  end
  redis.call('PEXPIRE', keys[3], keep)
end
