package mysqllease

import (
	_ "embed"
	"errors"
	"slices"

	"github.com/go-sql-driver/mysql"

	"github.com/solotick/solotick/internal/sqlstore"
)

//go:embed 0001.sql
var first string

//go:embed 0002.sql
var second string

//go:embed columns.txt
var tables string

// ofTables picks the tables of a store from information_schema.
const ofTables = " WHERE table_schema = database() AND table_name LIKE 'solotick\\_%'"

var dialect = sqlstore.Dialect{
	Package: "mysqllease",
	// SYSDATE is the time when it is evaluated: UTC_TIMESTAMP that when the statement began, perhaps
	// long before it got its locks. The time zone of the connection is UTC.
	Now:        "CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED)",
	Began:      "CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED)",
	Digest:     "sha2(body, 256)", // MySQL 9.6 has md5 no more
	Migrations: []string{first, second},
	Columns: "SELECT CONCAT_WS(' ', table_name, column_name, data_type, collation_name, IF(is_nullable = 'YES', 'NULL', NULL)) FROM information_schema.columns" + ofTables +
		" UNION ALL SELECT CONCAT(table_name, ' ', engine) FROM information_schema.tables" + ofTables,
	Tables:  tables,
	Again:   func(err error) bool { return slices.Contains(again, number(err)) },
	Missing: func(err error) bool { return number(err) == 1146 },
	Advice:  advice,
}

// again are the errors of what the server has rolled back, and of a race to insert.
var again = []uint16{
	1062, // another was quicker to insert the same row
	1205, // somebody has held a lock for a second
	1213, // a deadlock
	4031, // the connection was closed, for it was idle
	noDatabase,
}

const noDatabase = 1046 // somebody has dropped that of the connection

// readOnly are the errors of a server that is not the primary.
var readOnly = []uint16{1290, 1792, 1836}

// number returns the number of an error of the server; 0 where it has none.
func number(err error) uint16 {
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return e.Number
	}
	return 0
}
