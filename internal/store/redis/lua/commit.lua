-- A Batch: all of it is read and looked at before anything is written.
local leases_at, instance, now, commit, life, shown = take(), take(), take(), k('commit:' .. take()), take(), take()
local lease_task, lease_token = take(), take()
local hold_task, hold_until, hold_micros = take(), take(), take()
local at = clock(leases_at)

-- A Batch is remembered with the token of the lease that came with it, if one did.
local came_with = redis.call('GET', commit)
if came_with then
  if hold_task ~= '' and holds(hold_task, came_with, instance, at) then return { 'taken', came_with } end
  return { 'taken' }
end

-- Each kind of record that is swapped by version has its own further arguments.
local further = {
  run = { 'key', 'pipeline', 'status', 'attempt', 'open', 'snapshot', 'listed', 'opened', 'verdict', 'apart' },
  dry = { 'key', 'open', 'updated' },
  pipeline = { 'key' },
  expected = {},
  deadline = { 'pipeline', 'listed' },
  baseline = {},
  note = { 'of', 'key', 'expires' },
}
local swaps = {}
for i = 1, count() do
  local s = { kind = take(), name = take(), read = take(), version = take(), json = take() }
  for _, field in ipairs(further[s.kind]) do s[field] = take() end
  swaps[i] = s
end

local adds = {}
local arguments = { config = 3, told = 5, snapshot = 5, mark = 2, dead = 3, buried = 2 }
for i = 1, count() do
  local a = { kind = take() }
  for n = 1, arguments[a.kind] do a[n] = take() end
  adds[i] = a
end
local events = {}
for i = 1, count() do events[i] = { id = take(), pipeline = take(), at = take(), json = take() } end
local stored = {}
for i = 1, count() do stored[i] = { id = take(), json = take(), due = take(), replica = take(), lock = take() } end
local finished = {}
for i = 1, count() do finished[i] = take() end

if lease_task ~= '' and not holds(lease_task, lease_token, instance, at) then
  return { 'conflict', 'the lease on task ' .. lease_task .. ' is lost' }
end
if hold_task ~= '' then
  local t = load(hold_task)
  if t and not free(t, at) then return { 'conflict', 'task ' .. hold_task .. ' is held' } end
end
for _, s in ipairs(swaps) do
  local v = redis.call('HMGET', k(s.name), 'version', 'status', 'attempt', 'open', 'listed', 'apart', 'snapshot')
  local version = v[1] or '0'
  if version ~= s.read then
    return { 'conflict', s.name .. ' is at version ' .. version .. ', was read at ' .. s.read }
  end
  s.before = { status = v[2], attempt = v[3], open = v[4], listed = v[5], apart = v[6] or '', snapshot = v[7] }
end
for _, a in ipairs(adds) do
  if a.kind == 'mark' and redis.call('EXISTS', k('mark:' .. a[1])) == 1 then
    return { 'conflict', 'mark ' .. a[1] .. ' is set' }
  end
end

-- From here on it happens.
local token = hold_task ~= '' and counted('token') or ''
redis.call('SET', commit, token, 'PX', life)
local woken = { c = false, e = false, t = false }

-- age lists by its age what is told of a pipeline's runs.
local function age(pipeline, member)
  redis.call('ZADD', k('runlogs:' .. pipeline), 0, member)
  redis.call('ZADD', k('logged'), 0, pipeline)
end

local apply = {}

function apply.run(s)
  local before = s.before
  redis.call('HSET', k(s.name), 'version', s.version, 'json', s.json, 'status', s.status, 'attempt', s.attempt, 'open', s.open,
    'snapshot', s.snapshot, 'apart', s.apart)
  -- Of the snapshots only those that their runs no longer refer to are listed by their age.
  if s.snapshot ~= before.snapshot and (before.listed or '') ~= '' then
    age(s.pipeline, before.listed)
    redis.call('HDEL', k(s.name), 'listed')
  end
  if s.apart ~= before.apart then
    for _, list in ipairs({ '', ':' .. s.pipeline }) do
      if before.apart ~= '' then redis.call('ZREM', k('ended:' .. before.apart .. list), s.listed) end
      if s.apart ~= '' then redis.call('ZADD', k('ended:' .. s.apart .. list), 0, s.listed) end
    end
  end
  if s.verdict ~= '' then
    local gate, at = string.match(s.verdict, '^(%S+) (%S+)$')
    redis.call('HSET', k('readiness:' .. s.pipeline), 'run', s.key, 'attempt', s.attempt, 'gate', gate, 'at', at)
    redis.call('PEXPIRE', k('readiness:' .. s.pipeline), shown)
  end
  if s.read == '0' then
    redis.call('ZADD', k('runs'), 0, s.listed)
    redis.call('ZADD', k('runs:' .. s.pipeline), 0, s.listed)
  end
  if s.open == '1' and before.open ~= '1' then
    redis.call('ZADD', k('open'), 0, s.opened)
    redis.call('ZADD', k('open:' .. s.pipeline), 0, s.opened)
    counted('opened')
  elseif s.open ~= '1' and before.open == '1' then
    redis.call('ZREM', k('open'), s.opened)
    redis.call('ZREM', k('open:' .. s.pipeline), s.opened)
  end
  if s.status ~= before.status or s.attempt ~= before.attempt then
    feed('kind', 'run', 'at', now, 'pipeline', s.pipeline, 'version', s.version, 'run', s.key, 'status', s.status, 'attempt', s.attempt)
    woken.c = true
  end
