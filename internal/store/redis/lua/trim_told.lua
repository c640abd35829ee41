-- Forgets what is told of the old attempts of a pipeline's runs: log, rerun requests, and snapshots that no run refers to.
-- Nothing of an open run goes. It looks at so many entries after a place, since more and more of them stay; the second answer is the
-- place where it stopped, nothing if that was the end.
local pipeline, cutoff, limit, looks, after = take(), take(), count(), count(), take()
local set, forgot, last = k('runlogs:' .. pipeline), 0, ''
local some = redis.call('ZRANGEBYLEX', set, after == '' and '-' or '(' .. after, '(' .. cutoff, 'LIMIT', 0, looks)
for i, member in ipairs(some) do
  local kind, run, hash, field = string.match(member, '^%d+(%l)([^%z]*)%z([^%z]*)%z(.*)$')
  local r = redis.call('HMGET', k('run:' .. run), 'open', 'snapshot')
  if r[1] ~= '1' and not (kind == 's' and r[2] == field) then
    if kind == 's' then redis.call('DEL', k('snapshot:' .. field)) else redis.call('HDEL', k(hash), field) end
    redis.call('ZREM', set, member)
    forgot = forgot + 1
  end
  if forgot == limit or i == looks then
    last = member
    break
  end
end
if redis.call('EXISTS', set) == 0 then redis.call('SREM', k('logged'), pipeline) end
return { forgot, last }
