-- What parts of the controller keep for themselves: silences, threads of sinks, bursts of alerts.
CREATE TABLE notes (
	kind    TEXT NOT NULL,
	key     TEXT NOT NULL,
	version INTEGER NOT NULL,
	expires INTEGER,
	body    TEXT NOT NULL,
	PRIMARY KEY (kind, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX notes_to_forget ON notes (expires) WHERE expires IS NOT NULL;
