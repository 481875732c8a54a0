CREATE TABLE store (
	one     INTEGER PRIMARY KEY CHECK (one = 1),
	since   INTEGER NOT NULL, -- when the store began, in µs
	floor   INTEGER NOT NULL  -- stamps of values that are made lie above it: those that were removed had them
) STRICT;

CREATE TABLE item (
	namespace TEXT    NOT NULL,
	key       TEXT    NOT NULL,
	stamp     INTEGER NOT NULL, -- of the version, with id
	id        TEXT    NOT NULL,
	data      BLOB    NOT NULL,
	leases    TEXT    NOT NULL, -- JSON
	keep      INTEGER NOT NULL, -- for how long after it was touched the value is kept, in µs; 0: for ever
	touched   INTEGER NOT NULL, -- in µs
	PRIMARY KEY (namespace, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX item_kept ON item (touched + keep) WHERE keep > 0;

CREATE TABLE entry (
	namespace TEXT    NOT NULL,
	key       TEXT    NOT NULL,
	seq       INTEGER NOT NULL, -- without gaps
	id        TEXT    NOT NULL,
	text      BLOB    NOT NULL,
	at        INTEGER NOT NULL, -- in µs
	PRIMARY KEY (namespace, key, seq),
	UNIQUE (namespace, key, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE notice (
	seq       INTEGER PRIMARY KEY, -- of the last so many that were published
	namespace TEXT NOT NULL,
	change    TEXT,                -- a notification, in JSON
	message   BLOB                 -- or a message of a member
) STRICT;
