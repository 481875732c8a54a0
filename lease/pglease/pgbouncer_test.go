package pglease_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/dbtest"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease/driver"
	"github.com/solotick/solotick/lease/pglease"
)

// pgBouncer starts one before the shared server, in a mode, with two connections, and returns a URL
// of a database of its own.
func pgBouncer(t *testing.T, mode string) (dsn string) {
	t.Helper()
	at, err := server()
	require.NoError(t, err)
	name := fmt.Sprintf("bouncer_%s_%08x", mode, rand.Uint32())
	sqlOn(t, "postgres://test@"+at.Addr+"/postgres?sslmode=disable", "CREATE DATABASE "+name)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	host, port, err := net.SplitHostPort(at.Addr)
	require.NoError(t, err)
	own := listener.Addr().(*net.TCPAddr)
	dsn = fmt.Sprintf("postgres://test@%s/%s?sslmode=disable", own, name)
	_, err = dbtest.Start(syscall.SIGKILL, nil, func(dir string) (*exec.Cmd, error) {
		binary, err := dbtest.Find("pgbouncer")
		if err != nil {
			return nil, err
		}
		path := filepath.Join(dir, "pgbouncer.ini")
		text := fmt.Sprintf("[databases]\n* = host=%s port=%s user=test\n[pgbouncer]\nlisten_addr = %s\nlisten_port = %d\nunix_socket_dir =\n"+
			"auth_type = any\npool_mode = %s\ndefault_pool_size = 2\n", host, port, own.IP, own.Port, mode)
		return exec.Command(binary, path), os.WriteFile(path, []byte(text), 0o644) //nolint:gosec // it may run as another user
	}, func(ctx context.Context, _ string) error {
		db, err := sql.Open("pgx", dsn+"&default_query_exec_mode=exec")
		if err != nil {
			return err
		}
		defer func() { _ = db.Close() }()
		return db.PingContext(ctx)
	})
	require.NoError(t, err)
	return dsn
}

func TestTransactionModeOfPgBouncerKeepsThePromises(t *testing.T) {
	t.Parallel()
	dsn := pgBouncer(t, "transaction")
	one, other := open(t, dsn), open(t, dsn)
	require.NoError(t, one.Check(t.Context()))
	facts, err := one.Facts(t.Context())
	require.NoError(t, err)
	require.True(t, facts.Pooled)

	ctx, cancel := context.WithCancel(t.Context())
	received, ended := make(chan driver.Notification, 64), make(chan error, 1)
	go func() { ended <- other.Values().Subscribe(ctx, func(n driver.Notification) { received <- n }) }()
	require.Zero(t, <-received)

	_, err = one.Sync(t.Context(), []protocol.Sync{{Name: "job"}})
	require.NoError(t, err)
	for tick := range int64(10) {
		c := protocol.Claim{Name: "job", Tick: 100 + tick, Holder: "a", Request: "a", TTL: time.Minute, Takeovers: 1}
		a, err := one.Claim(t.Context(), c)
		require.NoError(t, err)
		require.Equal(t, protocol.Granted, a.Status)
		lost := c
		lost.Holder, lost.Request = "b", "b"
		held, err := other.Claim(t.Context(), lost)
		require.NoError(t, err)
		require.Equal(t, protocol.Held, held.Status)
		g := protocol.Grant{Name: "job", Tick: c.Tick, Holder: "a", Request: "a", Token: a.Token, Attempt: a.Attempt, Takeovers: 1, TTL: time.Minute}
		require.NoError(t, one.Renew(t.Context(), []protocol.Grant{g})[0])
		require.NoError(t, one.Settle(t.Context(), g, protocol.OutcomeSucceeded))
		over, err := other.Claim(t.Context(), lost)
		require.NoError(t, err)
		require.NotEqual(t, protocol.Granted, over.Status)
	}
	sent := driver.Notification{Name: "job", Tick: 7}
	require.NoError(t, change(t.Context(), one, "key", driver.Change{ID: "x", Data: []byte("x"), Notify: []driver.Notification{sent}}).Err)
	require.Eventually(t, func() bool { // after what the claims have published
		select {
		case got := <-received:
			return got.Tick == sent.Tick
		default:
			return false
		}
	}, 20*time.Second, time.Millisecond)
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
}

func TestUnfitSettingsOfPgBouncerAreNamed(t *testing.T) {
	t.Parallel()
	for dsn, hint := range map[string]string{
		pgBouncer(t, "statement"):                              "pool_mode = transaction",
		pgBouncer(t, "transaction") + "&search_path=elsewhere": "ALTER ROLE",
	} {
		err := open(t, dsn).Check(t.Context())
		require.ErrorIs(t, err, protocol.ErrPermanent)
		require.ErrorContains(t, err, hint)
	}
}

func TestPreparedStatementsThroughPgBouncerAreNamed(t *testing.T) {
	t.Parallel()
	dsn := pgBouncer(t, "transaction") + "&default_query_exec_mode=cache_statement"
	stores := []*pglease.Store{open(t, dsn), open(t, dsn), open(t, dsn)}
	var err error
	for i := 0; i < 300 && err == nil; i++ {
		err = stores[i%len(stores)].Check(t.Context())
	}
	require.ErrorContains(t, err, "default_query_exec_mode=exec")
}
