package pglease_test

import (
	"context"
	"encoding/binary"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/lease/driver"
	"github.com/solotick/solotick/lease/pglease"
)

// split is a connection whose message Execute is sent when before has returned.
type split struct {
	net.Conn
	before *atomic.Pointer[func()]
}

func (c *split) Write(p []byte) (int, error) {
	const execute = 'E'
	before := c.before.Load()
	for at := 0; before != nil && at+5 <= len(p); at += 1 + int(binary.BigEndian.Uint32(p[at+1:])) {
		if p[at] != execute {
			continue
		}
		sent, err := c.Conn.Write(p[:at])
		if err != nil {
			return sent, err
		}
		(*before)()
		n, err := c.Conn.Write(p[at:])
		return sent + n, err
	}
	return c.Conn.Write(p)
}

// A value that was read has the time of an instant at which it was there, however late the parts of
// the statement arrive.
func TestTimeOfAReadIsNotLater(t *testing.T) {
	t.Parallel()
	dsn := schema(t)
	at, err := server()
	require.NoError(t, err)
	c, err := pgx.ParseConfig(overTCP(dsn, at.Addr))
	require.NoError(t, err)
	var before atomic.Pointer[func()]
	c.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		made, err := new(net.Dialer).DialContext(ctx, network, addr)
		return &split{made, &before}, err
	}
	c.DefaultQueryExecMode = pgx.QueryExecModeExec
	db := stdlib.OpenDB(*c)
	s, err := pglease.New(db, "fleet", pglease.WithTimeout(20*time.Second))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()); require.NoError(t, db.Close()) })
	other := open(t, dsn)
	v := changed(t, other, "job", driver.Version{}, "one")
	require.Eventually(t, func() bool { return read(t.Context(), s, "job").Err == nil }, 20*time.Second, time.Millisecond)

	var once sync.Once
	var later driver.Result
	changes := func() {
		once.Do(func() {
			for range 3 { // until the server has got what was sent before
				require.NoError(t, read(t.Context(), other, "job").Err)
			}
			later = change(t.Context(), other, "job", driver.Change{From: v, ID: "two", Data: []byte("two")})
		})
	}
	before.Store(&changes)
	res := read(t.Context(), s, "job")
	before.Store(nil)
	require.NoError(t, res.Err)
	require.Equal(t, driver.Done, later.Status)
	if res.Value.Version == v {
		require.True(t, res.Now.Before(later.Now), "%s: the value had changed at %s", res.Now, later.Now)
	}
}
