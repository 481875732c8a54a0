package soloredsync_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/contrib/soloredsync"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/lock"
)

// test runs in virtual time, with two makers of mutexes as in two processes.
func test(t *testing.T, f func(t *testing.T, a, b *soloredsync.Redsync), options ...soloredsync.RedsyncOption) {
	synctest.Test(t, func(t *testing.T) {
		store := new(memlease.Store)
		one, two := lock.New(store), lock.New(store)
		defer one.Close()
		defer two.Close()
		f(t, soloredsync.New(one, options...), soloredsync.New(two, options...))
	})
}

func TestMutexesOfANameExcludeEachOther(t *testing.T) {
	test(t, func(t *testing.T, a, b *soloredsync.Redsync) {
		var mu sync.Mutex
		var inside int
		var order []int64
		var all sync.WaitGroup
		for i := range 10 {
			m := []*soloredsync.Redsync{a, b}[i%2].NewMutex("test:mutex", soloredsync.WithTries(1000))
			all.Go(func() {
				if err := m.Lock(); err != nil {
					t.Error(err)
					return
				}
				token, _ := strconv.ParseInt(m.Value(), 10, 64)
				mu.Lock()
				inside++
				order = append(order, token)
				if inside != 1 {
					t.Errorf("%d hold the mutex", inside)
				}
				mu.Unlock()
				time.Sleep(time.Second)
				mu.Lock()
				inside--
				mu.Unlock()
				if ok, err := m.Unlock(); !ok || err != nil {
					t.Errorf("unlock: %v, %v", ok, err)
				}
			})
		}
		all.Wait()
		require.Len(t, order, 10)
		require.IsIncreasing(t, order, "fencing tokens")
	})
}

func TestATakenMutexIsRefused(t *testing.T) {
	test(t, func(t *testing.T, a, b *soloredsync.Redsync) {
		m, other := a.NewMutex("name"), b.NewMutex("name", soloredsync.WithTries(3), soloredsync.WithRetryDelay(time.Second))
		require.Equal(t, "name", m.Name())
		require.Empty(t, m.Value())
		require.Error(t, m.Context().Err())
		require.NoError(t, m.TryLock())
		for _, lock := range []func() error{m.TryLock, other.TryLock, other.Lock} {
			began, err := time.Now(), lock()
			require.Equal(t, &redsync.ErrTaken{Nodes: []int{0}}, err, "the type itself")
			require.LessOrEqual(t, time.Since(began), 2*time.Second)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		require.Same(t, redsync.ErrFailed, other.LockContext(ctx))
		ok, err := m.Unlock()
		require.NoError(t, err)
		require.True(t, ok)
		require.NoError(t, other.TryLock())
		ok, err = other.Unlock()
		require.NoError(t, err)
		require.True(t, ok)
	})
}

func TestExtendMakesAMutexLast(t *testing.T) {
	test(t, func(t *testing.T, a, b *soloredsync.Redsync) {
		m := a.NewMutex("name", soloredsync.WithExpiry(time.Second))
		require.NoError(t, m.Lock())
		for range 10 {
			time.Sleep(900 * time.Millisecond)
			ok, err := m.Extend()
			require.NoError(t, err)
			require.True(t, ok)
			require.Equal(t, time.Second, time.Until(m.Until()))
		}
		valid, err := m.Valid()
		require.NoError(t, err)
		require.True(t, valid)
		require.Error(t, b.NewMutex("name").TryLock())

		time.Sleep(time.Second)
		ok, err := m.Extend()
		require.IsType(t, new(redsync.ErrTaken), err) //nolint:testifylint // programs use type assertions on redsync's errors
		require.False(t, ok)
	})
}

func TestAnExpiredMutexIsAnothers(t *testing.T) {
	test(t, func(t *testing.T, a, b *soloredsync.Redsync) {
		m, other := a.NewMutex("name", soloredsync.WithExpiry(500*time.Millisecond)), b.NewMutex("name")
		ok, err := m.Unlock()
		require.Same(t, redsync.ErrLockAlreadyExpired, err, "never locked")
		require.False(t, ok)
		require.NoError(t, m.Lock())
		require.NoError(t, other.Lock(), "when the first has expired")
		valid, err := m.Valid()
		require.NoError(t, err)
		require.False(t, valid)
		require.Zero(t, m.Until())
		require.Error(t, m.Context().Err())
		ok, err = m.Unlock()
		require.Same(t, redsync.ErrLockAlreadyExpired, err)
		require.False(t, ok)
		valid, err = other.Valid()
		require.NoError(t, err)
		require.True(t, valid)
		ok, err = other.Unlock()
		require.NoError(t, err)
		require.True(t, ok)
		require.NoError(t, m.Lock(), "a mutex can be locked again")
	})
}

func TestKeepAliveLastsUntilTheUnlock(t *testing.T) {
	test(t, func(t *testing.T, a, b *soloredsync.Redsync) {
		m := a.NewMutex("name", soloredsync.WithExpiry(time.Second))
		ctx, cancel := context.WithCancel(t.Context())
		require.NoError(t, m.LockContext(ctx))
		cancel()
		time.Sleep(time.Hour)
		require.NoError(t, m.Context().Err())
		require.Error(t, b.NewMutex("name").TryLock())
		ok, err := m.Extend()
		require.NoError(t, err)
		require.True(t, ok)
		ok, err = m.Unlock()
		require.NoError(t, err)
		require.True(t, ok)
	}, soloredsync.WithKeepAlive())
}

func TestWrongArgumentsAreRefused(t *testing.T) {
	m := soloredsync.New(nil, nil, soloredsync.Bridge(nil)).
		NewMutex("name", nil, soloredsync.WithExpiry(0), soloredsync.WithTries(0), soloredsync.WithRetryDelayFunc(nil))
	for _, err := range []error{m.Lock(), m.TryLock()} {
		for _, want := range []string{"locks: nil", "options[0]: nil", "bridge: nil", "expiry", "tries", "retry delay"} {
			require.ErrorContains(t, err, want)
		}
	}
}
