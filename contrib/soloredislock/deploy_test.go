package soloredislock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/contrib/soloredislock"
	"github.com/solotick/solotick/internal/deploytest"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/redislease"
	"github.com/solotick/solotick/lock"
	"github.com/solotick/solotick/solotest/processes"
)

func old(r *processes.Replica) (deploytest.Obtain, error) {
	client := redislock.New(r.Client())
	return func(ctx context.Context, key string, ttl time.Duration) (func(), error) {
		held, err := client.Obtain(ctx, key, ttl, nil)
		if err != nil {
			return nil, unless(err, redislock.ErrNotObtained)
		}
		return func() { _ = held.Release(ctx) }, nil
	}, nil
}

func with(options func(r *processes.Replica) []soloredislock.Option) func(r *processes.Replica) (deploytest.Obtain, error) {
	return func(r *processes.Replica) (deploytest.Obtain, error) {
		client := soloredislock.New(lock.New(r.Store()), options(r)...)
		return func(ctx context.Context, key string, ttl time.Duration) (func(), error) {
			held, err := client.Obtain(ctx, key, ttl, nil)
			if err != nil {
				return nil, unless(err, soloredislock.ErrNotObtained)
			}
			return func() { _ = held.Release(ctx) }, nil
		}, nil
	}
}

// unless returns the error unless it is the one that is expected.
func unless(err, expected error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return err
}

func TestARollingDeployRunsNothingTwice(t *testing.T) {
	deploytest.Run(t, deploytest.Versions{
		{Name: "old", Make: old},
		{Name: "bridge", Make: with(func(r *processes.Replica) []soloredislock.Option {
			return []soloredislock.Option{soloredislock.Bridge(r.Client())}
		})},
		{Name: "new", Make: with(func(*processes.Replica) []soloredislock.Option { return nil })},
	})
}

// awaitKept waits until the old lock of a key is extended.
func awaitKept(t *testing.T, client *redis.Client, key string) {
	t.Helper()
	var last time.Duration
	require.Eventually(t, func() bool {
		remaining := client.PTTL(t.Context(), key).Val()
		extended := last > 0 && remaining > last
		last = remaining
		return extended
	}, time.Minute, 5*time.Millisecond)
}

func TestABridgeHoldsBothLocks(t *testing.T) {
	client := redistest.Start(t).Client(t)
	store, err := redislease.New(client, "test")
	require.NoError(t, err)
	t.Cleanup(func() { _ = store.Close() })
	locks := lock.New(store)
	t.Cleanup(locks.Close)
	before, after := redislock.New(client), soloredislock.New(locks)
	const ttl = 3 * time.Second
	bridge := soloredislock.New(locks, soloredislock.Bridge(client), soloredislock.WithKeepAlive())

	held, err := bridge.Obtain(t.Context(), key, ttl, nil)
	require.NoError(t, err)
	awaitKept(t, client, key)
	require.NoError(t, held.Refresh(t.Context(), ttl, nil))
	_, err = before.Obtain(t.Context(), key, ttl, nil)
	require.ErrorIs(t, err, redislock.ErrNotObtained)
	_, err = after.Obtain(t.Context(), key, ttl, nil)
	require.ErrorIs(t, err, redislock.ErrNotObtained)
	require.NoError(t, held.Release(t.Context()))

	one, err := before.Obtain(t.Context(), key, time.Minute, nil)
	require.NoError(t, err)
	_, err = bridge.Obtain(t.Context(), key, time.Minute, nil)
	require.ErrorIs(t, err, redislock.ErrNotObtained)
	two, err := after.Obtain(t.Context(), key, time.Minute, nil)
	require.NoError(t, err, "an old replica and a new one do not know each other")
	require.NoError(t, one.Release(t.Context()))
	_, err = bridge.Obtain(t.Context(), key, time.Minute, nil)
	require.ErrorIs(t, err, redislock.ErrNotObtained)
	one, err = before.Obtain(t.Context(), key, time.Minute, nil)
	require.NoError(t, err, "the bridge keeps neither of them")
	require.NoError(t, one.Release(t.Context()))
	require.NoError(t, two.Release(t.Context()))
}

func TestAJobTakesTheOldLockWhileItRuns(t *testing.T) {
	client := redistest.Start(t).Client(t)
	before := redislock.New(client)
	const ttl = 3 * time.Second
	calls := 0
	away := errors.New("no paper")
	handler := soloredislock.WhileOld(client, key, ttl)(func(ctx context.Context, run jobs.Run) error {
		calls++
		require.Equal(t, "invoices", run.Job)
		awaitKept(t, client, key)
		_, err := before.Obtain(ctx, key, ttl, nil)
		require.ErrorIs(t, err, redislock.ErrNotObtained)
		return away
	})
	run := jobs.Run{Job: "invoices"}

	held, err := before.Obtain(t.Context(), key, time.Minute, nil)
	require.NoError(t, err)
	require.NoError(t, handler(t.Context(), run))
	require.Zero(t, calls, "an old replica runs the tick")
	require.NoError(t, held.Release(t.Context()))

	require.ErrorIs(t, handler(t.Context(), run), away)
	require.Equal(t, 1, calls)
	held, err = before.Obtain(t.Context(), key, time.Minute, nil)
	require.NoError(t, err, "the lock is released")
	require.NoError(t, held.Release(t.Context()))

	none := soloredislock.WhileOld(nil, key, 0)(handler)
	require.ErrorContains(t, none(t.Context(), run), "must be a client")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, handler(ended, run), context.Canceled)
	require.Equal(t, 1, calls)
}
