-- Forgets writes that were found to be old, unless they are needed by now; -1 if a run was opened since it was looked which
-- periods are open.
local opened, forgot = take(), 0
if (redis.call('GET', k('counter:opened')) or '0') ~= opened then return -1 end
for _ = 1, count() do
  local name, id, period, place = take(), take(), take(), take()
  local last = redis.call('XREVRANGE', k('history:' .. name), '+', '-', 'COUNT', 1)[1]
  local value = redis.call('HGET', k('sensor:' .. name), period)
  local current = value and string.match(value, '^%d+') .. '-0' == id
  if last and last[1] ~= id and not (current and period == '') then
    forgot = forgot + redis.call('XDEL', k('history:' .. name), id)
    if current then
      redis.call('HDEL', k('sensor:' .. name), period)
      redis.call('ZREM', k('periods:' .. name), place .. period)
    end
  end
end
return forgot
