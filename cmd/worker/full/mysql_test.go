package main

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"

	_ "github.com/go-sql-driver/mysql" // the driver "mysql"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/cmd/worker/internal/doctor"
	"github.com/solotick/solotick/cmd/worker/internal/filetest"
	"github.com/solotick/solotick/cmd/worker/internal/workertest"
	"github.com/solotick/solotick/internal/dbtest"
)

// mariadb starts a server with a database, and returns its URL, whose password is s3cret.
func mariadb(t *testing.T) (server *dbtest.Server, url string) {
	t.Helper()
	server, err := dbtest.MariaDB(func(ctx context.Context, dir string) error {
		db, err := sql.Open("mysql", "root@unix("+dbtest.MariaDBSocket(dir)+")/")
		if err != nil {
			return err
		}
		defer func() { _ = db.Close() }()
		return db.PingContext(ctx)
	})
	require.NoError(t, err)
	t.Cleanup(server.Kill)
	runMariaDB(t, server, "CREATE DATABASE fleet", "CREATE USER app@'%' IDENTIFIED BY 's3cret'", "GRANT ALL ON fleet.* TO app@'%'")
	return server, "mysql://app:s3cret@" + server.Addr + "/fleet"
}

func runMariaDB(t *testing.T, server *dbtest.Server, statements ...string) {
	t.Helper()
	db, err := sql.Open("mysql", "root@tcp("+server.Addr+")/")
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	for _, statement := range statements {
		_, err := db.ExecContext(t.Context(), statement)
		require.NoError(t, err, statement)
	}
}

func TestWorkersOnMySQLRunEachTickOnce(t *testing.T) {
	t.Parallel()
	server, url := mariadb(t)
	path := filetest.Config(t, fmt.Sprintf(`
store: {url: %q}
lease: {ttl: 2s}
http: {addr: "127.0.0.1:0"}
jobs:
- {name: note, schedule: "@every 1s", misfire: all, overlap: allow, log: {message: noted}}
`, url))
	killed := workertest.Start(t, path, "--replica", "a")
	killed.Await("tick settled") // while it is alone: of two, one may claim every tick
	other := workertest.Start(t, path, "--replica", "b")
	killed.Signal(syscall.SIGKILL)
	killed.Exit()
	for range 3 {
		other.Await("tick settled", "outcome", "succeeded")
	}
	other.Ready(http.StatusOK)
	require.Contains(t, workertest.Do(t, nil, "status", "--config", path).Stdout, "note")
	ticks := map[any]bool{}
	for _, o := range workertest.Outcomes(t, path, "note") {
		require.False(t, ticks[o["id"]], "settled twice: %v", o)
		ticks[o["id"]] = true
	}

	found := workertest.Diagnosed(t, path, 0)
	db, err := sql.Open("mysql", "root@tcp("+server.Addr+")/")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	var version string
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT version()").Scan(&version))
	require.Equal(t, version, found["version"].Finding)
	require.Equal(t, doctor.OK, found["primary"].Result)
	require.Equal(t, doctor.OK, found["writes"].Result)
	require.Equal(t, doctor.OK, found["clock"].Result)
	require.Equal(t, doctor.Warn, found["durability"].Result, "the server of the test does not wait for the disk")
	runMariaDB(t, server, "SET GLOBAL read_only = 1")
	found = workertest.Diagnosed(t, path, 1)
	require.Equal(t, doctor.Fail, found["primary"].Result)
	require.Contains(t, found["writes"].Change, "name the primary")
	require.NotContains(t, other.Text(), "s3cret")
}

func TestUnusableServerEndsTheStart(t *testing.T) {
	t.Parallel()
	_, url := mariadb(t)
	path := filetest.Config(t, "store: {url: '"+strings.Replace(url, "s3cret", "wr0ng", 1)+"'}\n"+workertest.OneJob)
	r := workertest.Do(t, nil, "run", "--config", path, "--http", "127.0.0.1:0")
	require.Equal(t, 1, r.Code)
	require.Contains(t, r.Stderr, "worker: mysqllease: 127.0.0.1:")
	require.Contains(t, r.Stderr, "check the user and the password")
	require.NotContains(t, r.Stderr, "wr0ng")
	require.NotContains(t, r.Stderr, "run started")
}
