package pglease_test

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/lease/driver"
)

// pooler passes everything on but notifications, as one does that gives each transaction another
// connection: nobody is woken.
func pooler(t *testing.T, to string) (addr string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var all sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	all.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", to)
			if err != nil {
				_ = client.Close()
				continue
			}
			mu.Lock()
			open = append(open, client, server)
			mu.Unlock()
			all.Go(func() { _, _ = io.Copy(server, client); _ = server.Close() })
			all.Go(func() { withoutNotifications(client, server); _ = client.Close() })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		mu.Lock()
		for _, c := range open {
			_ = c.Close()
		}
		mu.Unlock()
		all.Wait()
	})
	return listener.Addr().String()
}

// withoutNotifications copies messages: a byte that says which, the length with these four bytes,
// and the rest.
func withoutNotifications(client io.Writer, server io.Reader) {
	const notification = 'A'
	for head := make([]byte, 5); ; {
		if _, err := io.ReadFull(server, head); err != nil {
			return
		}
		body := make([]byte, binary.BigEndian.Uint32(head[1:])-4)
		if _, err := io.ReadFull(server, body); err != nil {
			return
		}
		if head[0] == notification {
			continue
		}
		if _, err := client.Write(append(append([]byte{}, head...), body...)); err != nil {
			return
		}
	}
}

func TestNotificationsArriveThroughPoolers(t *testing.T) {
	t.Parallel()
	at, err := server()
	require.NoError(t, err)
	name := "pooled"
	sqlOn(t, "postgres://test@"+at.Addr+"/postgres?sslmode=disable", "CREATE SCHEMA "+name)
	direct := "postgres://test@" + at.Addr + "/postgres?sslmode=disable&search_path=" + name
	pooled := "postgres://test@" + pooler(t, at.Addr) + "/postgres?sslmode=disable&search_path=" + name
	for dsn, want := range map[string]bool{direct: false, pooled: true} {
		s := open(t, dsn)
		facts, err := s.Facts(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, facts.Pooled)
		require.True(t, facts.Synchronous)
		require.False(t, facts.Standby || facts.TooOld)

		ctx, cancel := context.WithCancel(t.Context())
		received, ended := make(chan driver.Notification, 64), make(chan error, 1)
		go func() { ended <- s.Values().Subscribe(ctx, func(n driver.Notification) { received <- n }) }()
		require.Zero(t, <-received)
		other := open(t, direct) // another process
		for n := range 5 {
			sent := driver.Notification{Name: "job", Tick: int64(n + 1)}
			key := "job-" + string(rune('a'+n))
			if want {
				key += "-pooled"
			}
			require.NoError(t, change(t.Context(), other, key, driver.Change{ID: "x", Data: []byte("x"), Notify: []driver.Notification{sent}}).Err)
			select {
			case got := <-received:
				require.Equal(t, sent, got)
			case <-time.After(20 * time.Second):
				t.Fatal("no notification came")
			}
		}
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled)
	}
}
