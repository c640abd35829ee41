-- Finishes changes.
local group = take()
following(group)
for _ = 1, count() do redis.call('XACK', stream, group, take()) end
