package redislease_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease/redislease"
	"github.com/solotick/solotick/lock"
)

// TestPermitsSurviveMoveOfTheirSlot moves the slot of locks that are in use to another node, one
// key after another, as redis-cli does. When nobody uses them any more, all their permits are
// there, those too that a user asked for who died.
func TestPermitsSurviveMoveOfTheirSlot(t *testing.T) {
	t.Parallel()
	const permits, ttl = 8, 500 * time.Millisecond
	c := startCluster(t)
	type kind struct {
		one, all lock.Lock
		limit    int
	}
	for what, kindOf := range map[string]func(locks *lock.Locks, name string) kind{
		"semaphore": func(locks *lock.Locks, name string) kind {
			s := locks.Semaphore(name, permits, lock.WithTTL(ttl))
			return kind{s, s.Take(permits), permits}
		},
		"read-write": func(locks *lock.Locks, name string) kind {
			l := locks.ReadWrite(name, lock.WithTTL(ttl))
			return kind{l.Reader(), l.Writer(), protocol.MaxPermits}
		},
	} {
		t.Run(what, func(t *testing.T) {
			const rounds = 20 // what happens in one depends on which requests meet the move
			for round := range rounds {
				const from = 0
				namespace := fmt.Sprint(what, round) // whose slots are all where they were
				store := openForIn(t, redis.NewClusterClient(c.options()), namespace)
				locks := lock.New(store)
				defer locks.Close()
				name := c.nameIn(t, namespace, from, "permits")
				l := kindOf(locks, name)
				users := use(t, l.one, 2, permits/2) // so that some are always free
				slot, err := c.admins[0].ClusterKeySlot(t.Context(), redislease.Key(namespace, "lock:"+name)).Result()
				require.NoError(t, err)

				died := 0
				goOn := func() {
					claim := lockOf(name, "dead", fmt.Sprint("r", died), 1, l.limit)
					claim.TTL = ttl
					_, _ = store.ClaimLock(t.Context(), claim)
					died++
					users.goOn()
				}
				c.moveInUse(t, slot, from, goOn)
				users.end()
				require.Eventually(t, func() bool {
					h, err := l.all.TryAcquire(t.Context())
					return err == nil && h.Release(t.Context()) == nil
				}, 4*ttl, 20*time.Millisecond, "all permits")
			}
		})
	}
}

// moveInUse gives a slot to the next node, key by key, and calls goOn after each.
func (c *cluster) moveInUse(t *testing.T, slot int64, from int, goOn func()) {
	to := (from + 1) % len(c.nodes)
	do := func(node int, args ...any) {
		t.Helper()
		require.NoError(t, c.admins[node].Do(t.Context(), args...).Err())
	}
	ids := make([]string, len(c.nodes))
	for i, admin := range c.admins {
		ids[i] = admin.ClusterMyID(t.Context()).Val()
	}
	host, port, err := net.SplitHostPort(c.nodes[to].Addr())
	require.NoError(t, err)
	do(to, "cluster", "setslot", slot, "importing", ids[from])
	do(from, "cluster", "setslot", slot, "migrating", ids[to])
	for {
		keys, err := c.admins[from].ClusterGetKeysInSlot(t.Context(), int(slot), 1000).Result()
		require.NoError(t, err)
		if len(keys) == 0 {
			break
		}
		do(from, "migrate", host, port, keys[0], 0, 5000)
		goOn()
	}
	for _, node := range []int{to, from, 3 - to - from} {
		do(node, "cluster", "setslot", slot, "node", ids[to])
	}
	goOn()
}

// users take a lock and give it back, again and again.
type users struct {
	t     *testing.T
	tries atomic.Int64
	end   func()
}

// use has so many hold l all the time, and so many others now and then.
func use(t *testing.T, l lock.Lock, keep, others int) *users {
	t.Helper()
	u := &users{t: t}
	var kept []*lock.Hold
	for range keep {
		h, err := l.Acquire(t.Context())
		require.NoError(t, err)
		kept = append(kept, h)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var using sync.WaitGroup
	for range others {
		using.Go(func() {
			for ctx.Err() == nil {
				if h, err := l.TryAcquire(ctx); err == nil {
					_ = h.Release(ctx)
				}
				u.tries.Add(1)
			}
		})
	}
	u.end = sync.OnceFunc(func() {
		cancel()
		using.Wait()
		for _, h := range kept {
			_ = h.Release(context.Background())
		}
	})
	t.Cleanup(u.end)
	return u
}

// goOn returns when the lock has been used for a while.
func (u *users) goOn() {
	u.t.Helper()
	from := u.tries.Load()
	require.Eventually(u.t, func() bool { return u.tries.Load() > from+50 }, 20*time.Second, time.Millisecond)
}
