package pglease_test

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/proxytest"
	"github.com/solotick/solotick/lease/driver"
	"github.com/solotick/solotick/lease/pglease"
)

// blocks waits until somebody waits for a lock of a connection.
func blocks(t *testing.T, dsn string, conn *sql.Conn) {
	t.Helper()
	var pid int
	require.NoError(t, conn.QueryRowContext(t.Context(), "SELECT pg_backend_pid()").Scan(&pid))
	looks := on(t, dsn)
	require.Eventually(t, func() bool {
		n := 0
		require.NoError(t, looks.QueryRowContext(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid))", pid).Scan(&n))
		return n > 0
	}, 20*time.Second, 5*time.Millisecond)
}

// New rows are made in the order of their keys, too: batches would wait for each other otherwise.
func TestBatchesMakeRowsInOneOrder(t *testing.T) {
	t.Parallel()
	dsn := schema(t)
	s := open(t, dsn)
	changed(t, s, "ready", driver.Version{}, "the tables are there")
	const row = "INSERT INTO solotick_item VALUES ('fleet', '%s', 0, '', '', '[]', 0, 0, 0)"
	other := on(t, dsn)
	exec1(t, other, "BEGIN")
	exec1(t, other, fmt.Sprintf(row, "order-a"))
	answer := make(chan []driver.Result, 1)
	go func() {
		answer <- s.Values().Do(context.Background(), []driver.Op{
			{Key: "order-b", Change: &driver.Change{ID: "b", Data: []byte("b")}}, {Key: "order-c"},
			{Key: "order-a", Change: &driver.Change{ID: "a", Data: []byte("a")}}, {Key: "order-b"},
		})
	}()
	blocks(t, dsn, other)
	exec1(t, other, "SET LOCAL lock_timeout = '2s'")
	exec1(t, other, fmt.Sprintf(row, "order-b")) // fails where the store has made it
	exec1(t, other, "ROLLBACK")
	results := <-answer
	for _, res := range results {
		require.NoError(t, res.Err)
		require.Equal(t, driver.Done, res.Status)
	}
	require.Equal(t, "b", results[0].Version.ID)
	require.Zero(t, results[1].Value)
	require.Equal(t, "a", results[2].Version.ID)
	require.Equal(t, "b", string(results[3].Value.Data), "operations on one key are carried out in order")
}

// What a process was stopped or cut off in, when it removed what nobody uses any more, is ended by
// the server.
func TestCutOffProcessHoldsNoExpiredRow(t *testing.T) {
	t.Parallel()
	dsn := schema(t)
	at, err := server()
	require.NoError(t, err)
	p := proxytest.New(t, at.Addr)
	first := open(t, dsn)
	changed(t, first, "old", driver.Version{}, "old")
	require.NoError(t, first.Close()) // what it removes it has
	sqlOn(t, dsn, "UPDATE solotick_item SET keep = 1, expires = 1")
	other := on(t, dsn)
	exec1(t, other, "BEGIN")
	exec1(t, other, "UPDATE solotick_store SET floor = floor")
	away := open(t, overTCP(dsn, p.Addr()), pglease.WithTimeout(time.Minute))
	require.NoError(t, read(t.Context(), away, "any").Err) // and then it removes what has expired
	blocks(t, dsn, other)
	p.Partition()
	t.Cleanup(p.Heal)
	exec1(t, other, "COMMIT")
	require.NoError(t, change(t.Context(), open(t, dsn), "old", driver.Change{ID: "new", Data: []byte("new")}).Err)
}

// A host that is down says nothing; one after it in the URL is tried in time.
func TestSilentHostIsPassedOver(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, silent.Close()) })
	at, err := server()
	require.NoError(t, err)
	dsn := overTCP(schema(t), silent.Addr().String()+","+at.Addr) + "&target_session_attrs=read-write"
	s := open(t, dsn, pglease.WithTimeout(5*time.Second))
	changed(t, s, "job", driver.Version{}, "made")
}

