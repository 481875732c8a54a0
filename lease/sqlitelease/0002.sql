CREATE TABLE due (
	namespace TEXT    NOT NULL,
	key       TEXT    NOT NULL, -- JOB/KEY
	job       TEXT    NOT NULL,
	share     INTEGER NOT NULL,
	at        INTEGER NOT NULL, -- in ms
	PRIMARY KEY (namespace, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX due_at ON due (namespace, job, share, at);
