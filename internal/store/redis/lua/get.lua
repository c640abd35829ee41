-- Rows by their names: version and body of each; '0' and '' for a row that does not exist.
local found = {}
for i = 1, 2 * count(), 2 do
  local r = load(take(), take(), take()) or { version = '0', body = '' }
  found[i], found[i + 1] = r.version, r.body
end
return found
