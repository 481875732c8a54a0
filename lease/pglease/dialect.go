package pglease

import (
	_ "embed"

	"github.com/solotick/solotick/internal/sqlstore"
)

//go:embed 0001.sql
var first string

//go:embed 0002.sql
var second string

//go:embed columns.txt
var tables string

var dialect = sqlstore.Dialect{
	Package:    "pglease",
	Numbered:   true,
	Now:        microseconds("clock_timestamp()"),
	Began:      microseconds("transaction_timestamp()"), // statement_timestamp may be later than what the statement sees
	Digest:     "encode(sha256(body), 'hex')",
	Migrations: []string{first, second},
	Columns: "SELECT c.relname || ' ' || a.attname || ' ' || format_type(a.atttypid, NULL) || CASE WHEN a.attnotnull THEN '' ELSE ' NULL' END FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid" +
		" WHERE c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema()) AND c.relkind = 'r' AND c.relname LIKE 'solotick\\_%' AND a.attnum > 0 AND NOT a.attisdropped",
	Tables: tables,
	// Migrations and the removal of what has expired have several statements: the server ends one that
	// a process was stopped or cut off in.
	Begin:   "SET LOCAL idle_in_transaction_session_timeout = '2s'",
	Prepare: function.prepare,
	Again:   again,
	Missing: missing,
	Advice:  advice,
	Due: "SELECT due.* FROM unnest(?::integer[]) of (share) CROSS JOIN LATERAL (SELECT item_key, due FROM solotick_due" +
		" WHERE namespace = ? AND job = ? AND share = of.share AND due <= ? ORDER BY due LIMIT ?) due",
	Listen: listen,
	Notify: "SELECT pg_notify('solotick', ?)",
	Do:     do,
}

func microseconds(clock string) string {
	return "(extract(epoch from " + clock + ") * 1000000)::bigint"
}
