-- The instant that the retention of a reading counts from: the end of its period, if that is later than the write.
ALTER TABLE readings ADD COLUMN ages INTEGER NOT NULL DEFAULT 0;
UPDATE readings SET ages = at;
DROP INDEX readings_to_forget;
CREATE INDEX readings_to_forget ON readings (ages) WHERE latest = 0 AND slot <> '';

-- Events with an instant before that of an event they follow: all others are found by "high".
CREATE INDEX events_late ON events (at) WHERE at < high;
