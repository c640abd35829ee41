-- A transaction: it reads and checks everything before it writes anything. The answer is the number
-- of the op whose condition does not hold, from 0, or '' and the topics that it woke: c changes, e
-- events, t tasks.
local OP = { 'action', 'condition', 'kind', 'part', 'key', 'version', 'body', 'places', 'change', 'wakes' }
local EVENT = { 'id', 'part', 'type', 'at', 'body' }
local instance, id, life, now = take(), take(), take(), take()
if id ~= '' and redis.call('EXISTS', k('commit:' .. id)) == 1 then return { '', '' } end

local function read(names)
  local list = {}
  for i = 1, count() do
    list[i] = {}
    for _, name in ipairs(names) do list[i][name] = take() end
  end
  return list
end

local ANY, FIRST = '-1', '-2'
local ops, events = read(OP), read(EVENT)
local logged = #events -- how many numbers the logs need
for i, op in ipairs(ops) do
  op.old = load(op.kind, op.part, op.key)
  local is = op.old and op.old.version or '0'
  if op.condition == FIRST and op.old then
    op.action, op.change, op.wakes = 'check', '', ''
  elseif op.condition ~= ANY and op.condition ~= FIRST and op.condition ~= is then
    return { tostring(i - 1) }
  end
  if op.change ~= '' then logged = logged + 1 end
end

if id ~= '' then redis.call('SET', k('commit:' .. id), '1', 'PX', life) end
local number = logged > 0 and draw(logged)
local woken = { c = '', e = '', t = '' }
for _, op in ipairs(ops) do
  if op.action == 'put' then save(op, op.old, now) end
  if op.action == 'delete' and op.old then remove(op.old) end
  if op.change ~= '' then
    local n = redis.call('INCR', k('counter:change'))
    redis.call('XADD', k('changes'), string.format('%.0f-0', number), 'at', now, 'json', op.change, 'n', n)
    number, woken.c = number + 1, 'c'
  end
  if op.wakes ~= '' then woken[op.wakes] = op.wakes end
end
for _, e in ipairs(events) do
  if redis.call('HEXISTS', k('eventids'), e.id) == 0 then
    local entry = { string.format('%.0f-0', number), { 'id', e.id, 'type', e.type, 'at', e.at, 'json', e.body } }
    local r = as_event(e.part, entry)
    redis.call('HSET', k('eventids'), e.id, r.key)
    redis.call('XADD', k('events'), entry[1], 'part', e.part)
    redis.call('XADD', stream(e.part), entry[1], unpack(entry[2]))
    relist(r, '', r.places)
    number, woken.e = number + 1, 'e'
  end
end
local topics = woken.c .. woken.e .. woken.t
if topics ~= '' then wake(topics, instance) end
return { '', topics }
