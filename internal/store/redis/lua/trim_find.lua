-- Finds old writes of keys that are spent, going on after a write of the first key: key, id, period, and whether it is the current
-- one of its period. Before them stands how many keys were looked through, and the write of the next one where it stopped. Writes
-- stand in the order of their instants, but for those from after now, which were made while a clock was ahead: they are passed over.
local cutoff, now, limit, looks, after = take(), take(), count(), count(), take()
local found, looked, names = {}, 0, {}
for i = 1, count() do names[i] = take() end
for i, name in ipairs(names) do
  local last, go_on = newest(name), true
  while go_on do
    local some = redis.call('XRANGE', k('history:' .. name), after == '' and '-' or '(' .. after, '+', 'COUNT', 100)
    go_on = false
    for _, entry in ipairs(some) do
      after = entry[1]
      local period, at, ages = written(entry)
      go_on = go_on or at < cutoff or at > now
      if ages < cutoff then
        local may, is = spent(name, last, after, period)
        if may then
          found[#found + 1] = { name, after, period, is and '1' or '0' }
          if #found == limit then return { i - 1, after, found } end
        end
      end
    end
    go_on = go_on and #some == 100
    looked = looked + #some
    if go_on and looked >= looks then return { i - 1, after, found } end
  end
  after = ''
  if looked >= looks then return { i, '', found } end
end
return { #names, '', found }
