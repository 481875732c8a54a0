package scheduler

import (
	"github.com/solotick/solotick/scheduler/internal/admission"

	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/solotick/solotick/jobs"
)

// contenderOf returns what two replicas make of the same job.
func contenderOf(t require.TestingT, name, schedule string, options ...jobs.Option) (a, b *contender) {
	fresh := func() *contender {
		job, err := jobs.New(name, schedule, func(context.Context, jobs.Run) error { return nil }, options...)
		require.NoError(t, err)
		return newContender(&Scheduler{capacity: admission.NewCapacity(0)}, job)
	}
	return fresh(), fresh()
}

func TestJitterAgreesAndStaysBeforeTheNextTick(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		period := rapid.IntRange(1, 10_000).Draw(t, "period")
		jitter := time.Duration(rapid.IntRange(0, period*1000-1).Draw(t, "jitter")) * time.Millisecond
		name := rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9._-]{0,20}`).Draw(t, "name")
		a, b := contenderOf(t, name, fmt.Sprintf("@every %ds", period), jobs.WithJitter(jitter))
		tick := a.TickAfter(rapid.Int64Range(0, 1<<42).Draw(t, "after"))
		for range 20 {
			next := a.TickAfter(tick)
			require.Equal(t, tick+int64(period)*1000, next)
			require.Equal(t, a.Due(tick), b.Due(tick))
			require.GreaterOrEqual(t, a.Due(tick), tick)
			require.LessOrEqual(t, a.Due(tick), tick+jitter.Milliseconds())
			require.Less(t, a.Due(tick), next)
			tick = next
		}
	})
}

func TestJitterSpreadsTicksOverAllOfItsRange(t *testing.T) {
	const tenth = 1000 // ms
	byTick, byJob := [10]int{}, [10]int{}
	hourly, _ := contenderOf(t, "hourly", "@hourly", jobs.WithJitter(10*tenth*time.Millisecond-1))
	tick := int64(1_800_000_000_000)
	for i := range 1000 {
		byTick[(hourly.Due(tick)-tick)/tenth]++
		other, _ := contenderOf(t, fmt.Sprintf("job-%d", i), "@hourly", jobs.WithJitter(10*tenth*time.Millisecond-1))
		const together = 1_800_000_000_000
		byJob[(other.Due(together)-together)/tenth]++
		tick = hourly.TickAfter(tick)
	}
	for i := range 10 { // 100 are expected in each tenth, give or take 10
		require.InDelta(t, 100, byTick[i], 50, "%v", byTick)
		require.InDelta(t, 100, byJob[i], 50, "%v", byJob)
	}
}
