-- Acknowledges changes.
local group = take()
join(group)
for _ = 1, count() do redis.call('XACK', changes, group, take() .. '-0') end
return 0
