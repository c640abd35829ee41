-- Forgets old events that every cursor has passed, going on after a position: how many, where it stopped, and how many young
-- events it has seen; no position if that was the end. Events are nearly in the order of their times: it looks so many young ones
-- further for those that were told while a clock was behind. Those from after now were told while a clock was ahead, and do
-- not count.
local cutoff, now, limit, aside, looks, from, young = take(), take(), count(), count(), count(), take(), count()
local lowest
for _, at in ipairs(redis.call('HVALS', k('cursors'))) do
  if not lowest or tonumber(at) < lowest then lowest = tonumber(at) end
end
local forgot, looked = 0, 0
while looked < looks do
  local some = redis.call('XRANGE', k('events'), from == '' and '-' or '(' .. from, '+', 'COUNT', 100)
  for _, entry in ipairs(some) do
    local id, e = entry[1], {}
    if lowest and tonumber(string.match(id, '^%d+')) > lowest then return { forgot, '', young } end
    for i = 1, #entry[2], 2 do e[entry[2][i]] = entry[2][i + 1] end
    if e.at < cutoff then
      redis.call('XDEL', k('events'), id)
      if e.pipeline ~= '' then redis.call('XDEL', k('events:' .. e.pipeline), id) end
      redis.call('HDEL', k('eventids'), e.id)
      forgot = forgot + 1
      if forgot == limit then return { forgot, id, young } end
    elseif e.at <= now then
      young = young + 1
      if young >= aside then return { forgot, '', young } end
    end
    from = id
  end
  if #some < 100 then return { forgot, '', young } end
  looked = looked + #some
end
return { forgot, from, young }
