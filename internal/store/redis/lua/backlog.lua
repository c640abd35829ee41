-- Counts the changes that a group has not acknowledged. The answer is that and the oldest of them.
local group, handed, pending, oldest = take(), '0-0', 0, nil
for _, g in ipairs(groups()) do
  if g.name == group then handed, pending, oldest = g['last-delivered-id'], g.pending, unacknowledged(g) end
end
local first, n = redis.call('XRANGE', changes, '(' .. handed, '+', 'COUNT', 1)[1], pending
if first then n = pending + tonumber(redis.call('GET', k('counter:change'))) - tonumber(first[2][6]) + 1 end
if oldest then first = redis.call('XRANGE', changes, oldest, oldest)[1] end
return first and texts({ tostring(n) }, first) or { '0' }
