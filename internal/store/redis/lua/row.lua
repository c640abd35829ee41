-- Rows: where they are kept, and the lists that they are in.
local ESCAPES = { ['%'] = '%25', [':'] = '%3A', ['/'] = '%2F' }
local function escaped(name) return (string.gsub(name, '[%%:/]', ESCAPES)) end

-- HOMES has, by kind or by kind and part, where rows are whose keys match a pattern: what the name
-- of their hash has behind {kind}:{part}, and their field if the hash holds several rows; or, with
-- alone, the whole name. All other rows have a hash {kind}:{part}:{key} of their own.
local ALL = '^.*$'
local HOMES = {
  pipeline = { '^state$', '' }, readiness = { '^gate$', '' },
  run = { ALL, '/%0' }, dry = { ALL, '/%0' }, deadline = { ALL, '/%0' }, baseline = { ALL, '/%0' },
  config = { ALL, '', '%0' }, sensors = { ALL, '', '%0' },
  sensor = { '^(.*)#(.*)$', ':%1', '%2' }, history = { '^(.*)#(.*)$', ':%1', '%2' },
  runlog = { '^([^/]*)/([^/]*)/(.*)$', ':%2:%1', '%3' }, rerun = { '^([^/]*/[^/]*)/(.*)$', '/%1', '%2' },
  ['task:'] = { ALL, 'task:%0', alone = true }, ['mark:'] = { ALL, 'mark:%0', alone = true },
  ['snapshot:'] = { ALL, 'snapshot:%0', alone = true }, ['cursor:'] = { ALL, 'cursor:%0', alone = true },
  ['note:thread'] = { ALL, 'thread:%0', alone = true },
  ['note:probe'] = { '^([^/:]*)/(.*)$', 'trait:%1:%2', alone = true },
}

-- home sets the hash of a row and its field, which is nil if the hash is the row's own.
local function home(r)
  local name = r.kind .. ':' .. escaped(r.part)
  local h = HOMES[name] or HOMES[r.kind]
  if not h or not string.find(r.key, h[1]) then h = { ALL, ':%0' } end
  r.hash = k((h.alone and '' or name) .. string.gsub(r.key, h[1], h[2]))
  if h[3] then r.field = string.gsub(r.key, h[1], h[3]) end
end

-- keys is the sorted set of the keys of a kind in a part.
local function keys(kind, part)
  if kind == 'runlog' then return k('runlogs:' .. escaped(part)) end
  return k('keys:' .. kind .. (part == '' and '' or ':' .. escaped(part)))
end

-- stream is the stream of the events of a part.
local function stream(part) return k('events:' .. escaped(part)) end

