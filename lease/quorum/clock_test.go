package quorum_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/quorum"
	"github.com/solotick/solotick/scheduler"
)

// TestOneWrongClockOfThreeMovesNoTick has one node, the fastest to answer, far from the two others,
// from the beginning or from some time on; and one of the others away for a while.
func TestOneWrongClockOfThreeMovesNoTick(t *testing.T) {
	for name, apart := range map[string]time.Duration{
		"2s behind": -2 * time.Second, "20s behind": -20 * time.Second, "1h behind": -time.Hour, "1h ahead": time.Hour,
	} {
		for _, stepsAt := range []time.Duration{0, 30 * time.Second} {
			t.Run(fmt.Sprint(name, ", after ", stepsAt), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					list := newFakeNodes(3)
					for i, n := range list {
						n.fault = func() fault {
							return fault{before: rand.N(time.Duration(i+1) * time.Millisecond), after: rand.N(time.Duration(i+1) * time.Millisecond)}
						}
					}
					step := func() {
						list[0].mu.Lock()
						defer list[0].mu.Unlock()
						list[0].offset = apart
					}
					if stepsAt == 0 {
						step()
					}
					runs := runsOf(t, list, func(began time.Time) {
						time.Sleep(stepsAt)
						step()
						time.Sleep(28 * time.Second)
						list[2].set(true) // of the two that are left, one is wrong
						time.Sleep(28 * time.Second)
						list[2].set(false)
						time.Sleep(5500 * time.Millisecond)
					})
					first := time.UnixMilli(runs.first)
					for at := first; !at.After(runs.last); at = at.Add(time.Second) {
						began := runs.began[at.UnixMilli()]
						require.Len(t, began, 1, "tick %s", at)
						require.WithinRange(t, began[0], at, at.Add(100*time.Millisecond), "tick %s", at)
					}
					require.Greater(t, int(runs.last.Sub(first)/time.Second), 55)
				})
			})
		}
	}
}

// fleetRuns are the runs of a job of every second.
type fleetRuns struct {
	mu    sync.Mutex
	began map[int64][]time.Time // by tick
	first int64                 // tick
	last  time.Time
}

// runsOf runs a fleet of three over nodes, for as long as during takes.
func runsOf(t *testing.T, list []*fakeNode, during func(began time.Time)) *fleetRuns {
	r := &fleetRuns{began: make(map[int64][]time.Time)}
	job, err := jobs.New("job", "* * * * * *", func(_ context.Context, run jobs.Run) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		tick := run.Tick.UnixMilli()
		r.began[tick] = append(r.began[tick], time.Now())
		if r.first == 0 || tick < r.first {
			r.first = tick
		}
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
	during(time.Now())
	r.last = time.Now().Truncate(time.Second)
	cancel()
	fleet.Wait()
	return r
}

// TestLeaseLastsItsTTLWhateverTheMedian has two stores see other medians, four minutes apart: one
// has had no answer of the node in the middle.
func TestLeaseLastsItsTTLWhateverTheMedian(t *testing.T) {
	const ttl = 10 * time.Second
	synctest.Test(t, func(t *testing.T) {
		list := newFakeNodes(3)
		list[0].offset, list[2].offset = 3*time.Minute, -4*time.Minute
		s := openFake(t, list)
		synced(t, s, "job")
		time.Sleep(time.Minute) // so that nodes count for who comes later
		list[1].set(true)
		other := openFake(t, list)
		median := func(s *quorum.Store) time.Time {
			now, _, err := s.Time(t.Context())
			require.NoError(t, err)
			return now
		}
		require.Equal(t, 4*time.Minute, median(s).Sub(median(other)))

		for range 3 {
			for _, pair := range [][2]*quorum.Store{{s, other}, {other, s}} {
				tick := median(s).UnixMilli()
				c := claimOf("job", tick, "a", ttl)
				c.Overlap = protocol.OverlapAllow
				g := grantOf(c, claimed(t, pair[0], protocol.Granted, c))
				settle()
				b := claimOf("job", tick, "b", ttl)
				b.Overlap = protocol.OverlapAllow
				time.Sleep(ttl - 100*time.Millisecond)
				claimed(t, pair[1], protocol.Held, b)
				time.Sleep(100*time.Millisecond + ttl/100 + 2*time.Millisecond)
				taken := claimed(t, pair[1], protocol.Granted, b)
				require.Greater(t, taken.Token, g.Token)
				require.NoError(t, pair[1].Settle(t.Context(), grantOf(b, taken), "succeeded"))
				settle()
			}
		}
	})
}
