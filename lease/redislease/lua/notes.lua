-- notes: read a journal.
-- KEYS[1] journal
-- ARGV    1 how many notes, or 0 for all
-- returns them, newest first: when request text
return redis.call('LRANGE', KEYS[1], 0, ARGV[1] - 1)
