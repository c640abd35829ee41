-- What Interlock remembers, for as long as you like. Each table has the natural key of its rows, so
-- that writing a row again changes nothing. Instants are kept to the microsecond. A period is
-- written as everywhere: 2026-03-03, 2026-03-03T14; '' is undated. A month is therefore
-- left(period, 7).

CREATE TABLE runs (
	pipeline       text NOT NULL,
	schedule       text NOT NULL,
	period         text NOT NULL,
	version        bigint NOT NULL,
	status         text NOT NULL,
	reason         text NOT NULL,
	attempt        integer NOT NULL,
	cause          text NOT NULL, -- why the latest attempt was opened
	config_version text NOT NULL,
	opened_at      timestamptz NOT NULL,
	updated_at     timestamptz NOT NULL,
	ended_at       timestamptz,
	body           jsonb NOT NULL, -- everything that is known of the run
	PRIMARY KEY (pipeline, schedule, period)
);
CREATE INDEX runs_by_update ON runs (updated_at);

CREATE TABLE run_logs (
	pipeline    text NOT NULL,
	schedule    text NOT NULL,
	period      text NOT NULL,
	attempt     integer NOT NULL,
	event       text NOT NULL,
	try         integer NOT NULL,
	at          timestamptz NOT NULL,
	handle      text NOT NULL,
	category    text NOT NULL,
	message     text NOT NULL,
	output      text NOT NULL,
	reported_by text NOT NULL,
	PRIMARY KEY (pipeline, schedule, period, attempt, event, try, at)
);

CREATE TABLE events (
	id       text NOT NULL,
	at       timestamptz NOT NULL,
	position bigint NOT NULL, -- the order in which the store told them
	type     text NOT NULL,
	severity text NOT NULL,
	pipeline text NOT NULL,
	schedule text NOT NULL,
	period   text NOT NULL,
	attempt  integer NOT NULL,
	message  text NOT NULL,
	detail   jsonb NOT NULL,
	PRIMARY KEY (id, at)
);
CREATE INDEX events_by_run ON events (pipeline, schedule, period);

CREATE TABLE reruns (
	pipeline     text NOT NULL,
	schedule     text NOT NULL,
	period       text NOT NULL,
	id           text NOT NULL,
	at           timestamptz NOT NULL,
	requested_by text NOT NULL,
	reason       text NOT NULL,
	force        boolean NOT NULL,
	bypass_gate  boolean NOT NULL,
	accepted     boolean NOT NULL,
	why          text NOT NULL,
	attempt      integer NOT NULL, -- that was opened; 0 if none was
	PRIMARY KEY (pipeline, schedule, period, id)
);

CREATE TABLE sensor_history (
	pipeline   text NOT NULL,
	sensor     text NOT NULL,
	version    bigint NOT NULL,
	at         timestamptz NOT NULL,
	period     text NOT NULL,
	source     text NOT NULL,
	expires_at timestamptz,
	fields     jsonb NOT NULL,
	PRIMARY KEY (pipeline, sensor, version, at)
);

-- How far the archive has come; written together with the rows.
CREATE TABLE cursors (
	name     text PRIMARY KEY,
	position bigint NOT NULL,
	at       timestamptz NOT NULL
);
