-- Deletes rows that are still at their version, and counts them.
local dropped = 0
for _ = 1, count() do
  local r, version = load(take(), take(), take()), take()
  if r and r.version == version then
    remove(r)
    dropped = dropped + 1
  end
end
return dropped
