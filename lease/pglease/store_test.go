package pglease_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/dbtest"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/driver"
	"github.com/solotick/solotick/lease/driver/drivertest"
	"github.com/solotick/solotick/lease/leasetest"
	"github.com/solotick/solotick/lease/pglease"
)

// server is one that no test disturbs.
var server = sync.OnceValues(func() (*dbtest.Server, error) { return dbtest.Postgres(answers) })

func answers(ctx context.Context, dir string) error {
	db, err := sql.Open("pgx", dbtest.PostgresDSN(dir))
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	return db.PingContext(ctx)
}

var schemas atomic.Int64

// schema makes a schema of its own for a test, and returns how it is reached.
func schema(t testing.TB) (dsn string) {
	t.Helper()
	s, err := server()
	require.NoError(t, err)
	name := fmt.Sprint("s", schemas.Add(1))
	sqlOn(t, dbtest.PostgresDSN(s.Dir), "CREATE SCHEMA "+name)
	return dbtest.PostgresDSN(s.Dir) + " search_path=" + name
}

func sqlOn(t testing.TB, dsn string, statements ...string) {
	t.Helper()
	db, err := sql.Open("pgx", dsn)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	for _, s := range statements {
		_, err := db.ExecContext(t.Context(), s)
		require.NoError(t, err, s)
	}
}

func open(t testing.TB, dsn string, opts ...pglease.Option) *pglease.Store {
	t.Helper()
	return openIn(t, dsn, "fleet", opts...)
}

func openIn(t testing.TB, dsn, namespace string, opts ...pglease.Option) *pglease.Store {
	t.Helper()
	s, err := pglease.Open(dsn, namespace, append([]pglease.Option{pglease.WithTimeout(20 * time.Second)}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func TestTablesKeepTheContract(t *testing.T) {
	drivertest.Run(t, func(t *testing.T) driver.Store { return open(t, schema(t)).Values() })
}

// site is a store with where its tables are.
type site struct {
	*pglease.Store
	dsn string
}

// The cases share the tables, each in a namespace of its own, but for the one that looks whether the
// tables were emptied.
func TestStoreKeepsTheContract(t *testing.T) {
	shared := schema(t)
	var namespaces atomic.Int64
	take := func(t *testing.T) lease.Store {
		dsn := shared
		if strings.HasSuffix(t.Name(), "/TimeSaysThatTheStoreForgot") {
			dsn = schema(t)
		}
		return &site{openIn(t, dsn, fmt.Sprint("fleet-", namespaces.Add(1))), dsn}
	}
	leasetest.Run(t, take,
		leasetest.Within(func(t *testing.T, f func(*testing.T)) { t.Parallel(); f(t) }),
		leasetest.WithTTL(50*time.Millisecond),
		leasetest.WithForget(func(t *testing.T, s lease.Store) {
			for _, table := range []string{"item", "entry", "notice", "due"} {
				sqlOn(t, s.(*site).dsn, "DELETE FROM solotick_"+table+" WHERE namespace = '"+s.(*site).Namespace()+"'")
			}
			sqlOn(t, s.(*site).dsn, "UPDATE solotick_store SET since = (extract(epoch FROM clock_timestamp()) * 1000000)::bigint")
		}))
}

// empty has a database forget everything.
func empty(t testing.TB, dsn string) {
	t.Helper()
	_, name, _ := strings.Cut(dsn, "search_path=")
	sqlOn(t, dsn, "DROP SCHEMA "+name+" CASCADE", "CREATE SCHEMA "+name)
}
