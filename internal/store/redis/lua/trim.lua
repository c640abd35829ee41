-- Deletes changes that every group has acknowledged, if there is a group, and counts them.
local limit, last, all = count(), math.huge, groups()
if #all == 0 then return 0 end
for _, g in ipairs(all) do
  local waiting = unacknowledged(g)
  local to = waiting and number(waiting) - 1 or number(g['last-delivered-id'])
  last = math.min(last, to)
end
local old = redis.call('XRANGE', changes, '-', string.format('%.0f', last), 'COUNT', limit)
if #old == 0 then return 0 end
return redis.call('XTRIM', changes, 'MINID', string.format('%.0f-1', number(old[#old][1])))
