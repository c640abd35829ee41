-- Gives tasks back whose leases are still held.
local at, some = clock(take()), false
for _ = 1, count() do
  local t = holds(take(), take(), at)
  if t then
    lapse(t)
    some = true
  end
end
wake(some and 't' or '')
