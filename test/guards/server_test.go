package guards

import (
	"context"
	"database/sql"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/dbtest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	dbtest.StopAll()
	os.Exit(code)
}

// answers says whether the server answers.
func answers(ctx context.Context, driver, dsn string) error {
	db, err := sql.Open(driver, dsn)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	return db.PingContext(ctx)
}

var postgres = sync.OnceValues(func() (*dbtest.Server, error) {
	return dbtest.Postgres(func(ctx context.Context, dir string) error { return answers(ctx, "pgx", dbtest.PostgresDSN(dir)) })
})

var mariadb = sync.OnceValues(func() (*dbtest.Server, error) {
	return dbtest.MariaDB(func(ctx context.Context, dir string) error { return answers(ctx, "mysql", mariadbDSN(dir, "")) }, dbtest.MariaDBNoSync)
})

func mariadbDSN(dir, database string) string {
	return "root@unix(" + dbtest.MariaDBSocket(dir) + ")/" + database
}

func TestAMissingServerSaysHowToInstallIt(t *testing.T) {
	_, err := dbtest.Find("no-such-server")
	require.ErrorContains(t, err, "make deps")
}
