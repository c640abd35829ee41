-- Forgets what is told of the old attempts of a pipeline's runs: log, rerun requests, and snapshots that no run refers to.
-- Nothing of an open run goes.
local pipeline, cutoff, limit = take(), take(), count()
local set, forgot, kept = k('runlogs:' .. pipeline), 0, 0
while forgot < limit do
  local some = redis.call('ZRANGEBYLEX', set, '-', '(' .. cutoff, 'LIMIT', kept, math.min(100, limit - forgot))
  if #some == 0 then break end
  for _, member in ipairs(some) do
    local kind, run, hash, field = string.match(member, '^%d+(%l)([^%z]*)%z([^%z]*)%z(.*)$')
    local r = redis.call('HMGET', k('run:' .. run), 'open', 'snapshot')
    if r[1] == '1' or kind == 's' and r[2] == field then
      kept = kept + 1
    else
      if kind == 's' then redis.call('DEL', k('snapshot:' .. field)) else redis.call('HDEL', k(hash), field) end
      redis.call('ZREM', set, member)
      forgot = forgot + 1
    end
  end
end
if redis.call('EXISTS', set) == 0 then redis.call('SREM', k('logged'), pipeline) end
return forgot
