package scheduler

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/memlease"
)

// farStore takes a while to answer claims.
type farStore struct {
	memlease.Store
	rtt       time.Duration
	now, most atomic.Int64
	claims    atomic.Int64
}

func (f *farStore) Claim(ctx context.Context, c protocol.Claim) (protocol.Answer, error) {
	f.claims.Add(1)
	raise(&f.most, f.now.Add(1))
	time.Sleep(f.rtt)
	f.now.Add(-1)
	return f.Store.Claim(ctx, c)
}

func raise(most *atomic.Int64, n int64) {
	for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
	}
}

// fleetOfOne returns a scheduler of so many jobs that are due each minute.
func fleetOfOne(t *testing.T, store protocol.Store, count int, handler jobs.Handler, opts ...Option) *Scheduler {
	var registry jobs.Registry
	for i := range count {
		job, err := jobs.New(fmt.Sprint("job-", i), "* * * * *", handler)
		require.NoError(t, err)
		require.NoError(t, registry.Add(job))
	}
	s, err := New(store, &registry, opts...)
	require.NoError(t, err)
	return s
}

func TestBlockedHandlersDelayNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const count = 300
		var started atomic.Int64
		s := fleetOfOne(t, new(memlease.Store), count, func(ctx context.Context, run jobs.Run) error {
			if time.Since(run.Tick) < time.Second {
				started.Add(1)
			}
			<-ctx.Done()
			return ctx.Err()
		}, WithShutdownGrace(0))
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
		defer cancel()
		require.NoError(t, s.Run(ctx))
		require.EqualValues(t, count, started.Load())
	})
}

func TestFarStoreIsAskedByAllAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const count = 300
		store := &farStore{rtt: 100 * time.Millisecond}
		var late atomic.Int64
		s := fleetOfOne(t, store, count, func(_ context.Context, run jobs.Run) error {
			raise(&late, int64(time.Since(run.Tick)))
			return nil
		})
		ctx, cancel := context.WithTimeout(t.Context(), 70*time.Second)
		defer cancel()
		require.NoError(t, s.Run(ctx))
		require.EqualValues(t, count, store.most.Load())
		require.Less(t, time.Duration(late.Load()), 2*store.rtt)
	})
}

// underWay returns how many contenders are admitted.
func underWay(s *Scheduler) int {
	s.inflight.mu.Lock()
	defer s.inflight.mu.Unlock()
	return s.inflight.used
}

func TestGoroutinesEndWhenNothingIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fleetOfOne(t, &farStore{rtt: 100 * time.Millisecond}, 100, func(context.Context, jobs.Run) error { return nil })
		ctx, cancel := context.WithTimeout(t.Context(), 70*time.Second)
		defer cancel()
		var running sync.WaitGroup
		running.Go(func() { require.NoError(t, s.Run(ctx)) })
		time.Sleep(time.Until(time.Now().Truncate(time.Minute).Add(time.Minute + 50*time.Millisecond)))
		synctest.Wait()
		require.Equal(t, 100, underWay(s))
		time.Sleep(5 * time.Second)
		synctest.Wait()
		require.Zero(t, underWay(s))
		running.Wait()
	})
}

func TestAdmissionIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const count, limit = 100, 7
		store := &farStore{rtt: 10 * time.Millisecond}
		s := fleetOfOne(t, store, count, func(context.Context, jobs.Run) error { return nil })
		ctx, cancel := context.WithTimeout(t.Context(), 70*time.Second)
		defer cancel()
		s.inflight.limit = limit
		s.inflight.cut = time.Now().Add(time.Hour) // and no answer changes it
		s.inflight.threshold = 0
		require.NoError(t, s.Run(ctx))
		require.LessOrEqual(t, store.most.Load(), int64(2*limit)) // a fraction of one is added with each answer
		require.GreaterOrEqual(t, store.most.Load(), int64(limit))
		require.GreaterOrEqual(t, store.claims.Load(), int64(count))
	})
}

// TestBackupsGoLast has both kinds wait, and takes them out as a goroutine that is admitted does.
func TestBackupsGoLast(t *testing.T) {
	gate := newInflight(time.Second)
	gate.limit = 0 // none is admitted but by this test
	a := newAdmission(gate, time.Second)
	var first, backups []*contender
	for range 2 * backupTurn {
		c, b := new(contender), new(contender)
		b.backup.Store(true)
		first, backups = append(first, c), append(backups, b)
	}
	a.add(backups)
	a.add(first)
	a.add(first[:1]) // once is enough
	require.Equal(t, 4*backupTurn, a.waiting())

	var order []bool
	for next, ok := a.next(); ok; next, ok = a.next() {
		order = append(order, next.backup.Load())
		require.False(t, next.queued)
	}
	require.Len(t, order, 4*backupTurn)
	for i, backup := range order[:2*backupTurn] {
		require.Equal(t, i%backupTurn == backupTurn-1, backup, "one of %d is a backup", backupTurn)
	}
}

// TestEndsWaitForFirstClaims has a contender wait, and looks when the end of a run is recorded.
func TestEndsWaitForFirstClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := newInflight(time.Second)
		gate.limit = 0 // none is admitted but by this test
		a := newAdmission(gate, 30*time.Second)
		var ended atomic.Int32 // they are recorded at the same time
		end := func() {
			a.end(func() { ended.Add(1) })
			synctest.Wait()
		}
		end()
		require.EqualValues(t, 1, ended.Load(), "none waits")

		a.add([]*contender{new(contender)})
		end()
		require.EqualValues(t, 1, ended.Load())
		_, ok := a.next()
		require.True(t, ok)
		synctest.Wait()
		require.EqualValues(t, 2, ended.Load(), "the contender was admitted")

		a.add([]*contender{new(contender)})
		end()
		time.Sleep(time.Second - 1)
		end()
		require.EqualValues(t, 2, ended.Load())
		time.Sleep(time.Second)
		synctest.Wait()
		require.EqualValues(t, 4, ended.Load(), "the store is slow")
		end()
		require.EqualValues(t, 4, ended.Load(), "and the next one waits again")
		time.Sleep(time.Second)
		synctest.Wait()
		require.EqualValues(t, 5, ended.Load())
	})
}

func TestFIFOIsInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q fifo[int]
		pushed, popped := 0, 0
		for range rapid.IntRange(1, 30).Draw(t, "rounds") {
			for range rapid.IntRange(0, 2000).Draw(t, "pushes") {
				q.push(pushed)
				pushed++
			}
			for range rapid.IntRange(0, q.len()).Draw(t, "pops") {
				require.Equal(t, popped, q.pop())
				popped++
			}
			require.Equal(t, pushed-popped, q.len())
			require.LessOrEqual(t, q.head, max(1024, q.len()), "it must not grow for ever")
		}
	})
}
