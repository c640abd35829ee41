-- Extends leases that are still held, and says which, by their place in the question.
local at, instance, expires, micros = clock(take()), take(), take(), tonumber(take())
if expires == '' then expires = later(at, micros) end
local held = {}
for i = 1, count() do
  local t = holds(take(), take(), instance, at)
  if t then
    lease(t, t.token, instance, expires)
    held[#held + 1] = i
  end
end
return held
