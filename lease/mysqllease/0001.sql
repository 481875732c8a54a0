CREATE TABLE IF NOT EXISTS solotick_store (
	one     TINYINT NOT NULL PRIMARY KEY CHECK (one = 1),
	version INT     NOT NULL, -- of the tables
	since   BIGINT  NOT NULL, -- when the store began, in µs
	floor   BIGINT  NOT NULL  -- stamps of values that are made lie above it: those that were removed had them
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC;
CREATE TABLE IF NOT EXISTS solotick_item (
	namespace VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	item_key  VARCHAR(272) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	stamp     BIGINT       NOT NULL, -- of the version, with id; 0: there is a list only
	id        VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	data      LONGBLOB     NOT NULL,
	leases    LONGBLOB     NOT NULL, -- JSON
	keep      BIGINT       NOT NULL, -- for how long after it was touched the value is kept, in µs; 0: for ever
	expires   BIGINT       NOT NULL, -- when that is over, in µs; 0: never
	last      BIGINT       NOT NULL, -- the number of the newest entry of its list
	PRIMARY KEY (namespace, item_key),
	KEY solotick_item_expires (expires)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC;
CREATE TABLE IF NOT EXISTS solotick_entry (
	namespace VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	item_key  VARCHAR(272) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	seq       BIGINT       NOT NULL,
	id        VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	body      LONGBLOB     NOT NULL,
	made      BIGINT       NOT NULL, -- in µs
	PRIMARY KEY (namespace, item_key, seq),
	UNIQUE KEY solotick_entry_id (namespace, item_key, id)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC;
CREATE TABLE IF NOT EXISTS solotick_notice (
	seq       BIGINT       NOT NULL AUTO_INCREMENT PRIMARY KEY, -- of the last so many that were published
	namespace VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	kind      VARCHAR(16)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL, -- change: a notification, in JSON; message: that of a member
	body      LONGBLOB     NOT NULL
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC;
