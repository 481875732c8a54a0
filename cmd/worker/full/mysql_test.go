package main

import (
	"context"
	"database/sql"
	"testing"

	_ "github.com/go-sql-driver/mysql" // the driver "mysql"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/cmd/worker/internal/doctor"
	"github.com/solotick/solotick/cmd/worker/internal/workertest"
	"github.com/solotick/solotick/internal/dbtest"
)

// mariadb starts a server with a database, and returns its URL, whose password is s3cret.
func mariadb(t *testing.T) (server *dbtest.Server, url string) {
	t.Helper()
	server, err := dbtest.MariaDB(func(ctx context.Context, dir string) error {
		return pings(ctx, "mysql", "root@unix("+dbtest.MariaDBSocket(dir)+")/")
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
	path := workertest.SettleOnce(t, url, func() { require.NoError(t, server.Restart()) })
	found := workertest.Diagnosed(t, path, 0)
	require.Contains(t, tables(t, "mysql", "root@tcp("+server.Addr+")/", "SELECT version()"), found["version"].Finding)
	for _, check := range []string{"primary", "writes", "clock"} {
		require.Equal(t, doctor.OK, found[check].Result, "%s: %+v", check, found[check])
	}
	require.Equal(t, doctor.Warn, found["durability"].Result, "the server of the test does not wait for the disk")
	runMariaDB(t, server, "SET GLOBAL read_only = 1")
	found = workertest.Diagnosed(t, path, 1)
	require.Equal(t, doctor.Fail, found["primary"].Result)
	require.Contains(t, found["writes"].Change, "name the primary")
}
