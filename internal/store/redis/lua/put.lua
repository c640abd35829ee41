-- Stores readings. The value of one is "{version}\n{order}\n{at}\n{extra}\n{data}"; equal data is equal text.
local unordered, answer, some = take(), {}, ''
for _ = 1, count() do
  local now, pipeline, name, key, period, place, order, extra, data, ages = take(), take(), take(), take(), take(), take(), take(), take(), take(), take()
  local old = redis.call('HGET', k('sensor:' .. name), period)
  local version, old_order, at, old_data
  if old then version, old_order, at, old_data = string.match(old, '^(%d+)\n(%d+)\n(%d+)\n[^\n]*\n(.*)$') end
  if old and order ~= unordered and order <= old_order then
    answer[#answer + 1] = { version, at, '0', '1' }
  else
    if old and order == unordered then order = old_order end
    version = counted('version')
    local changed = old_data == data and '0' or '1'
    -- This write replaces the current one of its period, and the last one of its key.
    local last = redis.call('HGET', k('sensors:' .. pipeline), key)
    if last and last ~= '' and last ~= period then
      local then_at = string.match(redis.call('HGET', k('sensor:' .. name), last), '^%d+\n%d+\n(%d+)\n')
      if not at or then_at < at then at = then_at end
    end
    if at then
      local oldest = redis.call('HGET', k('oldest'), name)
      if not oldest or at < oldest then list(name, at) end
    end
    redis.call('HSET', k('sensor:' .. name), period, table.concat({ version, order, now, extra, data }, '\n'))
    if not old and period ~= '' then redis.call('ZADD', k('periods:' .. name), 0, place .. period) end
    redis.call('HSET', k('sensors:' .. pipeline), key, period)
    local entry = { 'period', period, 'at', now, 'extra', extra, 'data', data }
    if ages ~= now then entry[9], entry[10] = 'ages', ages end
    redis.call('XADD', k('history:' .. name), version .. '-0', unpack(entry))
    feed('kind', 'reading', 'at', now, 'pipeline', pipeline, 'version', version, 'sensor', key, 'period', period, 'changed', changed)
    answer[#answer + 1] = { version, now, changed, '0' }
    some = 'c'
  end
end
wake(some)
return answer
