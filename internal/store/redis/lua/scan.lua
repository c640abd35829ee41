-- Ranges of rows. The answer has for each the number of rows, whether there are more ('1'), and
-- part, key, version, body and place of each row.
local STEP = 500

-- range_of asks for up to n members or entries. bounds are those of the command, the lower one
-- first.
local function range_of(name, bounds, backwards, n)
  local from, to = bounds[1], bounds[2]
  if backwards then from, to = to, from end
  if bounds.stream then return redis.call(backwards and 'XREVRANGE' or 'XRANGE', name, from, to, 'COUNT', n) end
  return redis.call(backwards and 'ZREVRANGEBYLEX' or 'ZRANGEBYLEX', name, from, to, 'LIMIT', 0, n)
end

-- bound is the id of the first event whose position is not below a text, behind at; or the last id
-- that may be below it, behind below.
local function bound(text, at, below, none)
  if text == '' then return none end
  local digits = string.match(text, '^%d*')
  local other = string.byte(text, #digits + 1)
  local before = #digits >= 19 and #text > 19 or #digits < 19 and other and other > 57
  digits = string.sub(digits, 1, 19)
  digits = digits .. string.rep(before and '9' or '0', 19 - #digits)
  return (before and below or at) .. entry_id(digits)
end

-- Each source has the name of what it ranges over, its bounds, and how to load what it finds.
local function of_events(r)
  local bounds = { bound(r.from, '', '(', '-'), bound(r.to, '(', '', '+'), stream = true }
  local all = r.index > 0 and r.part == ''
  return all and k('events') or stream(r.part), bounds, function(entry)
    if all then return load(r.kind, entry[2][2], entry_key(entry)) end
    return as_event(r.part, entry)
  end
end

local function of_members(r)
  local text = r.index == 0 and function(t) return t end or sortable
  local bounds = { r.from == '' and '-' or '[' .. text(r.from), r.to == '' and '+' or '(' .. text(r.to) }
  if r.index == 0 then return keys(r.kind, r.part), bounds, function(key) return load(r.kind, r.part, key) end end
  return set(r.kind, r.index, r.list, r.part), bounds, function(member)
    local tag, part, key = string.match(member, '^[^%z]*%z([^%z]*)%z([^%z]*)%z(.*)$')
    return not r.except[tag] and load(r.kind, part, key)
  end
end

local function scan(r)
  local source = r.kind == 'events' and r.index < 2 and of_events or of_members
  local name, bounds, read = source(r)
  local rows, step = {}, math.min(r.limit + 1, STEP)
  while true do
    local some = range_of(name, bounds, r.backwards, step)
    for _, found in ipairs(some) do
      local row = read(found)
      if row then
        if #rows == r.limit then return rows, '1' end
        rows[#rows + 1] = row
      end
    end
    if #some < step then return rows, '' end
    local last = some[#some]
    bounds[r.backwards and 2 or 1] = '(' .. (bounds.stream and last[1] or last)
  end
end

local answer = {}
local function add(...)
  for _, text in ipairs({ ... }) do answer[#answer + 1] = text end
end
for _ = 1, count() do
  local r = {
    kind = take(), part = take(), index = count(), list = take(), from = take(), to = take(),
    backwards = take() == '1', limit = count(), except = {},
  }
  for _ = 1, count() do r.except[take()] = true end
  local rows, more = scan(r)
  add(tostring(#rows), more)
  for _, row in ipairs(rows) do
    add(row.part, row.key, row.version, row.body, unpacked(row.places)['place' .. r.index] or '')
  end
end
return answer
