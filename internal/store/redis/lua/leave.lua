-- Ends an instance, and says so to the others.
local instance = take()
redis.call('ZREM', k('alive'), instance)
return wake('l', instance)
