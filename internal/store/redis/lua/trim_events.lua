-- Forgets old events that every cursor has passed. They stand nearly in the order of their times: it looks so far aside for
-- those that were told while a clock was behind.
local cutoff, limit, aside = take(), count(), count()
local lowest
for _, at in ipairs(redis.call('HVALS', k('cursors'))) do
  if not lowest or tonumber(at) < lowest then lowest = tonumber(at) end
end
local from, forgot, young = '-', 0, 0
while young < aside do
  local some = redis.call('XRANGE', k('events'), from, '+', 'COUNT', 100)
  for _, entry in ipairs(some) do
    local id, e = entry[1], {}
    if forgot == limit or lowest and tonumber(string.match(id, '^%d+')) > lowest then return forgot end
    for i = 1, #entry[2], 2 do e[entry[2][i]] = entry[2][i + 1] end
    if e.at < cutoff then
      redis.call('XDEL', k('events'), id)
      if e.pipeline ~= '' then redis.call('XDEL', k('events:' .. e.pipeline), id) end
      redis.call('HDEL', k('eventids'), e.id)
      forgot = forgot + 1
    else
      young = young + 1
    end
  end
  if #some == 0 then break end
  from = '(' .. some[#some][1]
end
return forgot
