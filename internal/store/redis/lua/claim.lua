-- Claims due tasks that nobody holds, longest due first; or the one that is named.
local leases_at, instance, now, expires, micros = take(), take(), take(), take(), tonumber(take())
local replica, lost, named, limit = take(), take(), take(), count()
local wanted = filter()
local at = clock(leases_at)
if expires == '' then expires = later(at, micros) end

local claims = {}
local function claim(t)
  lease(t, counted('token'), instance, expires)
  redis.call('HSET', k('task:' .. t.id), 'moved', '0')
  claims[#claims + 1] = redis.call('HGET', k('task:' .. t.id), 'json')
  claims[#claims + 1] = t.token
end

if named ~= '' then
  local t = load(named)
  if t and limit > 0 and free(t, at) then claim(t) end
  return claims
end
local seen, step = 0, 100
while #claims < 2 * limit do
  local some = redis.call('ZRANGEBYLEX', k('due'), '-', '[' .. now .. '\255', 'LIMIT', seen, step)
  for _, member in ipairs(some) do
    if #claims == 2 * limit then break end
    local t = load(string.sub(member, 20))
    if wanted(t) and (t.replica == '' or t.replica == replica or t.due <= lost) and free(t, at) then claim(t) end
  end
  if #some < step then break end
  seen = seen + step
end
return claims
