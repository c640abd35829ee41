-- Returns the instant from which a replica can claim the next task of the given kinds, or nothing if there is no such task.
local replica, micros = take(), tonumber(take())
local wanted = filter()
local next, seen, step = nil, 0, 100
while true do
  local some = redis.call('ZRANGE', k('tasks'), seen, seen + step - 1)
  for _, member in ipairs(some) do
    local at = string.sub(member, 1, 19)
    if next and at >= next then return { next } end
    local t = load(string.sub(member, 20))
    if wanted(t) then
      if t.replica ~= '' and t.replica ~= replica then
        local lost = later(t.due, micros)
        if lost > at then at = lost end
      end
      if not next or at < next then next = at end
    end
  end
  if #some < step then return { next } end
  seen = seen + step
end
