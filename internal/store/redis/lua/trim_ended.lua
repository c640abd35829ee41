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
    redis.call('DEL', k(of == 'thread' and name or 'note:' .. name))
    redis.call('ZREM', k('notes:' .. of), key)
  end
  redis.call('ZREM', k('expiring'), member)
  forgot = forgot + 1
end
return forgot
