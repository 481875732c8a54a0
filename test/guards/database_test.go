package guards

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/solotick/solotick/fence/sqlfence"
	"github.com/solotick/solotick/internal/dbtest"
)

// database is one that the tests run against.
type database struct {
	dialect sqlfence.Dialect
	open    func(t *testing.T) *sql.DB // of a test's own
	levels  []sql.IsolationLevel       // in which transactions are tried
	again   func(error) bool           // whether an error says that the transaction should be done again
}

var databases = []database{
	{sqlfence.PostgreSQL, openPostgres,
		[]sql.IsolationLevel{sql.LevelDefault, sql.LevelRepeatableRead, sql.LevelSerializable},
		func(err error) bool {
			pg, ok := errors.AsType[*pgconn.PgError](err)
			return ok && (pg.Code == "40001" || pg.Code == "40P01")
		}},
	{sqlfence.MySQL, openMariaDB,
		[]sql.IsolationLevel{sql.LevelDefault, sql.LevelReadCommitted, sql.LevelSerializable},
		func(err error) bool {
			my, ok := errors.AsType[*mysql.MySQLError](err)
			return ok && my.Number == 1213
		}},
	{sqlfence.SQLite, openSQLite,
		[]sql.IsolationLevel{sql.LevelDefault},
		func(err error) bool { return isBusy(err) }},
}

func isBusy(err error) bool {
	lite, ok := errors.AsType[*sqlite.Error](err)
	return ok && lite.Code()&0xff == sqlite3.SQLITE_BUSY
}

// each runs a test for every database.
func each(t *testing.T, test func(t *testing.T, d database)) {
	for _, d := range databases {
		t.Run(d.dialect.String(), func(t *testing.T) { test(t, d) })
	}
}

var names atomic.Int64

func newName() string { return fmt.Sprintf("test%d", names.Add(1)) }

func openDB(t *testing.T, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	require.NoError(t, err)
	db.SetMaxIdleConns(20)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

func openPostgres(t *testing.T) *sql.DB {
	t.Helper()
	s, err := postgres()
	if errors.Is(err, dbtest.ErrNotInstalled) {
		t.Skip(err)
	}
	require.NoError(t, err)
	name := newName()
	run(t, openDB(t, "pgx", dbtest.PostgresDSN(s.Dir)), "CREATE SCHEMA "+name)
	return openDB(t, "pgx", dbtest.PostgresDSN(s.Dir)+" search_path="+name)
}

func openMariaDB(t *testing.T) *sql.DB {
	t.Helper()
	s, err := mariadb()
	if errors.Is(err, dbtest.ErrNotInstalled) {
		t.Skip(err)
	}
	require.NoError(t, err)
	name := newName()
	run(t, openDB(t, "mysql", mariadbDSN(s.Dir, "")), "CREATE DATABASE "+name)
	return openDB(t, "mysql", mariadbDSN(s.Dir, name))
}

func openSQLite(t *testing.T) *sql.DB {
	t.Helper()
	return openDB(t, "sqlite", "file:"+filepath.Join(t.TempDir(), "db")+
		"?_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)&_pragma=busy_timeout(20000)")
}

func run(t *testing.T, db *sql.DB, query string, args ...any) {
	t.Helper()
	_, err := db.ExecContext(t.Context(), query, args...)
	require.NoError(t, err)
}

func number(t *testing.T, db *sql.DB, query string, args ...any) (n int64) {
	t.Helper()
	require.NoError(t, db.QueryRowContext(t.Context(), query, args...).Scan(&n))
	return n
}

// fill puts the database's placeholders for the question marks of a query.
func (d database) fill(query string) string {
	if d.dialect != sqlfence.PostgreSQL {
		return query
	}
	var b strings.Builder
	n := 0
	for _, c := range query {
		if c == '?' {
			n++
			fmt.Fprintf(&b, "$%d", n)
			continue
		}
		b.WriteRune(c)
	}
	return b.String()
}

// untilDone repeats what the database says has to be done again.
func (d database) untilDone(work func() error) error {
	for {
		if err := work(); !d.again(err) {
			return err
		}
	}
}

func (d database) table(t *testing.T, db *sql.DB) *sqlfence.Table {
	t.Helper()
	table, err := sqlfence.NewTable(d.dialect, sqlfence.DefaultName)
	require.NoError(t, err)
	require.NoError(t, table.Create(t.Context(), db))
	return table
}

// check is a transaction that does nothing but the check.
func check(ctx context.Context, db *sql.DB, table *sqlfence.Table, resource string, token int64) error {
	return table.In(db).Raise(ctx, resource, token)
}
