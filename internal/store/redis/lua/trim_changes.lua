-- Forgets changes that every group has passed, if there is a group.
local limit = count()
local all, first = groups(), redis.call('XRANGE', stream, '-', '+', 'COUNT', 1)[1]
if #all == 0 or not first then return 0 end
local start = position(first[1])
local place = start - 1 + limit
for _, g in ipairs(all) do
  local waiting = unfinished(g)
  place = math.min(place, waiting and position(waiting) - 1 or position(g['last-delivered-id']))
end
if place < start then return 0 end
return redis.call('XTRIM', stream, 'MINID', string.format('%.0f-0', place + 1))
