package pglease

import (
	_ "embed"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/solotick/solotick/internal/sqlstore"
)

//go:embed 0001.sql
var first string

//go:embed columns.txt
var tables string

var dialect = sqlstore.Dialect{
	Package:    "pglease",
	Numbered:   true,
	Now:        micros("clock_timestamp()"),
	Began:      micros("statement_timestamp()"),
	Migrations: []string{first},
	Columns: "SELECT table_name || ' ' || column_name || ' ' || data_type FROM information_schema.columns" +
		" WHERE table_schema = current_schema() AND table_name LIKE 'solotick\\_%'",
	Tables:  tables,
	Again:   again,
	Missing: func(err error) bool { return code(err) == "42P01" },
	Advice:  advice,
}

func micros(clock string) string { return "(extract(epoch from " + clock + ") * 1000000)::bigint" }

// code returns the SQLSTATE of an error, "" where it has none.
func code(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}

// again: a deadlock, a serialization failure, or another was quicker to make the same row or table.
func again(err error) bool {
	return slices.Contains([]string{"40P01", "40001", "23505", "42P07", "42710"}, code(err))
}

func advice(error) (hint string, permanent bool) { return "", false }
