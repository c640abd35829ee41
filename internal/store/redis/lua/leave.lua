-- Ends an instance, and says so to the others.
redis.call('ZREM', k('alive'), take())
return redis.call('PUBLISH', k('wake'), 'l')
