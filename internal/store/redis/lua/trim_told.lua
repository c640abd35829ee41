-- Forgets what is told of old attempts: log, rerun requests, and snapshots that their runs no longer refer to. Nothing of an open
-- run goes. It looks at so many entries after one of a pipeline; the answers are how many it forgot, and the pipeline and entry
-- where it stopped, no pipeline if that was the end.
local cutoff, limit, looks, from, after = take(), count(), count(), take(), take()
local forgot, looked = 0, 0
while true do
  local pipelines = redis.call('ZRANGEBYLEX', k('logged'), from == '' and '-' or '[' .. from, '+', 'LIMIT', 0, 100)
  for _, pipeline in ipairs(pipelines) do
    local set = k('runlogs:' .. pipeline)
    local start = pipeline == from and after ~= '' and '(' .. after or '-'
    for _, member in ipairs(redis.call('ZRANGEBYLEX', set, start, '(' .. cutoff, 'LIMIT', 0, looks - looked)) do
      local kind, run, hash, field = string.match(member, '^%d+(%l)([^%z]*)%z([^%z]*)%z(.*)$')
      local r = redis.call('HMGET', k('run:' .. run), 'open', 'snapshot')
      if r[1] ~= '1' and not (kind == 's' and r[2] == field) then
        if kind == 's' then redis.call('DEL', k('snapshot:' .. field)) else redis.call('HDEL', k(hash), field) end
        redis.call('ZREM', set, member)
        forgot = forgot + 1
      end
      looked = looked + 1
      if forgot == limit or looked == looks then return { forgot, pipeline, member } end
    end
    if redis.call('EXISTS', set) == 0 then redis.call('ZREM', k('logged'), pipeline) end
  end
  if #pipelines < 100 then return { forgot, '', '' } end
  from, after = pipelines[#pipelines] .. '\0', ''
end
