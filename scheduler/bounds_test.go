package scheduler_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/scheduler"
)

func TestInterruptedTickBeyondWindowIsMissed(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 10m", takes(20*time.Second), jobs.WithMisfire(jobs.MisfireSkip, 0), jobs.WithCatchUp(10*time.Second, 100))
		f.startMany(3, scheduler.WithShutdownGrace(0))
		f.sleepTo(10*time.Minute + time.Second)
		require.Len(t, f.runs.running("job"), 1)
		f.every((*link).cut) // so that nobody gives the tick up
		for _, r := range f.replicas {
			f.halt(r)
		}
		f.sleepTo(12 * time.Minute)
		f.startMany(3)
		f.sleepTo(13 * time.Minute)

		require.Equal(t, "10m0s", f.story("job"))
		require.Equal(t, map[protocol.Outcome]int{wire.Missed: 1}, f.fates("job"))
		missed, _ := eventsOf[scheduler.TicksSkipped](f)
		require.Equal(t, []scheduler.TicksSkipped{{
			Job: "job", To: epoch.Add(10 * time.Minute), Count: 1, Outcome: wire.Missed, Reason: wire.ReasonTooOld,
		}}, missed)
	})
}

func TestOpenTicksOfJobAreBounded(t *testing.T) {
	inFleet(t, func(f *fleet) {
		const most, ticks = 256, 270
		f.job("job", "@every 1s", takes(time.Hour), jobs.WithOverlap(jobs.Allow))
		f.startMany(2, scheduler.WithShutdownGrace(0), scheduler.WithTTL(time.Minute))
		f.sleepTo(ticks*time.Second + 500*time.Millisecond)

		require.Equal(f.t, most, len(f.runs.of("job")), "runs") //nolint:testifylint // Len would print them all
		require.Equal(f.t, map[protocol.Outcome]int{"": most, wire.Skipped: ticks - most}, f.fates("job"))
	})
}
