package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/cmd/worker/internal/filetest"
	"github.com/solotick/solotick/cmd/worker/internal/workertest"
	"github.com/solotick/solotick/internal/dbtest"
	"github.com/solotick/solotick/internal/natstest"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/internal/servertest"
)

// doctor names the setting within 5 s. run exits unless the fault may go away by itself.
func TestWrongSettingOfAStoreIsNamed(t *testing.T) {
	postgres, err := dbtest.Postgres(func(ctx context.Context, dir string) error { return pings(ctx, "pgx", dbtest.PostgresDSN(dir)) })
	require.NoError(t, err)
	t.Cleanup(postgres.Kill)
	maria, _ := mariadb(t)
	redis := redistest.Start(t, redistest.WithConf("requirepass", "s3cret"))
	nats := natstest.Start(t, natstest.WithConf("authorization { user: app, password: s3cret }"))
	etcd, err := servertest.Etcd()
	require.NoError(t, err)
	t.Cleanup(etcd.Stop)
	const waits = -1
	for name, test := range map[string]struct {
		url  string
		code int // of run
		want []string
	}{
		"PostgreSQL, unknown parameter": {"postgres://test@" + postgres.Addr + "/postgres?sslmode=disable&foo=bar", 1, []string{`unrecognized configuration parameter "foo"`, "what follows the ?"}},
		"PostgreSQL, invalid sslmode":   {"postgres://test@" + postgres.Addr + "/postgres?sslmode=on", 2, []string{"sslmode must be disable, allow"}},
		"PostgreSQL, no TLS":            {"postgres://test@" + postgres.Addr + "/postgres?sslmode=require", 1, []string{"server refused TLS connection", "sslmode=disable"}},
		"PostgreSQL, no database":       {"postgres://test@" + postgres.Addr + "/none", 1, []string{"3D000", "create the database"}},
		"PostgreSQL, port of MariaDB":   {"postgres://test@" + maria.Addr + "/x", 1, []string{"no PostgreSQL"}},
		"PostgreSQL, port of Redis":     {"postgres://test@" + redis.Addr() + "/x", waits, []string{"PostgreSQL runs"}},
		"MariaDB, unknown parameter":    {"mysql://app:s3cret@" + maria.Addr + "/fleet?foo=bar", 1, []string{"Unknown system variable 'foo'", "what follows the ?"}},
		"MariaDB, wrong password":       {"mysql://app:wr0ng@" + maria.Addr + "/fleet", 1, []string{"mysqllease: 127.0.0.1:", "Access denied", "the user and the password"}},
		"MariaDB, no TLS":               {"mysql://app:s3cret@" + maria.Addr + "/fleet?tls=skip-verify", 1, []string{"TLS requested but server does not support TLS", "leave tls out"}},
		"Redis, wrong password":         {"redis://:wr0ng@" + redis.Addr(), 1, []string{"WRONGPASS", "the user and the password"}},
		"Redis, no TLS":                 {"rediss://:s3cret@" + redis.Addr(), waits, []string{"both sides use TLS or neither"}},
		"NATS, wrong password":          {strings.Replace(nats.URL(), "//", "//app:wr0ng@", 1), 1, []string{"natslease: bucket solotick: not connected", "the user and the password"}},
		"NATS, no TLS":                  {"tls://app:s3cret@" + nats.Addr(), 1, []string{"secure connection not available", "nats://"}},
		"etcd, with a user, away":       {"etcd://a:b@127.0.0.1:1", waits, []string{"etcd runs", "127.0.0.1:1"}},
		"etcd, no TLS":                  {"etcds://" + etcd.Addr(0), waits, []string{"both sides use TLS or neither", etcd.Addr(0)}},
	} {
		t.Run(name, func(t *testing.T) {
			path := filetest.Config(t, fmt.Sprintf("store: {url: %q}\nhttp: {addr: '127.0.0.1:0'}\n", test.url)+workertest.OneJob)
			began := time.Now()
			r := workertest.Do(t, nil, "doctor", "--config", path)
			require.Less(t, time.Since(began), 5*time.Second)
			said := r.Stdout + r.Stderr
			for _, part := range test.want {
				require.Contains(t, said, part)
			}
			require.NotContains(t, said, "wr0ng")
			require.NotContains(t, said, "drop the tables")
			require.NotContains(t, said, "%!")
			for _, twice := range []string{"context deadline exceeded: context deadline exceeded", "context deadline exceeded: no answer", "no answer in time: context deadline"} {
				require.NotContains(t, said, twice)
			}
			p := workertest.Start(t, path)
			if test.code == waits {
				p.Await("store does not answer; nothing starts until it does")
				return
			}
			require.Equal(t, test.code, p.Exit())
			require.Contains(t, p.Plain(), test.want[len(test.want)-1])
			require.NotContains(t, p.Text(), "wr0ng")
		})
	}
}
