package fleet

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/schedules"
	"github.com/solotick/solotick/solotest"
	"github.com/solotick/solotick/solotest/processes"
)

// TestStoredSchedulesOutliveTheirReplicas runs 200 schedules, each every two seconds, in a fleet of which
// one replica is killed, one is frozen, and one is stopped for another. Each tick succeeds once.
func TestStoredSchedulesOutliveTheirReplicas(t *testing.T) {
	const keys, every = 200, 2 * time.Second
	processes.Run(t, 4, func(r *processes.Replica) {
		job, err := jobs.New("report", "", func(ctx context.Context, _ jobs.Run) error {
			select {
			case <-time.After(300 * time.Millisecond):
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}, jobs.WithSchedules(), jobs.WithOverlap(jobs.Allow), jobs.WithMisfire(jobs.MisfireAll, time.Minute))
		require.NoError(t, err)
		r.Job(job)
	}, func(f *processes.Fleet) {
		all, err := schedules.New(f.Store(), "report")
		require.NoError(t, err)
		rows := make([]schedules.Schedule, keys)
		for i := range rows {
			rows[i] = schedules.Schedule{Key: fmt.Sprint("k", i), Cron: fmt.Sprintf("@every 2s offset %ds", i%2)}
		}
		_, err = all.PutAll(t.Context(), rows)
		require.NoError(t, err)
		from := time.Now().Add(time.Second)
		time.Sleep(2500 * time.Millisecond)
		f.Kill("r1")
		time.Sleep(2 * time.Second)
		f.Pause("r2")
		f.Start("r5")
		f.Stop("r3")
		time.Sleep(3 * time.Second)
		f.Resume("r2")
		time.Sleep(2 * time.Second)
		to := time.Now()
		time.Sleep(processes.TTL + 2*time.Second)

		succeeded, first := map[string]int{}, map[string]time.Duration{}
		runs := f.Runs("report")
		for _, e := range runs {
			id := e.TickID()
			if e.Outcome == "succeeded" {
				succeeded[id]++
			}
			if late := e.Began.Sub(e.Tick); first[id] == 0 || late < first[id] {
				first[id] = late
			}
		}
		var worst time.Duration
		for i := range keys {
			for tick := from.Truncate(every).Add(time.Duration(i%2) * time.Second); tick.Before(to); tick = tick.Add(every) {
				if tick.Before(from) {
					continue
				}
				run := solotest.Execution{Run: jobs.Run{Namespace: runs[0].Namespace, Job: "report", Key: fmt.Sprint("k", i), Tick: tick}}
				require.Equal(t, 1, succeeded[run.TickID()], run.TickID())
				worst = max(worst, first[run.TickID()])
			}
		}
		t.Logf("%d ticks, the latest began after %s", len(succeeded), worst)
		require.LessOrEqual(t, worst, processes.TTL+time.Second+time.Second, "and a second for a busy machine")
	})
}
