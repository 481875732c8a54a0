package stores

import (
	"context"
	"database/sql"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql" // the driver "mysql"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/dbtest"
	"github.com/solotick/solotick/internal/proxytest"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/mysqllease"
	"github.com/solotick/solotick/lease/pglease"
)

// ofDatabase is what the suite does to a database server.
func ofDatabase(t testing.TB, s *dbtest.Server) *server {
	backup, restore := coldBackup(t, s.Dir, s.Kill, must(t, s.Restart))
	return &server{
		addrs: []string{s.Addr}, freeze: must(t, s.Freeze), thaw: must(t, s.Thaw), kill: s.Kill, restart: must(t, s.Restart),
		backup: backup, restore: restore,
		stepClock: func(ahead time.Duration) { require.NoError(t, s.SetClock(ahead)) },
	}
}

func must(t testing.TB, do func() error) func() { return func() { require.NoError(t, do()) } }

// coldBackup copies the directory of a server that is killed meanwhile, and brings it back.
func coldBackup(t testing.TB, dir string, kill, restart func()) (backup, restore func()) {
	kept := filepath.Join(t.TempDir(), "backup")
	replace := func(from, to string) {
		kill()
		if to == dir {
			time.Sleep(outage)
		}
		require.NoError(t, os.RemoveAll(to))
		out, err := exec.Command("cp", "-a", from, to).CombinedOutput()
		require.NoError(t, err, "%s", out)
		restart()
	}
	return func() { replace(dir, kept) }, func() { replace(kept, dir) }
}

func statements(t testing.TB, driver, dsn string, list ...string) {
	db, err := sql.Open(driver, dsn)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	for _, s := range list {
		_, err := db.ExecContext(t.Context(), s)
		require.NoError(t, err, s)
	}
}

// durable returns settings of a server that is measured: it waits for the disk, as it does by default.
// One that is tested need not.
func durable(t testing.TB, settings ...string) []string {
	if _, ok := t.(*testing.B); ok {
		return settings
	}
	return nil
}

// number returns what a query does.
func number(t testing.TB, driver, dsn, query string) (n float64) {
	db, err := sql.Open(driver, dsn)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	require.NoError(t, db.QueryRowContext(context.WithoutCancel(t.Context()), query).Scan(&n))
	return n
}

func answers(ctx context.Context, driver, dsn string) error {
	db, err := sql.Open(driver, dsn)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	return db.PingContext(ctx)
}

func postgresURL(addrs ...string) string {
	return "postgres://test@" + strings.Join(addrs, ",") + "/postgres?sslmode=disable"
}

var postgreSQL = kit{
	name: "PostgreSQL", successor: "to a synchronous standby (`synchronous_standby_names`), which is cut off before",
	start: func(t testing.TB) *server {
		db, err := dbtest.Postgres(postgresAnswers, durable(t, "fsync=on", "max_connections=400")...)
		require.NoError(t, err)
		s := ofDatabase(t, db)
		s.requests = func() float64 {
			return number(t, "pgx", postgresURL(db.Addr), "SELECT sum(xact_commit + xact_rollback) FROM pg_stat_database")
		}
		s.empty = func() {
			statements(t, "pgx", postgresURL(db.Addr), "DROP SCHEMA public CASCADE", "CREATE SCHEMA public")
		}
		return s
	},
	replicated: func(t testing.TB) *server {
		primary, err := dbtest.Postgres(postgresAnswers, "synchronous_standby_names=*")
		require.NoError(t, err)
		link := proxytest.New(t, primary.Addr)
		standby, err := dbtest.PostgresStandby(link.Addr(), postgresAnswers)
		require.NoError(t, err)
		require.Eventually(t, func() bool {
			return number(t, "pgx", postgresURL(primary.Addr), "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") == 1
		}, patience, 20*time.Millisecond)
		return &server{addrs: []string{primary.Addr, standby.Addr}, failOver: func(before func()) {
			link.Cut()
			before()
			primary.Kill()
			statements(t, "pgx", postgresURL(standby.Addr), "SELECT pg_promote()")
		}}
	},
	open: func(addrs []string, namespace string) (lease.Store, error) {
		return pglease.Open(postgresURL(addrs...)+"&target_session_attrs=read-write", namespace)
	},
}

func postgresAnswers(ctx context.Context, dir string) error {
	return answers(ctx, "pgx", dbtest.PostgresDSN(dir))
}

func mariaDBAnswers(ctx context.Context, dir string) error {
	return answers(ctx, "mysql", "root@unix("+dbtest.MariaDBSocket(dir)+")/")
}

// ofFleet makes the database of the fleet, and its user, who may not write to a replica.
var ofFleet = []string{
	"CREATE DATABASE fleet", "CREATE USER fleet@'%'", "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE ON fleet.* TO fleet@'%'",
}

var mariaDB = kit{
	name: "MariaDB", successor: "to a semi-synchronous replica (`AFTER_SYNC`, a timeout of a day), which is cut off before",
	start: func(t testing.TB) *server {
		db, err := dbtest.MariaDB(mariaDBAnswers, durable(t, "--innodb-flush-log-at-trx-commit=1", "--max-connections=400")...)
		require.NoError(t, err)
		t.Cleanup(db.Kill)
		at := "root@tcp(" + db.Addr + ")/"
		statements(t, "mysql", at, ofFleet...)
		s := ofDatabase(t, db)
		s.requests = func() float64 {
			return number(t, "mysql", at, "SELECT variable_value FROM information_schema.global_status WHERE variable_name = 'Questions'")
		}
		s.empty = func() { statements(t, "mysql", at, "DROP DATABASE fleet", "CREATE DATABASE fleet") }
		return s
	},
	replicated: func(t testing.TB) *server {
		primary, err := dbtest.MariaDBPrimary(mariaDBAnswers)
		require.NoError(t, err)
		t.Cleanup(primary.Kill)
		link, front := proxytest.New(t, primary.Addr), proxytest.New(t, primary.Addr)
		replica, err := dbtest.MariaDBReplica(mariaDBAnswers)
		require.NoError(t, err)
		t.Cleanup(replica.Kill)
		admin, err := sql.Open("mysql", "root@tcp("+replica.Addr+")/")
		require.NoError(t, err)
		t.Cleanup(func() { _ = admin.Close() })
		require.NoError(t, dbtest.FollowMariaDB(t.Context(), admin, link.Addr()))
		at := "root@tcp(" + primary.Addr + ")/"
		statements(t, "mysql", at, ofFleet...)
		return &server{addrs: []string{front.Addr()}, failOver: func(before func()) {
			link.Cut()
			before()
			primary.Kill()
			require.NoError(t, dbtest.PromoteMariaDB(t.Context(), admin))
			front.Move(replica.Addr)
		}}
	},
	open: func(addrs []string, namespace string) (lease.Store, error) {
		return mysqllease.Open("mysql://fleet@"+addrs[0]+"/fleet", namespace)
	},
}
