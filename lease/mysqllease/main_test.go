package mysqllease_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql" // the driver "mysql"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/dbtest"
	"github.com/solotick/solotick/lease/mysqllease"
)

func TestMain(m *testing.M) {
	if what := strings.Fields(os.Getenv(asked)); len(what) > 0 {
		fmt.Fprintln(os.Stderr, contend(what))
		return
	}
	code := m.Run()
	dbtest.StopAll()
	os.Exit(code)
}

func answers(ctx context.Context, dir string) error {
	db, err := sql.Open("mysql", "root@unix("+dbtest.MariaDBSocket(dir)+")/")
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	return db.PingContext(ctx)
}

// shared is a server that no test harms.
var shared = sync.OnceValues(func() (*dbtest.Server, error) { return dbtest.MariaDB(answers, dbtest.MariaDBNoSync) })

// own starts a server that a test may harm.
func own(t testing.TB, args ...string) *dbtest.Server {
	t.Helper()
	s, err := dbtest.MariaDB(answers, args...)
	require.NoError(t, err)
	t.Cleanup(s.Kill)
	return s
}

var databases atomic.Int64

// database makes a database for a test, and returns its URL.
func database(t testing.TB) (url string) {
	t.Helper()
	s, err := shared()
	require.NoError(t, err)
	return databaseOn(t, s)
}

func databaseOn(t testing.TB, s *dbtest.Server) (url string) {
	t.Helper()
	name := fmt.Sprint("d", databases.Add(1))
	run(t, s, "CREATE DATABASE "+name)
	return "mysql://root@" + s.Addr + "/" + name
}

// run runs statements as an administrator does.
func run(t testing.TB, s *dbtest.Server, statements ...string) {
	t.Helper()
	db, err := sql.Open("mysql", "root@tcp("+s.Addr+")/")
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	for _, statement := range statements {
		_, err := db.ExecContext(t.Context(), statement)
		require.NoError(t, err, statement)
	}
}

func open(t testing.TB, url string, opts ...mysqllease.Option) *mysqllease.Store {
	t.Helper()
	s, err := mysqllease.Open(url, "fleet", append([]mysqllease.Option{mysqllease.WithTimeout(20 * time.Second)}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// empty has a database forget everything.
func empty(t testing.TB, s *dbtest.Server, url string) {
	t.Helper()
	name := url[strings.LastIndex(url, "/")+1:]
	for _, table := range []string{"store", "item", "entry", "notice", "due"} {
		run(t, s, "DROP TABLE IF EXISTS "+name+".solotick_"+table)
	}
}
