-- Gives changes to a consumer: first those that consumers held who are gone, then new ones. A consumer is
-- "{instance}/{name}", and is gone if its instance no longer says that it is alive.
local group, instance, name, limit = take(), take(), take(), count()
following(group)
local me = instance .. '/' .. name

local left = {}
for _, list in ipairs(redis.call('XINFO', 'CONSUMERS', stream, group)) do
  local c = info(list)
  local of = string.match(c.name, '^[^/]*')
  if of ~= instance and redis.call('EXISTS', k('alive:' .. of)) == 0 then
    if c.pending == 0 then
      redis.call('XGROUP', 'DELCONSUMER', stream, group, c.name)
    else
      for _, p in ipairs(redis.call('XPENDING', stream, group, '-', '+', limit, c.name)) do left[#left + 1] = p[1] end
    end
  end
end
table.sort(left, function(a, b) return position(a) < position(b) end)

local given = {}
if #left > 0 then
  given = redis.call('XCLAIM', stream, group, me, 0, unpack(left, 1, math.min(#left, limit)))
end
if #given < limit then
  local new = redis.call('XREADGROUP', 'GROUP', group, me, 'COUNT', limit - #given, 'STREAMS', stream, '>')
  if new then
    for _, entry in ipairs(new[1][2]) do given[#given + 1] = entry end
  end
end
return given
