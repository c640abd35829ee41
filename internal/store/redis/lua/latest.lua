-- Lists the reading last written of each of these keys of a pipeline: key, period, value.
local pipeline, name, found = take(), take(), {}
for key in take do
  local period = redis.call('HGET', k('sensors:' .. pipeline), key)
  found[#found + 1] = key
  found[#found + 1] = period
  found[#found + 1] = redis.call('HGET', k('sensor:' .. name .. ':' .. key), period)
end
return found