-- set is the sorted set of a list: of all parts if part is ''. Names such as runs have no prefix.
local indexes = { 'ordered:', 'pending:', 'aging:' }
local function set(kind, index, list, part)
  if index > 1 or string.sub(list, 1, #kind) ~= kind then list = indexes[index] .. kind .. ':' .. list end
  return k(list .. (part == '' and '' or ':' .. escaped(part)))
end

-- sortable lets a zero byte end a place in a member, and keeps the order of places.
local function sortable(place)
  return (string.gsub(place, '[%z\1]', { ['\0'] = '\1\1', ['\1'] = '\1\2' }))
end

-- Of a row beside its version and its body: {length}:{text} of each of these, up to the last that
-- is not empty. rows.go packs them in the same order.
local PLACES = { 'list1', 'place1', 'list2', 'place2', 'list3', 'place3', 'tag', 'expires', 'lock', 'holder' }
local function unpacked(text)
  local p, at, i = {}, 1, 1
  while at <= #text do
    local colon = string.find(text, ':', at, true)
    local last = colon + tonumber(string.sub(text, at, colon - 1))
    if last > colon then p[PLACES[i]] = string.sub(text, colon + 1, last) end
    at, i = last + 1, i + 1
  end
  return p
end

-- listed returns the member of each sorted set that a row is in.
local function listed(r, p)
  local sets = {}
  for i = 1, 3 do
    local list = p['list' .. i]
    if list and not (i == 1 and r.kind == 'events') then
      local member = table.concat({ sortable(p['place' .. i] or ''), p.tag or '', r.part, r.key }, '\0')
      sets[set(r.kind, i, list, '')] = member
      if i < 3 and r.part ~= '' then sets[set(r.kind, i, list, r.part)] = member end
    end
  end
  return sets
end

-- relist moves a row from its old places and its old lock to the new ones.
local function relist(r, old, new)
  if old == new then return end
  old, new = unpacked(old), unpacked(new)
  local from, to = listed(r, old), listed(r, new)
  for name, member in pairs(from) do
    if to[name] ~= member then redis.call('ZREM', name, member) end
  end
  for name, member in pairs(to) do
    if from[name] ~= member then redis.call('ZADD', name, 0, member) end
  end
  if old.lock and old.lock ~= new.lock then redis.call('HDEL', k('lock:' .. old.lock), r.key) end
  if new.lock then redis.call('HSET', k('lock:' .. new.lock), r.key, new.holder or '') end
end

local function entry_id(key) return string.match(key, '^0*(%d+)$') .. '-0' end
local function entry_key(entry) return string.format('%019.0f', string.match(entry[1], '^%d+')) end

-- as_event makes a row of an entry of a stream of events: id, type, at, json.
local function as_event(part, entry)
  local f, key = entry[2], entry_key(entry)
  local list, aged = 'events:' .. f[4], f[6] .. '#' .. key
  local places = { '6:events', '19:' .. key, #list .. ':' .. list, '19:' .. key, '6:events', #aged .. ':' .. aged }
  return { kind = 'events', part = part, key = key, version = '1', id = f[2], body = f[8], places = table.concat(places) }
end

-- load returns a row; nil if there is none.
local function load(kind, part, key)
  if kind == 'events' then
    local entry = string.find(key, '^%d+$') and redis.call('XRANGE', stream(part), entry_id(key), entry_id(key))[1]
    return entry and as_event(part, entry)
  end
  local r = { kind = kind, part = part, key = key }
  home(r)
  if not r.field then
    local v = redis.call('HMGET', r.hash, 'version', 'json', 'places')
    r.version, r.body, r.places = v[1], v[2], v[3] or ''
    return r.version and r
  end
  local text = redis.call('HGET', r.hash, r.field)
  if not text then return nil end
  local version, length, rest = string.match(text, '^(%d+) (%d+) ()')
  r.version, r.places, r.body = version, string.sub(text, rest, rest + length - 1), string.sub(text, rest + length)
  return r
end

local function millis(instant) return tonumber(string.sub(instant, 1, 13)) end

-- save stores r in the place of old, which is nil if there is none.
local function save(r, old, now)
  home(r)
  if r.field then
    redis.call('HSET', r.hash, r.field, table.concat({ r.version, ' ', #r.places, ' ', r.places, r.body }))
  else
    redis.call('HSET', r.hash, 'version', r.version, 'json', r.body, 'places', r.places)
  end
  if r.kind == 'readiness' then -- for other readers of this Redis
    for name, value in pairs(cjson.decode(r.body)) do redis.call('HSET', r.hash, name, value) end
    local expires = unpacked(r.places).expires
    if expires then redis.call('PEXPIRE', r.hash, millis(expires) - millis(now)) end
  end
  if not old then redis.call('ZADD', keys(r.kind, r.part), 0, r.key) end
  relist(r, old and old.places or '', r.places)
end

local function remove(r)
  if r.kind == 'events' then
    redis.call('HDEL', k('eventids'), r.id)
    for _, name in ipairs({ k('events'), stream(r.part) }) do
      redis.call('XDEL', name, entry_id(r.key))
      if redis.call('XLEN', name) == 0 then redis.call('DEL', name) end
    end
  else
    if r.field then redis.call('HDEL', r.hash, r.field) else redis.call('DEL', r.hash) end
    redis.call('ZREM', keys(r.kind, r.part), r.key)
  end
  relist(r, r.places, '')
end
