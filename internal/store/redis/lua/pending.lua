-- Gives the changes that a consumer was given and has not finished, whether or not it has heard of them.
local group, instance, name, limit = take(), take(), take(), count()
following(group)
local found = {}
for _, p in ipairs(redis.call('XPENDING', stream, group, '-', '+', limit, instance .. '/' .. name)) do
  found[#found + 1] = redis.call('XRANGE', stream, p[1], p[1])[1]
end
return found
