-- Finds old writes that are not needed, going on after a write of a key: name, id, period, and whether it is the current one of
-- its period. The first two answers are where it stopped, before a name if no write of it is told; no name if that was the end. It
-- goes on to another key until it has looked at so many writes.
local cutoff, limit, looks, from, after = take(), count(), count(), take(), take()
local found, looked = {}, 0

local function look(name, start)
  local last = redis.call('XREVRANGE', k('history:' .. name), '+', '-', 'COUNT', 1)[1]
  while last do
    local some, old = redis.call('XRANGE', k('history:' .. name), start, '+', 'COUNT', 100), false
    looked = looked + #some
    for _, entry in ipairs(some) do
      local id, period, at = entry[1], entry[2][2], entry[2][4]
      if at < cutoff then
        old = true
        local value = redis.call('HGET', k('sensor:' .. name), period)
        local current = value and string.match(value, '^%d+') .. '-0' == id
        if id ~= last[1] and not (current and period == '') then
          found[#found + 1] = { name, id, period, current and '1' or '0' }
          if #found == limit then return id end
        end
      end
    end
    if not old or #some < 100 then return nil end
    start = '(' .. some[#some][1]
  end
end

local lower = from == '' and '-' or '[' .. from
while true do
  local names = redis.call('ZRANGEBYLEX', k('sensornames'), lower, '+', 'LIMIT', 0, 100)
  for _, name in ipairs(names) do
    if looked >= looks then return { name, '', found } end
    local stopped = look(name, name == from and after ~= '' and '(' .. after or '-')
    if stopped then return { name, stopped, found } end
  end
  if #names < 100 then return { '', '', found } end
  lower = '(' .. names[#names]
end
