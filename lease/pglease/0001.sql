CREATE TABLE IF NOT EXISTS solotick_store (
	one     integer PRIMARY KEY CHECK (one = 1),
	version integer NOT NULL, -- of the tables
	since   bigint  NOT NULL, -- when the store began, in µs
	floor   bigint  NOT NULL  -- stamps of values that are made lie above it: those that were removed had them
);
CREATE TABLE IF NOT EXISTS solotick_item (
	namespace text   COLLATE "C" NOT NULL,
	item_key  text   COLLATE "C" NOT NULL,
	stamp     bigint NOT NULL, -- of the version, with id; 0: there is a list only
	id        text   NOT NULL,
	data      bytea  NOT NULL,
	leases    jsonb  NOT NULL,
	keep      bigint NOT NULL, -- for how long after it was touched the value is kept, in µs; 0: for ever
	expires   bigint NOT NULL, -- when that is over, in µs; 0: never
	last      bigint NOT NULL, -- the number of the newest entry of its list
	PRIMARY KEY (namespace, item_key)
) WITH (fillfactor = 70);
CREATE INDEX IF NOT EXISTS solotick_item_expires ON solotick_item (expires) WHERE expires > 0;
CREATE TABLE IF NOT EXISTS solotick_entry (
	namespace text   COLLATE "C" NOT NULL,
	item_key  text   COLLATE "C" NOT NULL,
	seq       bigint NOT NULL,
	id        text   NOT NULL,
	body      bytea  NOT NULL,
	made      bigint NOT NULL, -- in µs
	PRIMARY KEY (namespace, item_key, seq),
	UNIQUE (namespace, item_key, id)
);
CREATE TABLE IF NOT EXISTS solotick_notice (
	seq       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- of the last so many that were published
	namespace text   NOT NULL,
	kind      text   NOT NULL, -- change: a notification, in JSON; message: that of a member
	body      bytea  NOT NULL
);
