package main

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/solotick/solotick/cmd/worker/internal/workertest"
	"github.com/solotick/solotick/internal/dbtest"
	"github.com/solotick/solotick/internal/natstest"
	"github.com/solotick/solotick/internal/servertest"
	"github.com/solotick/solotick/internal/zktest"
)

var emptyStores = map[string]workertest.EmptyStore{
	"PostgreSQL": func(t *testing.T) (string, func() []string) {
		server, err := dbtest.Postgres(func(ctx context.Context, dir string) error { return pings(ctx, "pgx", dbtest.PostgresDSN(dir)) })
		require.NoError(t, err)
		t.Cleanup(server.Kill)
		url := "postgres://test@" + server.Addr + "/postgres?sslmode=disable"
		return fmt.Sprintf("store: {url: %q}", url), func() []string {
			return tables(t, "pgx", url, "SELECT relname FROM pg_class WHERE relname LIKE 'solotick%' UNION ALL SELECT proname FROM pg_proc WHERE proname LIKE 'solotick%'")
		}
	},
	"MariaDB": func(t *testing.T) (string, func() []string) {
		server, url := mariadb(t)
		return fmt.Sprintf("store: {url: %q}", url), func() []string {
			return tables(t, "mysql", "root@tcp("+server.Addr+")/fleet", "SHOW TABLES")
		}
	},
	"etcd": func(t *testing.T) (string, func() []string) {
		server, err := servertest.Etcd()
		require.NoError(t, err)
		t.Cleanup(server.Stop)
		c, err := clientv3.New(clientv3.Config{Endpoints: []string{server.Addr(0)}})
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		return fmt.Sprintf("store: {url: 'etcd://%s'}", server.Addr(0)), func() (keys []string) {
			res, err := c.Get(t.Context(), "", clientv3.WithPrefix(), clientv3.WithKeysOnly())
			require.NoError(t, err)
			for _, kv := range res.Kvs {
				keys = append(keys, string(kv.Key))
			}
			return keys
		}
	},
	"NATS": func(t *testing.T) (string, func() []string) {
		server := natstest.Start(t)
		conn, err := nats.Connect(server.URL())
		require.NoError(t, err)
		t.Cleanup(conn.Close)
		js, err := jetstream.New(conn)
		require.NoError(t, err)
		return fmt.Sprintf("store: {url: %q}", server.URL()), func() (names []string) {
			all := js.StreamNames(t.Context())
			for name := range all.Name() {
				names = append(names, name)
			}
			require.NoError(t, all.Err())
			return names
		}
	},
	"ZooKeeper": func(t *testing.T) (string, func() []string) {
		server := zktest.Start(t)
		conn, _, err := zk.Connect([]string{server.Addr()}, 10*time.Second, zk.WithLogInfo(false))
		require.NoError(t, err)
		t.Cleanup(conn.Close)
		return fmt.Sprintf("store: {url: 'zk://app:s3crte@%s/fleets'}", server.Addr()), func() []string {
			names, _, err := conn.Children("/")
			require.NoError(t, err)
			return names[:len(names)-1] // without ZooKeeper's own
		}
	},
}

func pings(ctx context.Context, driver, dsn string) error {
	db, err := sql.Open(driver, dsn)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	return db.PingContext(ctx)
}

func tables(t *testing.T, driver, dsn, query string) (names []string) {
	db, err := sql.Open(driver, dsn)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	rows, err := db.QueryContext(t.Context(), query)
	require.NoError(t, err)
	defer func() { require.NoError(t, rows.Close()) }()
	for rows.Next() {
		var name string
		require.NoError(t, rows.Scan(&name))
		names = append(names, name)
	}
	require.NoError(t, rows.Err())
	return names
}

func TestCommandsMakeNothingBeforeAWorkerRuns(t *testing.T) {
	workertest.MakeNothing(t, emptyStores)
}
