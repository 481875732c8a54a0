CREATE TABLE IF NOT EXISTS solotick_due ( -- narrow, as its rows change with each tick
	namespace text    COLLATE "C" NOT NULL,
	item_key  text    COLLATE "C" NOT NULL, -- JOB/KEY
	job       text    COLLATE "C" NOT NULL,
	share     integer NOT NULL,
	due       bigint  NOT NULL, -- in ms
	PRIMARY KEY (namespace, item_key)
);
CREATE INDEX IF NOT EXISTS solotick_due_at ON solotick_due (namespace, job, share, due);
