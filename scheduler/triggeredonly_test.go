package scheduler_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/wire"
)

// A job without a schedule is never due, late or overdue: it runs when it is triggered, through a
// restart of the whole fleet.
func TestATriggeredOnlyJobRunsOnlyWhenTriggered(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@triggered", takes(time.Second))
		for _, r := range f.startMany(3) {
			f.sleepTo(time.Second)
			require.NoError(t, r.WaitReady(t.Context()))
			for _, j := range r.Jobs() {
				require.Zero(t, j.Next)
			}
		}
		f.sleepTo(10500 * time.Millisecond)
		first := f.trigger("job")
		f.sleepTo(10 * time.Minute)
		require.Equal(t, wire.Succeeded, f.fateOf("job", first).outcome)
		f.requireOverdue("job", 0, 0)

		f.stopAll()
		f.startMany(2)
		f.sleepTo(10*time.Minute + 5500*time.Millisecond)
		second := f.trigger("job")
		f.sleepTo(20 * time.Minute)
		require.Equal(t, wire.Succeeded, f.fateOf("job", second).outcome)
		require.Equal(t, "10.5s, 10m5.5s", f.story("job"))
		require.Empty(t, f.passed("job"), "nothing was missed")
	})
}
