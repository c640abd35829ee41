-- Hands changes to a consumer: first those of consumers that are gone, then new ones. A consumer is
-- "{instance}/{name}", and is gone if its instance is not alive. With "again" it hands out those
-- that the consumer holds, in case their answer was lost.
local group, instance, name, limit, again = take(), take(), take(), count(), take()
join(group)
local me = instance .. '/' .. name
local answer = {}
if again ~= '' then
  for _, p in ipairs(redis.call('XPENDING', changes, group, '-', '+', limit, me)) do
    texts(answer, redis.call('XRANGE', changes, p[1], p[1])[1])
  end
  return answer
end

local left, now = {}, math.floor(micros() / 1000)
for _, list in ipairs(redis.call('XINFO', 'CONSUMERS', changes, group)) do
  local c = info(list)
  local of = string.match(c.name, '^[^/]*')
  local alive = of == instance or tonumber(redis.call('ZSCORE', k('alive'), of) or '0') >= now
  if not alive and c.pending == 0 then
    redis.call('XGROUP', 'DELCONSUMER', changes, group, c.name)
  elseif not alive then
    for _, p in ipairs(redis.call('XPENDING', changes, group, '-', '+', limit, c.name)) do left[#left + 1] = p[1] end
  end
end
table.sort(left, function(a, b) return number(a) < number(b) end)
local claimed = #left > 0 and redis.call('XCLAIM', changes, group, me, 0, unpack(left, 1, math.min(#left, limit))) or {}
for _, entry in ipairs(claimed) do texts(answer, entry) end
if #claimed < limit then
  local new = redis.call('XREADGROUP', 'GROUP', group, me, 'COUNT', limit - #claimed, 'STREAMS', changes, '>')
  for _, entry in ipairs(new and new[1][2] or {}) do texts(answer, entry) end
end
return answer
