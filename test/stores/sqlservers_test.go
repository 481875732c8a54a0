package stores

import (
	"context"
	"database/sql"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql" // the driver "mysql"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/dbtest"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/mysqllease"
	"github.com/solotick/solotick/lease/pglease"
)

// ofDatabase is what the suite does to a database server.
func ofDatabase(t testing.TB, s *dbtest.Server) *server {
	must := func(do func() error) func() { return func() { require.NoError(t, do()) } }
	backup, restore := coldBackup(t, s.Dir, s.Kill, must(s.Restart))
	return &server{
		addrs: []string{s.Addr}, freeze: must(s.Freeze), thaw: must(s.Thaw), kill: s.Kill, restart: must(s.Restart),
		backup: backup, restore: restore,
		stepClock: func(ahead time.Duration) { require.NoError(t, s.SetClock(ahead)) },
	}
}

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

var postgreSQL = kit{
	name:   "PostgreSQL",
	cannot: map[string]string{failedOver: noFailover},
	start: func(t testing.TB) *server {
		dsn := func(addr string) string { return "postgres://test@" + addr + "/postgres?sslmode=disable" }
		db, err := dbtest.PostgresOnTCP(func(ctx context.Context, addr string) error {
			db, err := sql.Open("pgx", dsn(addr))
			if err != nil {
				return err
			}
			defer func() { _ = db.Close() }()
			return db.PingContext(ctx)
		})
		require.NoError(t, err)
		s := ofDatabase(t, db)
		signal := func(which syscall.Signal) { // to the processes of its connections, too
			pids, err := db.Children()
			require.NoError(t, err)
			for _, pid := range pids {
				_ = syscall.Kill(pid, which) // one may have ended
			}
		}
		freeze, thaw := s.freeze, s.thaw
		s.freeze = func() { freeze(); signal(syscall.SIGSTOP) }
		s.thaw = func() { signal(syscall.SIGCONT); thaw() }
		s.empty = func() {
			statements(t, "pgx", dsn(db.Addr), "DROP SCHEMA public CASCADE", "CREATE SCHEMA public")
		}
		return s
	},
	open: func(addrs []string, namespace string) (lease.Store, error) {
		return pglease.Open("postgres://test@"+addrs[0]+"/postgres?sslmode=disable", namespace)
	},
}

var mariaDB = kit{
	name:   "MariaDB",
	cannot: map[string]string{failedOver: noFailover},
	start: func(t testing.TB) *server {
		answers := func(ctx context.Context, dir string) error {
			db, err := sql.Open("mysql", "root@unix("+dbtest.MariaDBSocket(dir)+")/")
			if err != nil {
				return err
			}
			defer func() { _ = db.Close() }()
			return db.PingContext(ctx)
		}
		db, err := dbtest.MariaDB(answers)
		require.NoError(t, err)
		t.Cleanup(db.Kill)
		at := "root@tcp(" + db.Addr + ")/"
		statements(t, "mysql", at, "CREATE DATABASE fleet")
		s := ofDatabase(t, db)
		s.empty = func() { statements(t, "mysql", at, "DROP DATABASE fleet", "CREATE DATABASE fleet") }
		return s
	},
	open: func(addrs []string, namespace string) (lease.Store, error) {
		return mysqllease.Open("mysql://root@"+addrs[0]+"/fleet", namespace)
	},
}
