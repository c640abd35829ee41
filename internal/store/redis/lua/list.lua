-- Gives a piece of a list: members of a sorted set, and the records they name. A member is a place of so many bytes and then
-- the parts of the name.
local set, width, records, from, to, limit = take(), count(), take(), take(), take(), take()
local found = {}
for _, member in ipairs(redis.call('ZRANGEBYLEX', k(set), from, to, 'LIMIT', 0, limit)) do
  local name = string.gsub(string.sub(member, width + 1), '%z', '/')
  found[#found + 1] = member
  found[#found + 1] = redis.call('HGET', k(records .. name), 'json')
end
return found
