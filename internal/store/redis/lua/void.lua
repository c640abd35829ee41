-- Makes every lease lapse.
for _, member in ipairs(redis.call('ZRANGE', k('due'), 0, -1)) do
  local t = load(string.sub(member, 20))
  if t.token ~= '' then lapse(t) end
end
wake('t')
