package pglease

import (
	_ "embed"

	"github.com/solotick/solotick/internal/sqlstore"
)

//go:embed 0001.sql
var first string

//go:embed columns.txt
var tables string

var dialect = sqlstore.Dialect{
	Package:    "pglease",
	Numbered:   true,
	Now:        microseconds("clock_timestamp()"),
	Began:      microseconds("statement_timestamp()"),
	Migrations: []string{first},
	Columns: "SELECT table_name || ' ' || column_name || ' ' || data_type FROM information_schema.columns" +
		" WHERE table_schema = current_schema() AND table_name LIKE 'solotick\\_%'",
	Tables:  tables,
	Prepare: function.prepare,
	Again:   again,
	Missing: missing,
	Advice:  advice,
	Listen:  listen,
	Notify:  "SELECT pg_notify('solotick', ?)",
	Do:      do,
}

func microseconds(clock string) string {
	return "(extract(epoch from " + clock + ") * 1000000)::bigint"
}
