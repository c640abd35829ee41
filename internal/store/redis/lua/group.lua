-- Groups of consumers of changes.
local changes = k('changes')

-- info makes a table of what XINFO answers about one thing.
local function info(list)
  local t = {}
  for i = 1, #list, 2 do t[list[i]] = list[i + 1] end
  return t
end

local function number(id) return tonumber(string.match(id, '^%d+')) end

-- texts appends the position, the instant and the body of a change to an answer.
local function texts(answer, entry)
  for _, text in ipairs({ string.match(entry[1], '^%d+'), entry[2][2], entry[2][4] }) do answer[#answer + 1] = text end
  return answer
end

local function groups()
  if redis.call('EXISTS', changes) == 0 then return {} end
  local all = {}
  for i, g in ipairs(redis.call('XINFO', 'GROUPS', changes)) do all[i] = info(g) end
  return all
end

-- join creates a group at the oldest change, unless it exists.
local function join(group)
  for _, g in ipairs(groups()) do
    if g.name == group then return end
  end
  redis.call('XGROUP', 'CREATE', changes, group, '0', 'MKSTREAM')
end

-- unacknowledged is the first change that a group holds; nil if it holds none.
local function unacknowledged(g)
  if g.pending == 0 then return nil end
  return redis.call('XPENDING', changes, g.name)[2]
end
