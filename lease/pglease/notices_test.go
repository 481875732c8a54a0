package pglease_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/proxytest"
	"github.com/solotick/solotick/lease/driver"
	"github.com/solotick/solotick/lease/pglease"
)

// overTCP returns how a schema is reached over TCP at an address.
func overTCP(dsn, addr string) string {
	_, name, _ := strings.Cut(dsn, "search_path=")
	return "postgres://test@" + addr + "/postgres?sslmode=disable&search_path=" + name
}

func TestMessagesArePassedOnAfterALostConnection(t *testing.T) {
	t.Parallel()
	dsn := schema(t)
	at, err := server()
	require.NoError(t, err)
	p := proxytest.New(t, at.Addr)
	s, other := open(t, overTCP(dsn, p.Addr()), pglease.WithTimeout(time.Second)), open(t, dsn)
	ctx, cancel := context.WithCancel(t.Context())
	received, ended := make(chan string, 4096), make(chan error, 1)
	go func() { ended <- s.Subscribe(ctx, func(message []byte) { received <- string(message) }) }()
	for n := 0; len(received) == 0; n++ {
		require.NoError(t, other.Publish(t.Context(), fmt.Append(nil, "before-", n)))
	}
	p.Cut()
	require.Eventually(t, func() bool { return read(t.Context(), s, "job").Err != nil }, 20*time.Second, time.Millisecond)
	require.NoError(t, other.Publish(t.Context(), []byte("meanwhile")))
	p.Heal()
	for deadline := time.After(20 * time.Second); ; {
		select {
		case got := <-received:
			if got != "meanwhile" {
				continue
			}
		case err := <-ended:
			t.Fatal("the subscription has ended: ", err)
		case <-deadline:
			t.Fatal("the message is lost")
		}
		break
	}
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
}

// subscribe returns the notifications of a store, when it listens.
func subscribe(t *testing.T, s *pglease.Store) <-chan driver.Notification {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	received, ended := make(chan driver.Notification, 4096), make(chan error, 1)
	go func() { ended <- s.Values().Subscribe(ctx, func(n driver.Notification) { received <- n }) }()
	t.Cleanup(func() {
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled)
	})
	require.Zero(t, <-received)
	return received
}

// receives waits for a notification; others may come before it.
func receives(t *testing.T, received <-chan driver.Notification, want driver.Notification) {
	t.Helper()
	for deadline := time.After(20 * time.Second); ; {
		select {
		case got := <-received:
			if got.Name == want.Name {
				return
			}
		case <-deadline:
			t.Fatalf("%+v does not come", want)
		}
	}
}

func notified(t *testing.T, s *pglease.Store, name string) {
	t.Helper()
	n := []driver.Notification{{Name: name}}
	require.NoError(t, change(t.Context(), s, name, driver.Change{ID: "x", Data: []byte("x"), Notify: n}).Err)
}

func TestRestoredNumbersAreNotTakenForSeen(t *testing.T) {
	t.Parallel()
	dsn := schema(t)
	s := open(t, dsn)
	received := subscribe(t, s)
	for n := range 3 {
		notified(t, s, fmt.Sprint("a", n))
	}
	receives(t, received, driver.Notification{Name: "a2"})
	// A backup from before that, and others have published since it was restored.
	sqlOn(t, dsn, "BEGIN; TRUNCATE solotick_notice RESTART IDENTITY; INSERT INTO solotick_notice (namespace, kind, body)"+
		` SELECT 'fleet', 'change', '{"Name":"b"}' FROM generate_series(1, 5); COMMIT`)
	receives(t, received, driver.Notification{})
}

func TestNoticeOfASlowTransactionIsReceived(t *testing.T) {
	t.Parallel()
	dsn := schema(t)
	s := open(t, dsn)
	received := subscribe(t, s)
	notified(t, s, "first")
	receives(t, received, driver.Notification{Name: "first"})
	slow := on(t, dsn)
	exec1(t, slow, "BEGIN")
	exec1(t, slow, `INSERT INTO solotick_notice (namespace, kind, body) VALUES ('fleet', 'change', '{"Name":"slow"}')`)
	sqlOn(t, dsn, "INSERT INTO solotick_notice (namespace, kind, body)"+
		` SELECT 'fleet', 'change', '{"Name":"quick"}' FROM generate_series(1, 300)`)
	notified(t, s, "last")
	receives(t, received, driver.Notification{Name: "last"})
	exec1(t, slow, "COMMIT")
	receives(t, received, driver.Notification{Name: "slow"})
}
