-- Lists how long the reading last written of each key of a pipeline is: key, length.
local pipeline, name, found = take(), take(), {}
local last = redis.call('HGETALL', k('sensors:' .. pipeline))
for i = 1, #last, 2 do
  found[#found + 1] = last[i]
  found[#found + 1] = tostring(redis.call('HSTRLEN', k('sensor:' .. name .. ':' .. last[i]), last[i + 1]))
end
return found
