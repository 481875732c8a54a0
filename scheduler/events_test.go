package scheduler

import (
	"github.com/solotick/solotick/scheduler/internal/reports"

	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
)

// TestRandomEventsLoseAndRepeatNoTick lets everything that can happen to a contender happen at
// random moments, most of it without a reason, and judges that each tick ran once all the same.
func TestRandomEventsLoseAndRepeatNoTick(t *testing.T) {
	for range 20 {
		seed := rand.Uint64N(1_000_000)
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { disturb(t, rand.New(rand.NewPCG(seed, 1))) })
		})
	}
}

func disturb(t *testing.T, draw *rand.Rand) {
	overlap := []jobs.Overlap{jobs.Allow, jobs.Forbid}[draw.IntN(2)]
	var mu sync.Mutex
	runs := map[int64]int{} // of each tick; one that is skipped while another runs, as the policy says, counts as run
	job, err := jobs.New("job", "@every 1s", func(_ context.Context, run jobs.Run) error {
		mu.Lock()
		defer mu.Unlock()
		runs[run.Tick.UnixMilli()]++
		return nil
	}, jobs.WithMisfire(jobs.MisfireAll, 5*time.Second), jobs.WithOverlap(overlap), jobs.WithJitter(200*time.Millisecond))
	require.NoError(t, err)
	var registry jobs.Registry
	require.NoError(t, registry.Add(job))
	store := &farStore{rtt: time.Duration(draw.Int64N(int64(150 * time.Millisecond)))}
	s, err := New(store, &registry, WithMaxRuns(draw.IntN(2)), WithSyncObserver(func(e Event) {
		if skipped, ok := e.(TicksSkipped); ok && skipped.Reason == wire.ReasonOverlap && overlap == jobs.Forbid {
			mu.Lock()
			defer mu.Unlock()
			for i := range skipped.Count {
				runs[skipped.To.UnixMilli()-int64(i)*1000]++
			}
		}
	}))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { require.NoError(t, s.Run(ctx)) })
	require.NoError(t, s.WaitReady(t.Context()))

	c := s.jobs.Load().byName["job"]
	first := c.TickAfter(time.Now().UnixMilli())
	kinds := []reports.Report{{Kind: reports.Granted}, {Kind: reports.Queued}, {Kind: reports.Settled}, {Kind: reports.Busy}, {Kind: reports.Decided}, {Kind: reports.Behind}}
	events := []func(now int64){
		func(int64) { c.locked(c.pokeLocked) },
		func(int64) { c.woken(0) },
		func(now int64) { c.woken(now - draw.Int64N(3000)) }, // nobody has triggered that
		func(int64) { c.cancelled() },
		func(int64) { s.answersAgain() },
		func(int64) { c.roomFreed() },
		func(int64) { c.verify() },
		func(int64) { c.reread() },
		func(int64) { c.locked(c.rescheduleLocked) },
		func(now int64) { c.locked(func() { c.ClockChanged(now) }); s.syncer.wanted.Set() },
		func(int64) { c.locked(c.StoreForgot); s.syncer.wanted.Set() },
		func(int64) { c.setHandler(job) },
		func(now int64) {
			c.questioned(reports.InquiryID{Asker: "another", Number: draw.Int64N(5)}, now-draw.Int64N(5000))
		},
		func(int64) { c.resume(reports.InquiryID{Asker: "another", Number: draw.Int64N(5)}) },
		func(now int64) {
			tick := (now - draw.Int64N(3000)) / 1000 * 1000
			r := kinds[draw.IntN(len(kinds))]
			r.Job, r.Tick, r.Until, r.Watermark = "job", tick, now+draw.Int64N(2000), draw.IntN(2) == 0
			c.learn(r, "another", now)
		},
	}
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		time.Sleep(time.Duration(draw.Int64N(int64(300 * time.Millisecond))))
		events[draw.IntN(len(events))](time.Now().UnixMilli())
	}
	last := time.Now().UnixMilli() / 1000 * 1000
	time.Sleep(30 * time.Second) // for late ticks, and those that another replica seemed to run
	cancel()
	running.Wait()
	for tick := first; tick <= last; tick += 1000 {
		require.Equal(t, 1, runs[tick], "of %s, overlap %s", time.UnixMilli(tick).UTC().Format(time.TimeOnly), overlap)
	}
}
