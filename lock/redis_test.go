package lock_test

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/redislease"
	"github.com/solotick/solotick/lock"
)

// On a real server time is short, and machines are slow.
const (
	shortTerm = 2 * time.Second
	slack     = 5 * time.Second
)

var short = []lock.Option{lock.WithTTL(shortTerm), lock.WithWaiterTTL(900 * time.Millisecond)}

// connect makes the locks of a process of its own on the server that client is for.
func connect(t testing.TB, client *redis.Client, opts ...lock.LocksOption) *lock.Locks {
	t.Helper()
	store, err := redislease.New(client, "default", redislease.WithTimeout(300*time.Millisecond))
	require.NoError(t, err)
	locks := lock.New(store, opts...)
	t.Cleanup(func() {
		locks.Close()
		require.NoError(t, store.Close())
		require.NoError(t, client.Close())
	})
	return locks
}

func dial(t testing.TB, addr string, opts ...lock.LocksOption) *lock.Locks {
	t.Helper()
	return connect(t, redis.NewClient(&redis.Options{Addr: addr}), opts...)
}

// lines waits until so many wait for the lock.
func lines(t testing.TB, locks *lock.Locks, name string, n int) {
	t.Helper()
	require.Eventually(t, func() bool {
		v, err := locks.Inspect(t.Context(), name)
		return err == nil && v.Waiters == n
	}, slack, time.Millisecond)
}

func free(t testing.TB, locks *lock.Locks, name string) {
	t.Helper()
	require.Eventually(t, func() bool {
		v, err := locks.Inspect(t.Context(), name)
		return err == nil && len(v.Holds) == 0 && v.Waiters == 0
	}, slack, time.Millisecond)
}

func TestRedisNotifiesWhoIsNext(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	p, q := dial(t, srv.Addr()), dial(t, srv.Addr())
	for _, opts := range [][]lock.Option{waitingStore, append([]lock.Option{lock.WithFairness()}, waitingStore...)} {
		h := acquire(t, p.Mutex("stock", opts...))
		for range 20 { // without messages the first of them would take an hour
			w := begin(t.Context(), q.Mutex("stock", opts...))
			lines(t, p, "stock", 1)
			release(t, h)
			h = w.granted(t)
			p, q = q, p
		}
		release(t, h)
	}
	free(t, p, "stock")
}

func TestRedisLocksOfEveryKindExclude(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	p, q := dial(t, srv.Addr()), dial(t, srv.Addr())
	for name, c := range map[string]struct{ in, out func(*lock.Locks) lock.Lock }{
		"mutex":     {func(s *lock.Locks) lock.Lock { return s.Mutex("a") }, func(s *lock.Locks) lock.Lock { return s.Mutex("a") }},
		"reentrant": {func(s *lock.Locks) lock.Lock { return s.Reentrant("b") }, func(s *lock.Locks) lock.Lock { return s.Reentrant("b") }},
		"semaphore": {
			func(s *lock.Locks) lock.Lock { return s.Semaphore("c", 3).Take(2) },
			func(s *lock.Locks) lock.Lock { return s.Semaphore("c", 3).Take(2) },
		},
		"reader": {func(s *lock.Locks) lock.Lock { return s.ReadWrite("d").Reader() }, func(s *lock.Locks) lock.Lock { return s.ReadWrite("d").Writer() }},
		"writer": {func(s *lock.Locks) lock.Lock { return s.ReadWrite("d").Writer() }, func(s *lock.Locks) lock.Lock { return s.ReadWrite("d").Reader() }},
	} {
		h := acquire(t, c.in(p))
		requireHeld(t, c.out(q))
		w := begin(t.Context(), c.out(q))
		lines(t, p, h.Name(), 1)
		release(t, h)
		next := w.granted(t)
		require.Greater(t, next.Token(), h.Token(), name)
		release(t, next)
		free(t, p, h.Name())
	}
	m, err := p.Multi(p.Mutex("x"), p.ReadWrite("y").Writer()).Acquire(t.Context())
	require.NoError(t, err)
	_, err = q.Multi(q.Mutex("z"), q.Mutex("x")).TryAcquire(t.Context())
	require.ErrorIs(t, err, lease.ErrHeld)
	require.NoError(t, m.Release(t.Context()))
	free(t, p, "z")
}

func TestRedisForceIsNoticedAtOnce(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	p, q := dial(t, srv.Addr()), dial(t, srv.Addr())
	h := acquire(t, p.Mutex("stock", lock.WithTTL(time.Hour)))
	require.Eventually(t, func() bool { // until it listens
		n, err := srv.Client(t).PubSubNumSub(t.Context(), "solotick:default:line").Result()
		return err == nil && n["solotick:default:line"] == 1
	}, slack, 10*time.Millisecond)
	held, err := q.ForceRelease(t.Context(), "stock", h.Token())
	require.NoError(t, err)
	require.True(t, held)
	select {
	case <-h.Context().Done():
	case <-time.After(slack):
		require.Fail(t, "it is not noticed")
	}
	require.ErrorIs(t, context.Cause(h.Context()), lease.ErrLost)
	require.ErrorIs(t, h.Release(t.Context()), protocol.ErrFenced)
}

// However many wait in one process, one of them is in the queue, one connection listens, and all
// are served.
func TestRedisServesTenThousandWaitersOfAProcess(t *testing.T) {
	waiters := 10_000
	if raceEnabled {
		waiters = 1_500
	}
	srv := redistest.Start(t)
	p := dial(t, srv.Addr())
	h := acquire(t, p.Mutex("stock"))
	before := runtime.NumGoroutine()
	granted := make(chan error, waiters)
	var last atomic.Int64
	for range waiters {
		go func() {
			h, err := p.Mutex("stock").Acquire(t.Context())
			if err == nil {
				if last.Swap(h.Token()) >= h.Token() {
					err = errors.New("the token has not risen")
				}
				err = errors.Join(err, h.Release(t.Context()))
			}
			granted <- err
		}()
	}
	require.Eventually(t, func() bool {
		v, err := p.Inspect(t.Context(), "stock")
		n := runtime.NumGoroutine() - before
		return err == nil && v.Waiters == 1 && n >= waiters && n < waiters+200
	}, 20*time.Second, time.Millisecond, "only the callers wait")
	client := srv.Client(t)
	require.Eventually(t, func() bool {
		info, err := client.PubSubNumSub(t.Context(), "solotick:default:line").Result()
		return err == nil && info["solotick:default:line"] == 1
	}, 20*time.Second, time.Millisecond, "one subscription for all")
	release(t, h)
	for range waiters {
		require.NoError(t, <-granted)
	}
	free(t, p, "stock")
}

// A queue of a thousand waiters, each with a position of its own, is served in order.
func TestRedisServesALongFairLine(t *testing.T) {
	waiters := 1000
	if raceEnabled {
		waiters = 300
	}
	srv := redistest.Start(t)
	p := dial(t, srv.Addr())
	opts := []lock.Option{lock.WithFairness(), lock.WithWaiterTTL(time.Minute)}
	h := acquire(t, p.Mutex("stock", opts...))
	granted := make(chan error, waiters)
	for range waiters {
		go func() {
			h, err := p.Mutex("stock", opts...).Acquire(t.Context())
			if err == nil {
				err = h.Release(t.Context())
			}
			granted <- err
		}()
	}
	lines(t, p, "stock", waiters)
	release(t, h)
	for range waiters {
		require.NoError(t, <-granted)
	}
	free(t, p, "stock")
}
