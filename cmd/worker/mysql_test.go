package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"

	_ "github.com/go-sql-driver/mysql" // the driver "mysql"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/cmd/worker/internal/doctor"
	"github.com/solotick/solotick/cmd/worker/internal/filetest"
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

// diagnosed are the findings of doctor about a configuration, by check.
func diagnosed(t *testing.T, path string, code int) map[string]doctor.Finding {
	t.Helper()
	r := do(t, nil, "doctor", "--config", path, "--output", "json")
	require.Equal(t, code, r.code, r.stdout+r.stderr)
	require.NotContains(t, r.stdout+r.stderr, "s3cret")
	var x doctor.Report
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &x))
	found := map[string]doctor.Finding{}
	for _, f := range x.Checks {
		found[f.Check] = f
	}
	return found
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
	killed := start(t, path, "--replica", "a")
	killed.await("tick settled") // while it is alone: of two, one may claim every tick
	other := start(t, path, "--replica", "b")
	killed.signal(syscall.SIGKILL)
	killed.exit()
	for range 3 {
		other.await("tick settled", "outcome", "succeeded")
	}
	other.ready(http.StatusOK)
	require.Contains(t, do(t, nil, "status", "--config", path).stdout, "note")
	ticks := map[any]bool{}
	for _, o := range outcomes(t, path, "note") {
		require.False(t, ticks[o["id"]], "settled twice: %v", o)
		ticks[o["id"]] = true
	}

	found := diagnosed(t, path, 0)
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
	found = diagnosed(t, path, 1)
	require.Equal(t, doctor.Fail, found["primary"].Result)
	require.Contains(t, found["writes"].Change, "name the primary")
	require.NotContains(t, other.text(), "s3cret")
}

func TestUnusableServerEndsTheStart(t *testing.T) {
	t.Parallel()
	_, url := mariadb(t)
	path := filetest.Config(t, "store: {url: '"+strings.Replace(url, "s3cret", "wr0ng", 1)+"'}\n"+oneJob)
	r := do(t, nil, "run", "--config", path, "--http", "127.0.0.1:0")
	require.Equal(t, 1, r.code)
	require.Contains(t, r.stderr, "worker: mysqllease: 127.0.0.1:")
	require.Contains(t, r.stderr, "check the user and the password")
	require.NotContains(t, r.stderr, "wr0ng")
	require.NotContains(t, r.stderr, "run started")
}
