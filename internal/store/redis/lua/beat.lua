-- Keeps an instance alive for so many milliseconds. The answer is the clock in microseconds and all
-- instances that are alive.
local instance, life, now = take(), count(), micros()
redis.call('ZADD', k('alive'), math.floor(now / 1000) + life, instance)
redis.call('ZREMRANGEBYSCORE', k('alive'), '-inf', '(' .. math.floor(now / 1000))
return { string.format('%.0f', now), unpack(redis.call('ZRANGE', k('alive'), 0, -1)) }
