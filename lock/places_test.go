package lock_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/lock"
)

// lasting are leases and places that outlast the time in which the lock must be free.
var lasting = []lock.Option{lock.WithTTL(time.Hour), lock.WithWaiterTTL(time.Hour)}

// freeWithin is how soon the lock must be free after the last caller has left.
const freeWithin = 200 * time.Millisecond

// leavers are the callers of one process, whose contexts end around the moment of the grant.
func leavers(ctx context.Context, locks *lock.Locks, r *rand.Rand, most time.Duration) {
	with := func(opts ...lock.Option) []lock.Option { return append(opts, lasting...) }
	kinds := []lock.Lock{
		locks.Mutex("stock", lasting...),
		locks.Mutex("stock", with(lock.WithFairness())...),
		locks.Semaphore("stock", 1, with(lock.WithWritersFirst())...),
		locks.Reentrant("stock", lasting...),
	}
	var running sync.WaitGroup
	for i := range kinds {
		r := rand.New(rand.NewPCG(r.Uint64(), uint64(i)))
		running.Go(func() {
			for ctx.Err() == nil {
				l := kinds[r.IntN(len(kinds))]
				wait, cancel := context.WithTimeout(ctx, time.Duration(r.Int64N(int64(most))))
				how := l.Acquire
				if r.IntN(4) == 0 {
					how = l.TryAcquire
				}
				if h, err := how(wait); err == nil {
					linger(ctx, time.Duration(r.Int64N(int64(most/4))))
					_ = h.Release(context.Background())
				}
				cancel()
			}
		})
	}
	running.Wait()
}

// Callers whose contexts end while their requests travel leave no hold and no place in the queue,
// whether or not their process closes.
func TestHistoriesOfLeaversLeaveTheLockFree(t *testing.T) {
	seed := seedOf(t)
	rounds := uint64(20)
	if raceEnabled {
		rounds = 10 // make soak repeats this
	}
	for name, c := range map[string]struct {
		loses  bool
		settle time.Duration // for so long after the last caller has left
	}{
		"requests overtake": {},
		"requests are lost": {true, time.Minute}, // in which one of many withdrawals arrives
	} {
		t.Run(name, func(t *testing.T) {
			for round := range rounds {
				bubble(t, func(t *testing.T, store *memlease.Store) {
					r := rand.New(rand.NewPCG(seed, round))
					ctx, stop := context.WithTimeout(t.Context(), time.Duration(r.Int64N(int64(300*time.Millisecond))))
					defer stop()
					var running sync.WaitGroup
					for range 4 {
						n := &network{Store: store, loses: c.loses, rand: rand.New(rand.NewPCG(r.Uint64(), 0))}
						locks := lock.New(n)
						t.Cleanup(locks.Close)
						closes, own := r.IntN(2) == 0 && !c.loses, rand.New(rand.NewPCG(r.Uint64(), 1)) // a process that ends has no time to repeat
						running.Go(func() {
							leavers(ctx, locks, own, 22*time.Millisecond)
							if closes {
								locks.Close()
							}
						})
					}
					running.Wait()
					time.Sleep(c.settle)
					began := time.Now()
					locks := lock.New(store)
					defer locks.Close()
					h, err := locks.Mutex("stock", lock.WithFairness()).Acquire(t.Context())
					require.NoError(t, err)
					require.Less(t, time.Since(began), freeWithin, "round %d", round)
					release(t, h)
					time.Sleep(networkLate)
					requireFree(t, store, "stock")
				})
				if t.Failed() {
					return
				}
			}
		})
	}
}

// The same on Redis, whose store has several connections.
func TestHistoriesOfLeaversLeaveRedisFree(t *testing.T) {
	seed := seedOf(t)
	srv := redistest.Start(t)
	r := rand.New(rand.NewPCG(seed, 0))
	for round := range 5 {
		ctx, stop := context.WithTimeout(t.Context(), 300*time.Millisecond)
		var running sync.WaitGroup
		for range 8 {
			locks := dial(t, srv.Addr())
			closes, own := r.IntN(2) == 0, rand.New(rand.NewPCG(r.Uint64(), 1))
			running.Go(func() {
				leavers(ctx, locks, own, 22*time.Millisecond)
				if closes {
					locks.Close()
				}
			})
		}
		running.Wait()
		stop()
		next := begin(t.Context(), dial(t, srv.Addr()).Mutex("stock", lock.WithFairness()))
		h := next.granted(t)
		t.Logf("round %d: free after %s", round, next.took)
		require.Less(t, next.took, slack, "round %d", round)
		release(t, h)
	}
}