// A server that said nothing for a while, and was replaced, leaves connections that say nothing for
// ever. They are given up.
func TestConnectionsThatSayNothingAreGivenUp(t *testing.T) {
	t.Parallel()
	at, err := server()
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var answers atomic.Bool
	var mu sync.Mutex
	var conns []net.Conn
	answers.Store(true)
	var all sync.WaitGroup
	all.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, client)
			mu.Unlock()
			if !answers.Load() {
				continue
			}
			server, err := net.Dial("tcp", at.Addr)
			if err != nil {
				_ = client.Close()
				continue
			}
			all.Go(func() { _, _ = io.Copy(server, client); _ = server.Close() })
			all.Go(func() { _, _ = io.Copy(client, server); _ = client.Close() })
		}
	})
	hangUp := func() {
		mu.Lock()
		defer mu.Unlock()
		for _, c := range conns {
			_ = c.Close()
		}
		conns = nil
	}
	s := open(t, overTCP(schema(t), listener.Addr().String()), pglease.WithTimeout(500*time.Millisecond))
	t.Cleanup(func() {
		require.NoError(t, s.Close())
		require.NoError(t, listener.Close())
		hangUp()
		all.Wait()
	})
	require.Eventually(t, func() bool { return read(t.Context(), s, "job").Err == nil }, 20*time.Second, time.Millisecond)
	answers.Store(false)
	hangUp()
	const calls = 100
	var failed sync.WaitGroup
	for n := range calls {
		failed.Go(func() {
			time.Sleep(time.Duration(n) * 10 * time.Millisecond) // so that some wait when others give up
			_, _, err := s.Values().Time(context.Background())
			require.Error(t, err)
		})
	}
	failed.Wait()
	answers.Store(true)
	require.Eventually(t, func() bool { return read(t.Context(), s, "job").Err == nil }, 20*time.Second, time.Millisecond)
}

func TestSchemasMayHaveAnyName(t *testing.T) {
	t.Parallel()
	at, err := server()
	require.NoError(t, err)
	direct := "postgres://test@" + at.Addr + "/postgres?sslmode=disable"
	sqlOn(t, direct, `CREATE SCHEMA "My-App"`)
	changed(t, open(t, direct+"&search_path=%22My-App%22"), "job", driver.Version{}, "made")
}

// Somebody has removed a row by hand. Its list is there still.
func TestListOutlivesARowRemovedByHand(t *testing.T) {
	t.Parallel()
	dsn := schema(t)
	s := open(t, dsn)
	v := driver.Version{}
	made := func(n int) {
		c := driver.Change{From: v, ID: fmt.Sprint("c", n), Data: []byte("x"), Append: []driver.Entry{{ID: fmt.Sprint("e", n), Max: 3}}}
		res := change(t.Context(), s, "job", c)
		require.NoError(t, res.Err)
		require.Equal(t, driver.Done, res.Status)
		v = res.Version
	}
	for n := range 5 {
		made(n)
	}
	sqlOn(t, dsn, "DELETE FROM solotick_item")
	v = driver.Version{}
	for n := 5; n < 10; n++ {
		made(n)
		list := s.Values().Do(t.Context(), []driver.Op{{Key: "job", Newest: 9}})[0].List
		require.Equal(t, fmt.Sprint("e", n), list[0].ID)
		require.Len(t, list, 3)
	}
}

// stopped is a connection of a process that is stopped when it has received some bytes.
type stopped struct {
	net.Conn
	left *atomic.Int64 // how many more; below 0: no limit
	stop chan struct{} // ends what was stopped
}

func (c *stopped) Read(p []byte) (int, error) {
	left := c.left.Load()
	if left < 0 {
		return c.Conn.Read(p)
	}
	if left == 0 {
		<-c.stop
		return 0, net.ErrClosed
	}
	n, err := c.Conn.Read(p[:min(left, int64(len(p)))])
	c.left.Add(-int64(n))
	return n, err
}

// The server waits within the transaction until its answer is on the way.
func TestProcessStoppedInALargeAnswerHoldsNothing(t *testing.T) {
	t.Parallel()
	dsn := schema(t)
	at, err := server()
	require.NoError(t, err)
	other := open(t, dsn)
	v := change(t.Context(), other, "job", driver.Change{ID: "large", Data: make([]byte, 16<<20)}).Version
	c, err := pgx.ParseConfig(overTCP(dsn, at.Addr))
	require.NoError(t, err)
	var left atomic.Int64
	left.Store(-1)
	stop := make(chan struct{})
	c.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		made, err := new(net.Dialer).DialContext(ctx, network, addr)
		return &stopped{made, &left, stop}, err
	}
	c.DefaultQueryExecMode = pgx.QueryExecModeExec
	db := stdlib.OpenDB(*c)
	s, err := pglease.New(db, "fleet", pglease.WithTimeout(time.Minute))
	require.NoError(t, err)
	t.Cleanup(func() { close(stop); require.NoError(t, s.Close()); require.NoError(t, db.Close()) })
	require.NoError(t, read(t.Context(), s, "any").Err)
	left.Store(64 << 10)
	go change(context.Background(), s, "job", driver.Change{ID: "conflict", Data: []byte("x")})
	require.Eventually(t, func() bool { return left.Load() == 0 }, 20*time.Second, time.Millisecond)
	changed(t, other, "job", v, "after")
}
