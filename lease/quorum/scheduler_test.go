package quorum_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/quorum"
	"github.com/solotick/solotick/scheduler"
)

// A fleet of three runs every tick exactly once while one node dies in the middle, comes back
// empty, and another hangs.
func TestSchedulersRunEachTickOnceWhileNodesDie(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := newFakeNodes(3)
		for _, n := range list {
			n.fault = func() fault { return fault{before: time.Millisecond, after: time.Millisecond} }
		}
		var mu sync.Mutex
		runs := map[int64]int{}
		job, err := jobs.New("job", "* * * * * *", func(_ context.Context, run jobs.Run) error {
			mu.Lock()
			defer mu.Unlock()
			runs[run.Tick.UnixMilli()]++
			return nil
		})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		var fleet sync.WaitGroup
		for i := range 3 {
			var registry jobs.Registry
			require.NoError(t, registry.Add(job))
			s, err := scheduler.New(openFake(t, list, quorum.WithTimeout(time.Second)), &registry, scheduler.WithReplica(fmt.Sprint("replica-", i)))
			require.NoError(t, err)
			fleet.Go(func() {
				if err := s.Run(ctx); err != nil {
					t.Error(err)
				}
			})
		}
		time.Sleep(3500 * time.Millisecond)
		first := time.Now().Truncate(time.Second)
		time.Sleep(20 * time.Second)
		list[0].set(true)
		time.Sleep(40 * time.Second)
		list[0].empty()
		list[0].set(false)
		time.Sleep(40 * time.Second)
		list[1].hang(true)
		time.Sleep(20 * time.Second)
		last := time.Now().Truncate(time.Second)
		list[1].hang(false)
		time.Sleep(3 * time.Second)
		cancel()
		fleet.Wait()

		for at := first; !at.After(last); at = at.Add(time.Second) {
			require.Equal(t, 1, runs[at.UnixMilli()], "tick %s", at)
		}
		require.Greater(t, int(last.Sub(first)/time.Second), 100)
	})
}
