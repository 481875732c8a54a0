package guards

import (
	"context"
	"database/sql"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
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

// Without its own tables, which nobody needs who is not asked who he is, it starts at once in an
// empty directory.
var mariadb = sync.OnceValues(func() (*dbtest.Server, error) {
	return dbtest.Start(syscall.SIGKILL, nil,
		func(dir string) (*exec.Cmd, error) {
			binary, err := dbtest.Find("mariadbd")
			return exec.Command(binary, "--no-defaults", "--datadir="+dir, "--socket="+filepath.Join(dir, "s"), "--pid-file="+filepath.Join(dir, "pid"),
				"--skip-networking", "--skip-grant-tables", "--innodb-buffer-pool-size=16M", "--innodb-log-file-size=4M",
				"--innodb-flush-log-at-trx-commit=0"), err
		},
		func(ctx context.Context, dir string) error { return answers(ctx, "mysql", mariadbDSN(dir, "")) })
})

func mariadbDSN(dir, database string) string {
	return "root@unix(" + filepath.Join(dir, "s") + ")/" + database
}

func TestAMissingServerSaysHowToInstallIt(t *testing.T) {
	_, err := dbtest.Find("no-such-server")
	require.ErrorContains(t, err, "make deps")
}
