package soloredislock_test

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bsm/redislock"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/contrib/soloredislock"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/lock"
)

const key = "__test:key__"

// test runs in virtual time, with two clients as in two processes.
func test(t *testing.T, f func(t *testing.T, a, b *soloredislock.Client), options ...soloredislock.Option) {
	synctest.Test(t, func(t *testing.T) {
		store := new(memlease.Store)
		one, two := lock.New(store), lock.New(store)
		defer one.Close()
		defer two.Close()
		f(t, soloredislock.New(one, options...), soloredislock.New(two, options...))
	})
}

func TestLockIsObtainedOnceUntilReleased(t *testing.T) {
	test(t, func(t *testing.T, a, b *soloredislock.Client) {
		lock, err := a.Obtain(t.Context(), key, time.Hour, &soloredislock.Options{Metadata: "my-data"})
		require.NoError(t, err)
		require.Equal(t, key, lock.Key())
		require.Equal(t, "my-data", lock.Metadata())
		require.Equal(t, strconv.FormatInt(lock.Fence(), 10), lock.Token())
		ttl, err := lock.TTL(t.Context())
		require.NoError(t, err)
		require.Equal(t, time.Hour, ttl)
		_, err = b.Obtain(t.Context(), key, time.Hour, nil)
		require.Same(t, redislock.ErrNotObtained, err)
		other, err := b.Obtain(t.Context(), key+"2", time.Hour, nil)
		require.NoError(t, err)
		require.NoError(t, other.Release(t.Context()))

		require.NoError(t, lock.Release(t.Context()))
		require.Error(t, lock.Context().Err())
		ttl, err = lock.TTL(t.Context())
		require.NoError(t, err)
		require.Zero(t, ttl)
		next, err := b.Obtain(t.Context(), key, time.Hour, nil)
		require.NoError(t, err)
		require.Greater(t, next.Fence(), lock.Fence())
		require.NoError(t, next.Release(t.Context()))
	})
}

func TestOneOfManyObtainsALock(t *testing.T) {
	test(t, func(t *testing.T, a, b *soloredislock.Client) {
		var obtained atomic.Int32
		var all sync.WaitGroup
		for i := range 100 {
			client := []*soloredislock.Client{a, b}[i%2]
			all.Go(func() {
				lock, err := client.Obtain(t.Context(), key, time.Minute, nil)
				if err == nil {
					obtained.Add(1)
					defer func() { _ = lock.Release(t.Context()) }()
					time.Sleep(time.Second)
				}
			})
		}
		all.Wait()
		require.EqualValues(t, 1, obtained.Load())
	})
}

func TestRetriesFollowTheStrategy(t *testing.T) {
	test(t, func(t *testing.T, a, b *soloredislock.Client) {
		began := time.Now()
		lock, err := a.Obtain(t.Context(), key, 20*time.Second, nil)
		require.NoError(t, err)
		_, err = b.Obtain(t.Context(), key, time.Hour, &soloredislock.Options{RetryStrategy: soloredislock.LimitRetry(soloredislock.LinearBackoff(time.Second), 3)})
		require.Same(t, soloredislock.ErrNotObtained, err)
		require.Equal(t, 3*time.Second, time.Since(began))

		_, err = b.Obtain(t.Context(), key, 5*time.Second, &soloredislock.Options{RetryStrategy: soloredislock.LinearBackoff(time.Second)})
		require.ErrorIs(t, err, context.DeadlineExceeded, "the TTL limits retries")
		require.Equal(t, 8*time.Second, time.Since(began))
		short, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		_, err = b.Obtain(short, key, time.Hour, &soloredislock.Options{RetryStrategy: soloredislock.ExponentialBackoff(time.Second, time.Second)})
		require.ErrorIs(t, err, context.DeadlineExceeded)

		next, err := b.Obtain(t.Context(), key, time.Hour, &soloredislock.Options{RetryStrategy: soloredislock.LinearBackoff(700 * time.Millisecond)})
		require.NoError(t, err)
		require.InDelta(t, 20.5, time.Since(began).Seconds(), 0.5)
		require.NoError(t, next.Release(t.Context()))
		require.Same(t, soloredislock.ErrLockNotHeld, lock.Release(t.Context()))
	})
}

func TestRefreshExtendsALockThatIsHeld(t *testing.T) {
	test(t, func(t *testing.T, a, b *soloredislock.Client) {
		lock, err := a.Obtain(t.Context(), key, time.Second, nil)
		require.NoError(t, err)
		time.Sleep(900 * time.Millisecond)
		require.NoError(t, lock.Refresh(t.Context(), time.Minute, nil))
		time.Sleep(59 * time.Second)
		ttl, err := lock.TTL(t.Context())
		require.NoError(t, err)
		require.Equal(t, time.Second, ttl)
		_, err = b.Obtain(t.Context(), key, time.Minute, nil)
		require.Same(t, soloredislock.ErrNotObtained, err)

		time.Sleep(time.Second)
		synctest.Wait()
		require.Same(t, soloredislock.ErrNotObtained, lock.Refresh(t.Context(), time.Minute, nil))
		require.Error(t, lock.Context().Err())
	})
}

func TestReleaseSaysThatALockIsNotHeld(t *testing.T) {
	test(t, func(t *testing.T, a, b *soloredislock.Client) {
		expired, err := a.Obtain(t.Context(), key, time.Millisecond, nil)
		require.NoError(t, err)
		time.Sleep(5 * time.Millisecond)
		other, err := b.Obtain(t.Context(), key, time.Hour, nil)
		require.NoError(t, err)
		require.Same(t, redislock.ErrLockNotHeld, expired.Release(t.Context()))
		ttl, err := other.TTL(t.Context())
		require.NoError(t, err)
		require.Positive(t, ttl, "another's lock stays")
		require.NoError(t, other.Release(t.Context()))
		require.Same(t, redislock.ErrLockNotHeld, other.Release(t.Context()))
		var none *soloredislock.Lock
		require.Same(t, redislock.ErrLockNotHeld, none.Release(t.Context()))
	})
}

func TestKeepAliveLastsUntilTheRelease(t *testing.T) {
	test(t, func(t *testing.T, a, b *soloredislock.Client) {
		ctx, cancel := context.WithCancel(t.Context())
		lock, err := a.Obtain(ctx, key, time.Second, nil)
		require.NoError(t, err)
		cancel()
		time.Sleep(time.Hour)
		require.NoError(t, lock.Context().Err())
		require.NoError(t, lock.Refresh(t.Context(), time.Second, nil))
		_, err = b.Obtain(t.Context(), key, time.Second, nil)
		require.Same(t, soloredislock.ErrNotObtained, err)
		require.NoError(t, lock.Release(t.Context()))
	}, soloredislock.WithKeepAlive())
}

func TestWrongArgumentsAreRefused(t *testing.T) {
	_, err := soloredislock.New(nil, nil, soloredislock.Bridge(nil)).Obtain(t.Context(), key, 0, &soloredislock.Options{Token: "mine"})
	for _, want := range []string{"locks: nil", "options[0]: nil", "bridge: nil", "ttl", "Token must be empty"} {
		require.ErrorContains(t, err, want)
	}
	test(t, func(t *testing.T, a, _ *soloredislock.Client) {
		lock, err := a.Obtain(t.Context(), "", time.Hour, nil)
		require.NoError(t, err, "any string is a key")
		require.ErrorContains(t, lock.Refresh(t.Context(), 0, nil), "ttl")
		require.NoError(t, lock.Release(t.Context()))
	})
}
