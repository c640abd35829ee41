-- The beginning of every script. ARGV[1] is the prefix of all keys, ARGV[2] names the data that the
-- caller was opened on; take returns the other arguments one after the other. Instants are texts of
-- 19 digits, nanoseconds since 1970: a number of Lua has 53 bits. A script answers with a number,
-- or with a list of texts.
local taken = 2
local function take()
  taken = taken + 1
  return ARGV[taken]
end
local function count() return tonumber(take()) end
local function k(name) return ARGV[1] .. ':' .. name end

-- wake tells all instances what has changed, and which of them did it.
local function wake(topics, instance) return redis.call('PUBLISH', k('wake'), topics .. ' ' .. instance) end

-- A Redis that was emptied or replaced must not look like one in which nothing has happened yet.
if redis.call('GET', k('schema')) ~= ARGV[2] then return redis.error_reply('LOST the data is not what it was') end

-- micros is the clock of Redis in microseconds.
local function micros()
  local t = redis.call('TIME')
  return tonumber(t[1]) * 1000000 + tonumber(t[2])
end

-- draw returns the first of n new numbers. The first draw on a server that has started, or has
-- become the primary, moves the counter up to the clock in microseconds: the numbers that were lost
-- with the last commits are not drawn again. Every start and every failover changes the replication
-- id.
local function draw(n)
  local server = string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)') or ''
  local last = redis.call('GET', k('server'))
  if last ~= server then
    redis.call('SET', k('server'), server)
    if last then
      local counter, clock = tonumber(redis.call('GET', k('counter:number')) or '0'), micros()
      if clock > counter then redis.call('SET', k('counter:number'), string.format('%.0f', clock)) end
    end
  end
  return redis.call('INCRBY', k('counter:number'), n) - n + 1
end
