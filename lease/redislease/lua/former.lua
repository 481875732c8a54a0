-- Members. KEYS of each script about them begin with:
--   [1] what each member says about itself  [2] when each was announced last, also former ones  [3] what former ones said
--   [4] when the life of each ends          [5] when a member came or went, or said something else: tells these members
--                                               from any others

-- changed notes that the members are others from now on.
local function changed(keys, stamp, keep)
  redis.call('SET', keys[5], stamp)
  redis.call('PEXPIRE', keys[5], keep)
end

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
local function retire(keys, holder, now, keep, most)
  redis.call('HSET', keys[3], holder, redis.call('HGET', keys[1], holder) or '')
  redis.call('HDEL', keys[1], holder)
  redis.call('ZREM', keys[4], holder)
  changed(keys, int(now), keep)
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

-- retire_dead makes those former members whose life has ended.
local function retire_dead(keys, now, keep, most)
  for _, holder in ipairs(redis.call('ZRANGEBYSCORE', keys[4], '-inf', int(now))) do
    retire(keys, holder, now, keep, most)
  end
end

-- join makes somebody a member for life ms, and returns what it said before, false when it was none.
local function join(keys, holder, life, info, stamp, now, keep)
  local before = redis.call('ZSCORE', keys[4], holder) and redis.call('HGET', keys[1], holder)
  if before ~= info then
    redis.call('HSET', keys[1], holder, info)
    redis.call('HDEL', keys[3], holder)
    changed(keys, stamp, keep)
  end
  redis.call('ZADD', keys[2], stamp, holder)
  redis.call('ZADD', keys[4], int(now + life * 1000), holder)
  for i = 1, 5 do -- long enough for the next to see that all are gone
    if i ~= 3 then
      redis.call('PEXPIRE', keys[i], life + keep)
    end
  end
  return before
end
