CREATE TABLE IF NOT EXISTS solotick_due (
	namespace VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	item_key  VARCHAR(272) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, -- JOB/KEY
	job       VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	share     INT          NOT NULL,
	due       BIGINT       NOT NULL, -- in ms
	PRIMARY KEY (namespace, item_key),
	KEY solotick_due_at (namespace, job, share, due)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC;
SET @solotick = (SELECT IF(min(character_maximum_length) < 272, 'ALTER TABLE solotick_item MODIFY item_key VARCHAR(272) CHARACTER SET ascii COLLATE ascii_bin NOT NULL', 'DO 0')
	FROM information_schema.columns WHERE table_schema = database() AND table_name = 'solotick_item' AND column_name = 'item_key');
PREPARE solotick FROM @solotick;
EXECUTE solotick;
SET @solotick = (SELECT IF(min(character_maximum_length) < 272, 'ALTER TABLE solotick_entry MODIFY item_key VARCHAR(272) CHARACTER SET ascii COLLATE ascii_bin NOT NULL', 'DO 0')
	FROM information_schema.columns WHERE table_schema = database() AND table_name = 'solotick_entry' AND column_name = 'item_key');
PREPARE solotick FROM @solotick;
EXECUTE solotick;
DEALLOCATE PREPARE solotick;
