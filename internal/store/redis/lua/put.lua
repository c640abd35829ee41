-- Stores readings. The value of one is "{version}\n{order}\n{at}\n{extra}\n{data}"; equal data is equal text.
local unordered, answer, some = take(), {}, ''
for _ = 1, count() do
  local now, pipeline, name, key, period, place, order, extra, data = take(), take(), take(), take(), take(), take(), take(), take(), take()
  local old = redis.call('HGET', k('sensor:' .. name), period)
  local version, old_order, at, old_data
  if old then version, old_order, at, old_data = string.match(old, '^(%d+)\n(%d+)\n(%d+)\n[^\n]*\n(.*)$') end
  if old and order ~= unordered and order <= old_order then
    answer[#answer + 1] = { version, at, '0', '1' }
  else
    if old and order == unordered then order = old_order end
    version = counted('version')
    local changed = old_data == data and '0' or '1'
    redis.call('HSET', k('sensor:' .. name), period, table.concat({ version, order, now, extra, data }, '\n'))
    if not old and period ~= '' then redis.call('ZADD', k('periods:' .. name), 0, place .. period) end
    redis.call('HSET', k('sensors:' .. pipeline), key, period)
    redis.call('XADD', k('history:' .. name), version .. '-0', 'period', period, 'at', now, 'extra', extra, 'data', data)
    if not old then redis.call('ZADD', k('sensornames'), 0, name) end
    feed('kind', 'reading', 'at', now, 'pipeline', pipeline, 'version', version, 'sensor', key, 'period', period, 'changed', changed)
    answer[#answer + 1] = { version, now, changed, '0' }
    some = 'c'
  end
end
wake(some)
return answer
