-- Forgets writes that were found to be old, unless they are needed by now, and lists their keys anew; -1 if a run was opened since
-- it was looked which periods are open, if it was.
local opened, now, forgot = take(), take(), 0
if opened ~= '' and (redis.call('GET', k('counter:opened')) or '0') ~= opened then return -1 end
for _ = 1, count() do
  local name, id, period, place = take(), take(), take(), take()
  local may, is = spent(name, newest(name), id, period)
  if may then
    forgot = forgot + redis.call('XDEL', k('history:' .. name), id)
    if is then
      redis.call('HDEL', k('sensor:' .. name), period)
      redis.call('ZREM', k('periods:' .. name), place .. period)
    end
  end
end
-- first is the instant that the first spent write of a key ages from. What is written later ages later, but for what was written
-- while a clock was ahead.
local function first(name)
  local last, from, least = newest(name), '-', nil
  while true do
    local some = redis.call('XRANGE', k('history:' .. name), from, '+', 'COUNT', 100)
    for _, entry in ipairs(some) do
      local period, at, ages = written(entry)
      if least and at <= now and at >= least then return least end
      if spent(name, last, entry[1], period) and (not least or ages < least) then least = ages end
    end
    if #some < 100 then return least end
    from = '(' .. some[#some][1]
  end
end
for _ = 1, count() do
  local name = take()
  list(name, first(name))
end
return forgot
