-- All rows are in one table, and each order that they are listed in is one column of it with an
-- index. Texts are joined of parts so that one comparison of one column finds a row:
--   ref           kind/LENGTH/part/key, LENGTH being that of the part
--   ordered       kind/LENGTH/list/key of the row's place in the index "ordered", LENGTH being that of the list
--   ordered_part  kind/LENGTH/part/LENGTH/list/key, the same place among those of its part; NULL if the part is empty
-- A place is NULL if the row has none. Instants are nanoseconds since 1970. Bodies are JSON.
CREATE TABLE rows (
	id           INTEGER PRIMARY KEY,
	ref          TEXT NOT NULL UNIQUE,
	version      INTEGER NOT NULL,
	ordered      TEXT,
	ordered_part TEXT,
	pending      TEXT,
	pending_part TEXT,
	aging        TEXT,
	tag          TEXT NOT NULL,
	event        TEXT, -- the id, of an event; NULL of other rows
	body         BLOB NOT NULL
) STRICT;
CREATE INDEX rows_ordered ON rows (ordered, tag) WHERE ordered IS NOT NULL;
CREATE INDEX rows_ordered_part ON rows (ordered_part) WHERE ordered_part IS NOT NULL;
CREATE INDEX rows_pending ON rows (pending, tag) WHERE pending IS NOT NULL;
CREATE INDEX rows_pending_part ON rows (pending_part) WHERE pending_part IS NOT NULL;
CREATE INDEX rows_aging ON rows (aging) WHERE aging IS NOT NULL;
CREATE UNIQUE INDEX rows_event ON rows (event) WHERE event IS NOT NULL;

-- The changes of one transaction. Their positions are the n up to and including last; bodies are
-- one after the other, each after its length.
CREATE TABLE changes (
	last   INTEGER PRIMARY KEY,
	n      INTEGER NOT NULL,
	at     INTEGER NOT NULL,
	bodies BLOB NOT NULL
) STRICT;

-- The ids of transactions, so that one that is applied again is recognised.
CREATE TABLE applied (
	n  INTEGER PRIMARY KEY,
	id TEXT NOT NULL UNIQUE,
	at INTEGER NOT NULL
) STRICT;

-- What each group of consumers has acknowledged: all changes up to through, except those at the
-- positions open.
CREATE TABLE groups (
	name    TEXT PRIMARY KEY,
	through INTEGER NOT NULL,
	open    TEXT NOT NULL -- a JSON array
) STRICT;

CREATE TABLE meta (
	name  TEXT PRIMARY KEY,
	value INTEGER NOT NULL
) STRICT;
INSERT INTO meta (name, value) VALUES
	('number', 0),      -- no number above it was drawn
	('last_change', 0), -- no change that was deleted had a position above it, or above that of a change or a group
	('last_event', 0);  -- no event that was deleted had a position above it
