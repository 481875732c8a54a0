package scheduler_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/scheduler"
)

// TestForgetfulStoreDoublesNothing empties the store again and again, at another phase each time.
// That nothing completes twice and that tokens rise is judged for every fleet.
func TestForgetfulStoreDoublesNothing(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("instant", "@every 1s", takes(0), jobs.WithMisfire(jobs.MisfireAll, time.Minute))
		f.job("long", "@every 30s", takes(20*time.Second))
		f.startMany(3)
		const times = 30
		var last time.Time
		for i := range times {
			f.sleepTo(time.Duration(i+1)*40*time.Second + time.Duration(i)*179*time.Millisecond)
			f.store.Forget()
			last = time.Now()
			time.Sleep(3 * time.Second)
			runs := f.runs.of("instant")
			newest := runs[len(runs)-1].start
			require.Greater(t, newest, last, "ticks go on")
			require.Less(t, time.Since(newest), time.Second+time.Millisecond)
		}
		f.sleepTo(1300*time.Second - 1)
		fates := f.fates("instant")
		require.Zero(t, fates[""])
		require.LessOrEqual(t, fates[forgotten], 2*times, "what was due while nobody knew, and no more")
		require.Equal(t, 1299, fates["succeeded"]+fates[forgotten])

		fates = f.fates("long")
		require.Equal(t, 43, fates["succeeded"]+fates[forgotten]+fates[""], "a run that is under way is kept, and settled")
		require.LessOrEqual(t, fates[""], 1)
		for _, a := range f.runs.of("long") {
			require.Equal(t, 1, a.Attempt)
		}
		events, _ := eventsWhere(f, func(e scheduler.RecordsLost) bool { return e.Job == "" })
		require.Len(t, events, 3*times)
	})
}

func TestRunThatEndsAfterLossIsSettled(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 10s", takes(2*time.Second))
		f.startMany(3)
		f.sleepTo(12*time.Second - time.Millisecond)
		f.store.Forget()
		f.sleepTo(15 * time.Second)
		require.Equal(t, map[protocol.Outcome]int{"succeeded": 1}, f.fates("job"))
		f.sleepTo(25 * time.Second)
		require.Equal(t, "10s, 20s", f.story("job"))
	})
}

func TestTicksThatAStoreForgotAreCounted(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 10s", takes(0), jobs.WithMisfire(jobs.MisfireAll, time.Hour))
		f.startMany(3)
		f.sleepTo(15 * time.Second)
		f.every((*link).cut)
		f.sleepTo(45 * time.Second)
		f.store.Forget()
		f.every((*link).heal)
		f.sleepTo(55 * time.Second)
		require.Equal(t, "10s, 50s", f.story("job"), "whether 20s, 30s and 40s ran, the store cannot say")
		require.Equal(t, map[string]int{"missed forgotten": 3}, f.passed("job"), "by the one that made the record anew")
	})
}

// TestReplicaStartedAfterLossBringsNothingBack: it knows of nothing, but the others do.
func TestReplicaStartedAfterLossBringsNothingBack(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 10s", takes(0), jobs.WithMisfire(jobs.MisfireAll, time.Hour))
		f.startMany(2)
		f.sleepTo(10100 * time.Millisecond)
		f.store.Forget()
		f.start("c")
		f.sleepTo(35 * time.Second)
		require.Equal(t, "10s, 20s, 30s", f.story("job"))
	})
}

// TestTakenOverTickIsNotReleasedAfterLoss cuts a holder off until another has settled its tick and
// the store has forgotten that: when the holder is back, a release of its would be believed.
func TestTakenOverTickIsNotReleasedAfterLoss(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "* * * * *", func(ctx context.Context, run jobs.Run) error {
			if run.Attempt > 1 {
				return nil
			}
			<-ctx.Done()
			return context.Cause(ctx)
		})
		f.startMany(3)
		f.sleepTo(61 * time.Second)
		held := f.runs.running("job")
		require.Len(t, held, 1)
		f.replica(held[0].Replica).link.cut()
		f.sleepTo(85 * time.Second)
		require.Len(t, f.runs.of("job"), 2)
		f.store.Forget()
		f.replica(held[0].Replica).link.heal()
		f.sleepTo(119 * time.Second)
		require.Len(t, f.runs.of("job"), 2, "and no third time")
	})
}
