package lock_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/lease/redislease"
	"github.com/solotick/solotick/lock"
)

// mortal is a process that can be killed: its holds and its places in queues then run out.
type mortal struct {
	*lock.Locks
	kill func()
}

// crowd is what others do to the locks that a Multi waits for.
type crowd struct {
	join   func(holder string) mortal
	ttl    time.Duration
	names  []string
	plain  int // processes for each name that take it alone
	multis int // processes that take several together
	deadly int // of 100 holds, so many end by the death of the process
}

// run has the processes work until ctx ends.
func (c *crowd) run(ctx context.Context, r *rand.Rand) {
	var working sync.WaitGroup
	work := func(holder string, take func(m mortal, r *rand.Rand) (func(), error)) {
		r := rand.New(rand.NewPCG(r.Uint64(), 0))
		working.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				m, dies := c.join(fmt.Sprintf("%s.%d", holder, n)), false
				for !dies && ctx.Err() == nil {
					release, err := take(m, r)
					dies = err == nil && r.IntN(100) < c.deadly
					if !dies && err == nil {
						time.Sleep(time.Duration(r.Int64N(int64(20 * time.Millisecond))))
						release()
					}
					if r.IntN(4) == 0 {
						time.Sleep(time.Duration(r.Int64N(int64(20 * time.Millisecond))))
					}
				}
				working.Go(m.kill)
			}
		})
	}
	for _, name := range c.names {
		for i := range c.plain {
			work(fmt.Sprintf("%s.%d", name, i), func(m mortal, _ *rand.Rand) (func(), error) {
				h, err := m.Mutex(name, lock.WithTTL(c.ttl)).Acquire(ctx)
				return func() { _ = h.Release(context.Background()) }, err
			})
		}
	}
	for i := range c.multis {
		work(fmt.Sprintf("multi.%d", i), func(m mortal, r *rand.Rand) (func(), error) {
			h, err := c.multi(m, r).Acquire(ctx)
			return func() { _ = h.Release(context.Background()) }, err
		})
	}
	working.Wait()
}

// multi is all of the locks, in a random order.
func (c *crowd) multi(m mortal, r *rand.Rand) *lock.Multi {
	locks := make([]lock.Lock, len(c.names))
	for i, n := range r.Perm(len(c.names)) {
		locks[i] = m.Mutex(c.names[n], lock.WithTTL(c.ttl))
	}
	return m.Multi(locks...)
}

// requireBounded acquires all of the locks several times, and demands the bound of each wait.
func (c *crowd) requireBounded(t *testing.T, r *rand.Rand, waits int) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var crowding sync.WaitGroup
	others := rand.New(rand.NewPCG(r.Uint64(), 0))
	crowding.Go(func() { c.run(ctx, others) })
	defer crowding.Wait()
	defer stop()
	m := c.join("waiter")
	defer m.kill()
	// As long as the caller itself may wait, each that is before it may wait as well.
	most, longest := (c.ttl+time.Second)*time.Duration(len(c.names)*(1+c.multis)), time.Duration(0)
	for range waits {
		time.Sleep(time.Duration(r.Int64N(int64(100 * time.Millisecond))))
		began := time.Now()
		h, err := c.multi(m, r).Acquire(ctx)
		require.NoError(t, err)
		took := time.Since(began)
		longest = max(longest, took)
		require.LessOrEqual(t, took, most, "of %d plain and %d multis, %d%% die", c.plain, c.multis, c.deadly)
		require.NoError(t, h.Release(t.Context()))
	}
	t.Logf("%d names, %d plain, %d multis, %d%% die: waited %v of %v", len(c.names), c.plain, c.multis, c.deadly, longest, most)
}

func draw(r *rand.Rand) *crowd {
	c := &crowd{
		names: []string{"a", "b", "c", "d"}[:2+r.IntN(3)], plain: r.IntN(4), multis: r.IntN(3), deadly: 10 + r.IntN(60),
		ttl: time.Second + time.Duration(r.Int64N(int64(3*time.Second))),
	}
	return c
}

// TestHistoriesOfMultisWaitWithinTheirBound kills holders at random moments while a Multi waits.
func TestHistoriesOfMultisWaitWithinTheirBound(t *testing.T) {
	seed, rounds := seedOf(t), uint64(30)
	if raceEnabled {
		rounds = 12 // make soak repeats this
	}
	for round := range rounds {
		bubble(t, func(t *testing.T, store *memlease.Store) {
			r := rand.New(rand.NewPCG(seed, round))
			c := draw(r)
			c.join = func(holder string) mortal {
				p := joins(t, store, holder)
				return mortal{p.Locks, func() {
					p.link.cut(fails)
					p.Close()
				}}
			}
			c.requireBounded(t, r, 20)
		})
		if t.Failed() {
			return
		}
	}
}

// The same on Redis.
func TestHistoriesOfMultisOnRedisWaitWithinTheirBound(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	r := rand.New(rand.NewPCG(seedOf(t), 0))
	c := &crowd{names: []string{"a", "b", "c"}, plain: 3, deadly: 30, ttl: time.Second, join: func(holder string) mortal {
		client := redis.NewClient(&redis.Options{Addr: srv.Addr()})
		store, err := redislease.New(client, "default", redislease.WithTimeout(300*time.Millisecond))
		if err != nil {
			t.Error(err)
		}
		locks := lock.New(store, lock.WithHolder(holder))
		return mortal{locks, func() {
			_ = client.Close()
			locks.Close()
			_ = store.Close()
		}}
	}}
	c.requireBounded(t, r, 5)
}