end

function apply.dry(s)
  local ended = s.open == '1' and '' or s.updated .. s.key
  redis.call('HSET', k(s.name), 'version', s.version, 'json', s.json, 'open', s.open, 'listed', ended)
  if (s.before.listed or '') ~= '' then redis.call('ZREM', k('dryruns:ended'), s.before.listed) end
  if s.open == '1' then
    if redis.call('SADD', k('dryruns:open'), s.key) == 1 then counted('opened') end
  else
    redis.call('SREM', k('dryruns:open'), s.key)
    redis.call('ZADD', k('dryruns:ended'), 0, ended)
  end
end

function apply.pipeline(s)
  redis.call('HSET', k(s.name), 'version', s.version, 'json', s.json)
  redis.call('SADD', k('pipelines'), s.key)
end

function apply.expected() end

function apply.deadline(s)
  redis.call('HSET', k(s.name), 'version', s.version, 'json', s.json, 'listed', s.listed)
  if s.before.listed and s.before.listed ~= s.listed then
    redis.call('ZREM', k('deadlines'), s.before.listed)
    redis.call('ZREM', k('deadlines:' .. s.pipeline), s.before.listed)
  end
  redis.call('ZADD', k('deadlines'), 0, s.listed)
  redis.call('ZADD', k('deadlines:' .. s.pipeline), 0, s.listed)
end

function apply.baseline(s)
  redis.call('HSET', k(s.name), 'version', s.version, 'json', s.json)
end

function apply.note(s)
  local listed = s.expires ~= '' and s.expires .. 'n' .. s.of .. ':' .. s.key or ''
  redis.call('HSET', k(s.name), 'version', s.version, 'json', s.json, 'listed', listed)
  redis.call('ZADD', k('notes:' .. s.of), 0, s.key)
  if (s.before.listed or '') ~= '' then redis.call('ZREM', k('expiring'), s.before.listed) end
  if listed ~= '' then redis.call('ZADD', k('expiring'), 0, listed) end
end

-- What never changes once it is there.
local add = {}

function add.config(a) redis.call('HSETNX', k('config:' .. a[1]), a[2], a[3]) end

function add.told(a)
  if redis.call('HEXISTS', k(a[1]), a[2]) == 1 then return end
  redis.call('HSET', k(a[1]), a[2], counted('told') .. '\n' .. a[3])
  age(a[4], a[5])
end

function add.snapshot(a)
  if redis.call('SETNX', k('snapshot:' .. a[1]), a[2]) == 0 then return end
  if redis.call('HGET', k('run:' .. a[5]), 'snapshot') == a[1] then
    redis.call('HSET', k('run:' .. a[5]), 'listed', a[4])
  else
    age(a[3], a[4])
  end
end

function add.mark(a)
  redis.call('SET', k('mark:' .. a[1]), a[2])
  if a[2] ~= '' then redis.call('ZADD', k('expiring'), 0, a[2] .. 'm' .. a[1]) end
end

function add.dead(a)
  redis.call('HSET', k('dead:' .. a[1]), a[2], a[3])
  redis.call('SADD', k('dead'), a[1])
end

function add.buried(a)
  redis.call('HDEL', k('dead:' .. a[1]), a[2])
  if redis.call('EXISTS', k('dead:' .. a[1])) == 0 then redis.call('SREM', k('dead'), a[1]) end
end

-- Runs come before pipelines in the feed; nothing else in it is a swap.
for _, s in ipairs(swaps) do apply[s.kind](s) end
for _, s in ipairs(swaps) do
  if s.kind == 'pipeline' then
    feed('kind', 'pipeline', 'at', now, 'pipeline', s.key, 'version', s.version)
    woken.c = true
  end
end
for _, a in ipairs(adds) do add[a.kind](a) end
if #events > 0 then raise_events() end
for _, e in ipairs(events) do
  if redis.call('HEXISTS', k('eventids'), e.id) == 0 then
    local position = counted('event')
    redis.call('HSET', k('eventids'), e.id, position)
    if e.pipeline == '' then
      redis.call('XADD', k('events'), position .. '-0', 'id', e.id, 'at', e.at, 'pipeline', '', 'json', e.json)
    else
      redis.call('XADD', k('events'), position .. '-0', 'id', e.id, 'at', e.at, 'pipeline', e.pipeline)
      redis.call('XADD', k('events:' .. e.pipeline), position .. '-0', 'json', e.json)
    end
    woken.e = true
  end
end
for _, t in ipairs(stored) do settle(t, t.id == lease_task) end
for _, id in ipairs(finished) do finish(id, id == lease_task) end
if token ~= '' then
  lease(load(hold_task), token, instance, hold_until ~= '' and hold_until or later(at, tonumber(hold_micros)))
  redis.call('HSET', k('task:' .. hold_task), 'moved', '0')
end
woken.t = #stored + #finished > 0

wake((woken.c and 'c' or '') .. (woken.e and 'e' or '') .. (woken.t and 't' or ''))
return { 'ok', token }
