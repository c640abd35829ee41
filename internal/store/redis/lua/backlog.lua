-- Counts what a group has not finished, and gives the oldest of it.
local group = take()
local first = redis.call('XRANGE', stream, '-', '+', 'COUNT', 1)[1]
if not first then return { 0, '' } end
local last = tonumber(redis.call('GET', k('counter:position')))
local place, pending, oldest = position(first[1]) - 1, 0, nil
for _, g in ipairs(groups()) do
  if g.name == group then
    place = math.max(place, position(g['last-delivered-id']))
    pending, oldest = g.pending, unfinished(g)
  end
end
if pending == 0 and last > place then oldest = string.format('%.0f-0', place + 1) end
if not oldest then return { 0, '' } end
return { last - place + pending, info(redis.call('XRANGE', stream, oldest, oldest)[1][2]).at }
