-- Lists the reading last written of each key of a pipeline: key, period, value.
local pipeline, name, found = take(), take(), {}
local last = redis.call('HGETALL', k('sensors:' .. pipeline))
for i = 1, #last, 2 do
  found[#found + 1] = last[i]
  found[#found + 1] = last[i + 1]
  found[#found + 1] = redis.call('HGET', k('sensor:' .. name .. ':' .. last[i]), last[i + 1])
end
return found
