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

	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/lease/protocol"
)

// farStore takes a while to answer claims.
type farStore struct {
	memlease.Store
	rtt       time.Duration
	now, most atomic.Int64
}

func (f *farStore) Claim(ctx context.Context, c protocol.Claim) (protocol.Answer, error) {
	raise(&f.most, f.now.Add(1))
	time.Sleep(f.rtt)
	f.now.Add(-1)
	return f.Store.Claim(ctx, c)
}

func raise(most *atomic.Int64, n int64) {
	for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
	}
}

// crewOf returns a scheduler of so many jobs that are due each minute.
func crewOf(t *testing.T, store protocol.Store, count int, handler jobs.Handler, opts ...Option) *Scheduler {
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

func TestHandlersThatBlockHoldUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const count = 300
		var started atomic.Int64
		s := crewOf(t, new(memlease.Store), count, func(ctx context.Context, run jobs.Run) error {
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

func TestAFarStoreIsAskedByAllAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const count = 300
		store := &farStore{rtt: 100 * time.Millisecond}
		var late atomic.Int64
		s := crewOf(t, store, count, func(_ context.Context, run jobs.Run) error {
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

func TestHandsEndWhenTheyAreNotNeededAnyMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := crewOf(t, &farStore{rtt: 100 * time.Millisecond}, 100, func(context.Context, jobs.Run) error { return nil })
		ctx, cancel := context.WithTimeout(t.Context(), 70*time.Second)
		defer cancel()
		var running sync.WaitGroup
		running.Go(func() { require.NoError(t, s.Run(ctx)) })
		time.Sleep(time.Until(time.Now().Truncate(time.Minute).Add(time.Minute + 50*time.Millisecond)))
		synctest.Wait()
		require.GreaterOrEqual(t, s.crew.alive.total.Load(), int64(100))
		time.Sleep(5 * time.Second)
		synctest.Wait()
		require.Zero(t, s.crew.alive.total.Load())
		running.Wait()
	})
}

func TestHandsAreNoMoreThanProcessorsWhileNobodyWaitsForTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const count, procs = 1000, 3
		s := crewOf(t, new(memlease.Store), count, func(context.Context, jobs.Run) error { return nil })
		s.stopping.Store(true) // they find nothing to do
		s.crew.procs = procs
		s.contends.Add(count)
		s.crew.contend(s.jobs.Load().contenders)
		s.contends.Wait()
		synctest.Wait()
		require.Len(t, s.crew.idle, procs)
		require.Zero(t, s.crew.free.Load())
		s.crew.away() // had it been free, another would be wanted, were there anything to do
		s.crew.back()
		require.Len(t, s.crew.idle, procs)
		s.crew.close(time.Second)
		require.Zero(t, s.crew.alive.total.Load())
	})
}

func TestTicksAreStartedBeforeOthersAreSettledButNotForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newCrew(newInflight(time.Second))
		c, d, r := new(contender), new(contender), new(run)
		w.procs = 0 // nobody takes anything but this test
		w.put(after{ended: r, since: time.Now()})
		w.contend([]*contender{c, d})

		next, _, _, ok := w.take(nil)
		require.True(t, ok)
		require.Same(t, c, next, "what has ended can wait")
		time.Sleep(patience + 1)
		next, _, late, ok := w.take(nil)
		require.True(t, ok)
		require.Nil(t, next)
		require.Same(t, r, late.ended, "it has waited for long enough")
		next, _, _, _ = w.take(nil)
		require.Same(t, d, next)
		require.Zero(t, w.queued.Load())
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
				require.Equal(t, popped, q.first())
				require.Equal(t, popped, q.pop())
				popped++
			}
			require.Equal(t, pushed-popped, q.len())
			require.LessOrEqual(t, q.head, max(1024, q.len()), "it must not grow for ever")
		}
	})
}
