-- Forgets dry runs that ended long enough ago, and marks and notes whose time has passed.
local cutoff, now, limit = take(), take(), count()
local forgot = 0
for _, member in ipairs(redis.call('ZRANGEBYLEX', k('dryruns:ended'), '-', '(' .. cutoff, 'LIMIT', 0, limit)) do
  redis.call('DEL', k('dry:' .. string.sub(member, 20)))
  redis.call('ZREM', k('dryruns:ended'), member)
  forgot = forgot + 1
end
for _, member in ipairs(redis.call('ZRANGEBYLEX', k('expiring'), '-', '(' .. now, 'LIMIT', 0, limit - forgot)) do
  local kind, name = string.sub(member, 20, 20), string.sub(member, 21)
  if kind == 'm' then
    redis.call('DEL', k('mark:' .. name))
  else
    local of, key = string.match(name, '^([^:]*):(.*)$')
    local record = 'note:' .. name
    if of == 'thread' then record = name end
    if of == 'probe' then record = 'trait:' .. string.gsub(key, '/', ':', 1) end
    redis.call('DEL', k(record))
    redis.call('ZREM', k('notes:' .. of), key)
  end
  redis.call('ZREM', k('expiring'), member)
  forgot = forgot + 1
end
return forgot
