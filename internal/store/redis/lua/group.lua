-- Groups of those who follow the feed.
local stream = k('changes')

-- info makes a table of what XINFO says of one thing.
local function info(list)
  local t = {}
  for i = 1, #list, 2 do t[list[i]] = list[i + 1] end
  return t
end

local function position(id) return tonumber(string.match(id, '^%d+')) end

-- groups are all there are.
local function groups()
  if redis.call('EXISTS', stream) == 0 then return {} end
  local all = {}
  for i, g in ipairs(redis.call('XINFO', 'GROUPS', stream)) do all[i] = info(g) end
  return all
end

-- following makes a group that begins at the oldest change, unless it is there.
local function following(group)
  for _, g in ipairs(groups()) do
    if g.name == group then return end
  end
  redis.call('XGROUP', 'CREATE', stream, group, '0', 'MKSTREAM')
end

-- unfinished is the first change that a group was given and has not finished; nil if there is none.
local function unfinished(g)
  if g.pending == 0 then return nil end
  return redis.call('XPENDING', stream, g.name)[2]
end
