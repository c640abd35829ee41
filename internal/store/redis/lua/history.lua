-- What is known of the writes of a key, which is "{pipeline}:{key}". A write is spent once it is neither the last of its key nor the
-- current undated one: only then may it be forgotten. The sorted set aging holds each key that has spent writes, by an instant
-- that is not after the first of them ages from; oldest says which.

-- list sets that instant, or takes the key out.
local function list(name, at)
  local was = redis.call('HGET', k('oldest'), name)
  if was == at then return end
  if was then redis.call('ZREM', k('aging'), was .. name) end
  if at then
    redis.call('HSET', k('oldest'), name, at)
    redis.call('ZADD', k('aging'), 0, at .. name)
  else
    redis.call('HDEL', k('oldest'), name)
  end
end

-- written reads an entry: its period, when it was written, and the instant that its retention counts from, which is not sooner.
local function written(entry)
  local fields = entry[2]
  return fields[2], fields[4], fields[10] or fields[4]
end

-- current says whether an entry is the current one of its period.
local function current(name, id, period)
  local value = redis.call('HGET', k('sensor:' .. name), period)
  return value and string.match(value, '^%d+') .. '-0' == id
end

-- newest is the id of the last write of a key.
local function newest(name)
  local last = redis.call('XREVRANGE', k('history:' .. name), '+', '-', 'COUNT', 1)[1]
  return last and last[1]
end

-- spent says whether an entry may be forgotten, and whether it is the current one of its period.
local function spent(name, last, id, period)
  local is = current(name, id, period)
  return id ~= last and not (is and period == ''), is
end
