-- Moves the place of a follower of events, or forgets it. A script, so that no place among events that are gone is kept for others.
local name, at = take(), take()
if at == '' then redis.call('HDEL', k('cursors'), name) else redis.call('HSET', k('cursors'), name, at) end
