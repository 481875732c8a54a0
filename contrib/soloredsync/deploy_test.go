package soloredsync_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/contrib/soloredsync"
	"github.com/solotick/solotick/internal/deploytest"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/lease/redislease"
	"github.com/solotick/solotick/lock"
	"github.com/solotick/solotick/solotest/processes"
)

func old(r *processes.Replica) (deploytest.Obtain, error) {
	rs := redsync.New(goredis.NewPool(r.Client()))
	return func(ctx context.Context, key string, ttl time.Duration) (func(), error) {
		m := rs.NewMutex(key, redsync.WithExpiry(ttl))
		if err := m.TryLockContext(ctx); err != nil {
			return nil, unlessTaken(err)
		}
		return func() { _, _ = m.UnlockContext(ctx) }, nil
	}, nil
}

func with(options func(r *processes.Replica) []soloredsync.RedsyncOption) func(r *processes.Replica) (deploytest.Obtain, error) {
	return func(r *processes.Replica) (deploytest.Obtain, error) {
		rs := soloredsync.New(lock.New(r.Store()), options(r)...)
		return func(ctx context.Context, key string, ttl time.Duration) (func(), error) {
			m := rs.NewMutex(key, soloredsync.WithExpiry(ttl))
			if err := m.TryLockContext(ctx); err != nil {
				return nil, unlessTaken(err)
			}
			return func() { _, _ = m.UnlockContext(ctx) }, nil
		}, nil
	}
}

func unlessTaken(err error) error {
	if taken := new(redsync.ErrTaken); errors.As(err, &taken) {
		return nil
	}
	return err
}

func TestARollingDeployRunsNothingTwice(t *testing.T) {
	deploytest.Run(t, deploytest.Versions{
		{Name: "old", Make: old},
		{Name: "bridge", Make: with(func(r *processes.Replica) []soloredsync.RedsyncOption {
			return []soloredsync.RedsyncOption{soloredsync.Bridge(redsync.New(goredis.NewPool(r.Client())))}
		})},
		{Name: "new", Make: with(func(*processes.Replica) []soloredsync.RedsyncOption { return nil })},
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

func TestABridgeHoldsBothMutexes(t *testing.T) {
	client := redistest.Start(t).Client(t)
	store, err := redislease.New(client, "test")
	require.NoError(t, err)
	t.Cleanup(func() { _ = store.Close() })
	locks := lock.New(store)
	t.Cleanup(locks.Close)
	const expiry = 3 * time.Second
	rs := redsync.New(goredis.NewPool(client))
	before, after := rs.NewMutex("name"), soloredsync.New(locks).NewMutex("name")
	bridge := soloredsync.New(locks, soloredsync.Bridge(rs), soloredsync.WithKeepAlive()).NewMutex("name", soloredsync.WithExpiry(expiry))
	unlock := func(f func() (bool, error)) {
		t.Helper()
		ok, err := f()
		require.NoError(t, err)
		require.True(t, ok)
	}

	require.NoError(t, bridge.Lock())
	awaitKept(t, client, "name")
	unlock(bridge.Extend)
	require.Error(t, before.TryLock())
	require.Error(t, after.TryLock())
	unlock(bridge.Unlock)

	require.NoError(t, before.TryLock())
	require.Error(t, bridge.TryLock())
	require.NoError(t, after.TryLock(), "an old replica and a new one do not know each other")
	unlock(before.Unlock)
	require.Error(t, bridge.TryLock())
	require.NoError(t, before.TryLock(), "the bridge keeps neither of them")
	unlock(before.Unlock)
	unlock(after.Unlock)
}
