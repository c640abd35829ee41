-- Lists tasks that could be claimed since before an instant, longest due first.
local before, limit = take(), count()
local found, seen, step = {}, 0, 100
while #found < limit do
  local some = redis.call('ZRANGEBYLEX', k('due'), '-', '(' .. before, 'LIMIT', seen, step)
  for _, member in ipairs(some) do
    local t = load(string.sub(member, 20))
    if #found < limit and t.expires < before then found[#found + 1] = redis.call('HGET', k('task:' .. t.id), 'json') end
  end
  if #some < step then break end
  seen = seen + step
end
return found
