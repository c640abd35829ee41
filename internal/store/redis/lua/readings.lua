-- Answers each query with what may matter for its period: the readings of the periods that are named, and of all others
-- that of the latest. An answer is a list of period and value.
local answers = {}
for i = 1, count() do
  local name, named, found = take(), {}, {}
  for _ = 1, count() do
    local period = take()
    named[period] = true
    local value = redis.call('HGET', k('sensor:' .. name), period)
    if value then
      found[#found + 1] = period
      found[#found + 1] = value
    end
  end
  -- Three of them at most are named: a minute, its hour and its day.
  for _, member in ipairs(redis.call('ZREVRANGE', k('periods:' .. name), 0, 3)) do
    local period = string.sub(member, 20)
    if not named[period] then
      found[#found + 1] = period
      found[#found + 1] = redis.call('HGET', k('sensor:' .. name), period)
      break
    end
  end
  answers[i] = found
end
return answers
