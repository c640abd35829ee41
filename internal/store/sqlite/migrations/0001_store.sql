-- Instants are nanoseconds since 1970. A slot is a period as store.PeriodKey writes it, which sorts as periods do; '' is
-- undated. A run is named "pipeline/schedule/period". Bodies are JSON; the other columns are what is searched by. What a
-- commit costs is mostly the number of pages it touches, so there is no index that another can stand in for.

CREATE TABLE meta (
	name  TEXT PRIMARY KEY,
	value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO meta (name, value) VALUES
	('epoch', 0),             -- how often the file was opened: the upper half of lease tokens
	('folded', 0),            -- the writes up to this position are in readings
	('forgotten_changes', 0), -- the changes up to this position are given to nobody any more
	('forgotten_writes', 0),  -- the writes up to this position are no longer history
	('last_event', 0);        -- no event after it was ever forgotten

-- Every change, in order, and with it every write of a sensor: feed and history in one. There is no index, so that a
-- write only ever appends; the history of a key is a chain through prev, that of one period a chain through prev_same.
CREATE TABLE log (
	pos       INTEGER PRIMARY KEY, -- also the version of a reading
	kind      INTEGER NOT NULL,    -- 0 reading with the same data, 1 with other data, 2 run, 3 pipeline
	at        INTEGER NOT NULL,
	pipeline  TEXT NOT NULL,
	sensor    TEXT,
	period    TEXT,
	prev      INTEGER,             -- the write before this one under the same key; 0 if none
	prev_same INTEGER,             -- the same, for the same period
	ord       INTEGER,
	extra     TEXT,                -- source and expiry, where there are any
	body      TEXT                 -- the data; NULL once the write is no longer history
) STRICT;

-- The last write of each period of a key, as far as it has been folded in from the log.
CREATE TABLE readings (
	id       INTEGER PRIMARY KEY,
	pipeline TEXT NOT NULL,
	sensor   TEXT NOT NULL,
	slot     TEXT NOT NULL,
	period   TEXT NOT NULL,
	version  INTEGER NOT NULL,
	at       INTEGER NOT NULL,
	ord      INTEGER NOT NULL,
	extra    TEXT,
	body     TEXT NOT NULL,
	latest   INTEGER NOT NULL -- 1 for the most recently written one of the key
) STRICT;
CREATE UNIQUE INDEX readings_by_slot ON readings (pipeline, sensor, slot);
CREATE INDEX readings_latest ON readings (pipeline, sensor) WHERE latest = 1;
CREATE INDEX readings_to_forget ON readings (at) WHERE latest = 0 AND slot <> '';

CREATE TABLE runs (
	id       INTEGER PRIMARY KEY,
	run      TEXT NOT NULL,
	pipeline TEXT NOT NULL,
	schedule TEXT NOT NULL,
	slot     TEXT NOT NULL,
	version  INTEGER NOT NULL,
	status   TEXT NOT NULL,
	attempt  INTEGER NOT NULL,
	open     INTEGER NOT NULL,
	snapshot TEXT NOT NULL,
	body     TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX runs_by_name ON runs (run);
CREATE INDEX runs_by_slot ON runs (slot DESC, pipeline, schedule);
CREATE INDEX runs_by_pipeline ON runs (pipeline, slot DESC, schedule);
CREATE INDEX runs_open ON runs (pipeline, slot, schedule) WHERE open = 1;
CREATE INDEX runs_ended_badly ON runs (status, slot DESC, pipeline, schedule) WHERE open = 0 AND status <> 'COMPLETED';

CREATE TABLE dry_runs (
	run     TEXT PRIMARY KEY,
	version INTEGER NOT NULL,
	open    INTEGER NOT NULL,
	updated INTEGER NOT NULL,
	body    TEXT NOT NULL
) STRICT;
CREATE INDEX dry_runs_open ON dry_runs (run) WHERE open = 1;
CREATE INDEX dry_runs_to_forget ON dry_runs (updated) WHERE open = 0;

CREATE TABLE pipelines (
	pipeline TEXT PRIMARY KEY,
	version  INTEGER NOT NULL,
	body     TEXT NOT NULL
) STRICT;

CREATE TABLE configs (
	pipeline TEXT NOT NULL,
	version  TEXT NOT NULL,
	at       INTEGER NOT NULL,
	body     TEXT NOT NULL,
	PRIMARY KEY (pipeline, version)
) STRICT;

CREATE TABLE deadlines (
	id       INTEGER PRIMARY KEY,
	run      TEXT NOT NULL,
	kind     TEXT NOT NULL,
	pipeline TEXT NOT NULL,
	schedule TEXT NOT NULL,
	slot     TEXT NOT NULL,
	version  INTEGER NOT NULL,
	state    TEXT NOT NULL,
	breach   INTEGER NOT NULL,
	body     TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX deadlines_by_name ON deadlines (run, kind);
CREATE INDEX deadlines_by_breach ON deadlines (breach, slot, pipeline, schedule, kind);
CREATE INDEX deadlines_by_state ON deadlines (state, breach, slot, pipeline, schedule, kind);
CREATE INDEX deadlines_by_pipeline ON deadlines (pipeline, breach, slot, schedule, kind);

CREATE TABLE post_runs (
	run     TEXT PRIMARY KEY,
	version INTEGER NOT NULL,
	body    TEXT NOT NULL
) STRICT;

CREATE TABLE job_log (
	id      INTEGER PRIMARY KEY,
	run     TEXT NOT NULL,
	attempt INTEGER NOT NULL,
	event   TEXT NOT NULL,
	try     INTEGER NOT NULL,
	at      INTEGER NOT NULL,
	body    TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX job_log_by_name ON job_log (run, attempt, event, try);
CREATE INDEX job_log_by_instant ON job_log (at);

CREATE TABLE snapshots (
	snapshot TEXT PRIMARY KEY,
	run      TEXT NOT NULL,
	at       INTEGER NOT NULL,
	loose    INTEGER NOT NULL, -- 1 if its run refers to another one, or to none
	body     TEXT NOT NULL
) STRICT;
CREATE INDEX snapshots_to_forget ON snapshots (at) WHERE loose = 1;

CREATE TABLE reruns (
	id      INTEGER PRIMARY KEY,
	run     TEXT NOT NULL,
	request TEXT NOT NULL,
	at      INTEGER NOT NULL,
	body    TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX reruns_by_name ON reruns (run, request);
CREATE INDEX reruns_by_instant ON reruns (at);

CREATE TABLE events (
	pos      INTEGER PRIMARY KEY,
	event    TEXT NOT NULL,
	type     TEXT NOT NULL,
	pipeline TEXT NOT NULL,
	run      TEXT NOT NULL,
	at       INTEGER NOT NULL,
	high     INTEGER NOT NULL, -- the latest instant up to here: it never falls, so it bounds a search by time
	body     TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX events_by_name ON events (event);
CREATE INDEX events_by_type ON events (type);
CREATE INDEX events_by_pipeline ON events (pipeline);
CREATE INDEX events_by_run ON events (run);

CREATE TABLE tasks (
	task TEXT PRIMARY KEY,
	due  INTEGER NOT NULL,
	body TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX tasks_by_due ON tasks (due, task);

CREATE TABLE marks (
	mark    TEXT PRIMARY KEY,
	expires INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX marks_to_forget ON marks (expires) WHERE expires IS NOT NULL;

CREATE TABLE dead_letters (
	sink  TEXT NOT NULL,
	event TEXT NOT NULL,
	at    INTEGER NOT NULL,
	body  TEXT NOT NULL,
	PRIMARY KEY (sink, event)
) STRICT;

CREATE TABLE commits (
	id       INTEGER PRIMARY KEY,
	identity TEXT NOT NULL,
	at       INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX commits_by_identity ON commits (identity);

CREATE TABLE cursors (
	name TEXT PRIMARY KEY,
	pos  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE feed_groups (
	name  TEXT PRIMARY KEY,
	place INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Leases are kept in memory; this is for those that are still held when the store is closed.
CREATE TABLE leases (
	task  TEXT PRIMARY KEY,
	token INTEGER NOT NULL,
	until INTEGER NOT NULL,
	moved INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
