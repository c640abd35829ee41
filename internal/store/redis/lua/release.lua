-- Gives tasks back whose leases are still held.
local at, instance, some = clock(take()), take(), false
for _ = 1, count() do
  local t = holds(take(), take(), instance, at)
  if t then
    lapse(t)
    some = true
  end
end
wake(some and 't' or '')
