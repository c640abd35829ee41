-- Gives a piece of the events of a pipeline, or of all: position and event.
local pipeline, command, from, to, limit = take(), take(), take(), take(), take()
local stream = pipeline == '' and 'events' or 'events:' .. pipeline
local found = {}
for _, entry in ipairs(redis.call(command, k(stream), from, to, 'COUNT', limit)) do
  local fields = {}
  for i = 1, #entry[2], 2 do fields[entry[2][i]] = entry[2][i + 1] end
  if not fields.json then
    fields.json = redis.call('XRANGE', k('events:' .. fields.pipeline), entry[1], entry[1])[1][2][2]
  end
  found[#found + 1] = entry[1]
  found[#found + 1] = fields.json
end
return found
