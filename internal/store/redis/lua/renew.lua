-- Extends leases that are still held, and says which, by their place in the question.
local at, expires, micros = clock(take()), take(), tonumber(take())
if expires == '' then expires = later(at, micros) end
local held = {}
for i = 1, count() do
  local t = holds(take(), take(), at)
  if t then
    lease(t, t.token, expires)
    held[#held + 1] = i
  end
end
return held
