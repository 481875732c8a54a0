package scheduler

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

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
