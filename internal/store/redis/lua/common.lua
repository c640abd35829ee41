-- What every script begins with. ARGV[1] is the prefix of all keys, ARGV[2] says which data the caller was started on; the other
-- arguments are taken one after the other.
-- Instants are texts of 19 digits, nanoseconds since 1970, and are compared as texts: a number of Lua holds 53 bits.
local taken = 2
local function take()
  taken = taken + 1
  return ARGV[taken]
end
local function count() return tonumber(take()) end
local function k(name) return ARGV[1] .. ':' .. name end

-- A Redis that was emptied, or is another, knows nothing of what has happened: everything would happen again.
if redis.call('GET', k('schema')) ~= ARGV[2] then return redis.error_reply('LOST the data is not what it was') end

local NEVER = '0000000000000000000'

-- counted is the next number of a counter, as text.
local function counted(name) return string.format('%.0f', redis.call('INCR', k('counter:' .. name))) end

-- raise_events moves the counter of events up to Redis' clock, in microseconds, if this server has not appended events since it
-- started or became the primary. It may have lost events that followers have read: their positions are never used again. The
-- replication id changes with every start and every failover.
local function raise_events()
  local server = string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)') or ''
  if redis.call('GET', k('server')) == server then return end
  redis.call('SET', k('server'), server)
  local t = redis.call('TIME')
  local micros = string.format('%d%06d', t[1], t[2])
  if tonumber(micros) > tonumber(redis.call('GET', k('counter:event')) or '0') then redis.call('SET', k('counter:event'), micros) end
end

-- clock is the instant that leases are compared with: the caller's if he gave one, Redis' own otherwise.
local function clock(given)
  if given ~= '' then return given end
  local t = redis.call('TIME')
  return string.format('%010d%06d000', t[1], t[2])
end

-- later is an instant of Redis' clock and some microseconds.
local function later(at, micros)
  local sum = tonumber(string.sub(at, 11, 16)) + micros
  local carry = math.floor(sum / 1000000)
  return string.format('%010d%06d', tonumber(string.sub(at, 1, 10)) + carry, sum - carry * 1000000) .. string.sub(at, 17)
end

-- wake tells those who wait what has changed: c for changes, e for events, t for tasks.
local function wake(what)
  if what ~= '' then redis.call('PUBLISH', k('wake'), what) end
end

-- feed appends a change. Positions have no gaps: the backlog is counted by them.
local function feed(...)
  redis.call('XADD', k('changes'), counted('position') .. '-0', ...)
end
