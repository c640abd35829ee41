-- Tasks and the leases on them. A task is a hash; its lease is a field of the hash of its lock, "{until} {token} {instance}". It
-- has a place in two sorted sets: due, by when it is due, and tasks, by when it can be claimed.
local function load(id)
  local v = redis.call('HMGET', k('task:' .. id), 'due', 'lock', 'moved', 'replica')
  if not v[1] then return nil end
  local t = { id = id, due = v[1], lock = v[2], moved = v[3] == '1', replica = v[4], expires = NEVER, token = '', holder = '' }
  local lease = redis.call('HGET', k('lock:' .. t.lock), id)
  if lease then t.expires, t.token, t.holder = string.match(lease, '^(%d+) (%d+) (.*)$') end
  return t
end

-- filter reads the kinds of tasks that the caller asks for and the pipelines that it does not, and returns a function that says
-- whether a task is wanted. No kinds means every kind.
local function filter()
  local kinds, of = count(), {}
  for _ = 1, kinds do of[take()] = true end
  local pipelines, except = count(), {}
  for _ = 1, pipelines do except[take()] = true end
  return function(t)
    if kinds + pipelines == 0 then return true end
    local task = cjson.decode(redis.call('HGET', k('task:' .. t.id), 'json'))
    return (kinds == 0 or of[task.kind] == true) and not except[task.pipeline]
  end
end

local function claimable(t)
  if t.expires > t.due then return t.expires end
  return t.due
end

local function index(t)
  redis.call('ZADD', k('tasks'), 0, claimable(t) .. t.id)
  redis.call('ZADD', k('due'), 0, t.due .. t.id)
end

local function unindex(t)
  redis.call('ZREM', k('tasks'), claimable(t) .. t.id)
  redis.call('ZREM', k('due'), t.due .. t.id)
end

-- holds gives the task if the lease on it is still held by that instance. Tokens alone would not tell two of them apart after a
-- failover that lost the last ones given out.
local function holds(id, token, instance, at)
  local t = load(id)
  if t and t.token == token and t.holder == instance and at < t.expires then return t end
  return nil
end

-- free says that nobody holds the task: its lease has ended, or is that of an instance that no longer says that it is alive.
local function free(t, at)
  return at >= t.expires or t.holder ~= '' and redis.call('EXISTS', k('alive:' .. t.holder)) == 0
end

local function leased(t) return t.expires .. ' ' .. t.token .. ' ' .. t.holder end

-- lease gives the task to an instance, or lets it have it for longer.
local function lease(t, token, instance, expires)
  redis.call('ZREM', k('tasks'), claimable(t) .. t.id)
  t.token, t.holder, t.expires = token, instance, expires
  redis.call('HSET', k('lock:' .. t.lock), t.id, leased(t))
  redis.call('ZADD', k('tasks'), 0, claimable(t) .. t.id)
end

-- lapse ends the lease, and forgets that others stored the task meanwhile.
local function lapse(t)
  redis.call('ZREM', k('tasks'), claimable(t) .. t.id)
  redis.call('HDEL', k('lock:' .. t.lock), t.id)
  redis.call('HSET', k('task:' .. t.id), 'moved', '0')
  t.token, t.holder, t.expires, t.moved = '', '', NEVER, false
  redis.call('ZADD', k('tasks'), 0, claimable(t) .. t.id)
end

-- replace stores what a task is now. Whoever holds it goes on holding it.
local function replace(old, new, moved)
  unindex(old)
  if new.lock ~= old.lock and old.token ~= '' then
    redis.call('HDEL', k('lock:' .. old.lock), old.id)
    redis.call('HSET', k('lock:' .. new.lock), old.id, leased(old))
  end
  old.due, old.lock, old.moved = new.due, new.lock, moved
  redis.call('HSET', k('task:' .. new.id), 'json', new.json, 'due', new.due, 'replica', new.replica, 'lock', new.lock,
    'moved', moved and '1' or '0')
  index(old)
end

local function remove(t)
  unindex(t)
  redis.call('HDEL', k('lock:' .. t.lock), t.id)
  redis.call('DEL', k('task:' .. t.id))
end

-- settle stores a task. What others ask of a task while it is held is not lost to its holder.
local function settle(new, own)
  local old = load(new.id)
  if not old then
    redis.call('HSET', k('task:' .. new.id), 'json', new.json, 'due', new.due, 'replica', new.replica, 'lock', new.lock, 'moved', '0')
    index({ id = new.id, due = new.due, expires = NEVER })
    return
  end
  if not own then
    replace(old, new, true)
    return
  end
  if not old.moved or new.due < old.due then replace(old, new, false) end
  lapse(old)
end

-- finish takes a task away, unless its holder finishes what others have asked for since.
local function finish(id, own)
  local t = load(id)
  if not t then return end
  if own and t.moved then lapse(t) else remove(t) end
end
