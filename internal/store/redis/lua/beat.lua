-- Says that an instance is alive, for so many milliseconds.
redis.call('SET', k('alive:' .. take()), '1', 'PX', take())
