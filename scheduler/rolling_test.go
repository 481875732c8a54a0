package scheduler_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/scheduler"
)

func TestRollingRestartUnderLoadKeepsEveryPromise(t *testing.T) {
	inFleet(t, func(f *fleet) {
		replicas, count, room := 20, 100, 8
		if raceDetected {
			replicas, count = 10, 50
		}
		for i := range count {
			f.job(fmt.Sprintf("job-%03d", i), "@every 10s", takes(time.Duration(i%5+1)*time.Second))
		}
		options := []scheduler.Option{scheduler.WithMaxRuns(room), scheduler.WithShutdownGrace(2 * time.Second)}
		var old []*replica
		for i := range replicas {
			old = append(old, f.start(fmt.Sprintf("old-%02d", i), options...))
		}
		f.sleepTo(15 * time.Second)
		for i, r := range old { // at each moment of the period, some of them in the middle of a run
			f.sleepTo(15*time.Second + time.Duration(i)*1300*time.Millisecond)
			f.start(fmt.Sprintf("new-%02d", i), options...)
			f.halt(r)
		}
		f.sleepTo(69 * time.Second)

		attempts := 0
		for i := range count {
			name := fmt.Sprintf("job-%03d", i)
			require.Equal(t, map[protocol.Outcome]int{wire.Succeeded: 6}, f.fates(name), name)
			require.Empty(t, f.passed(name))
			for _, a := range f.runs.of(name) {
				attempts = max(attempts, a.Attempt)
				if a.Attempt == 1 {
					require.LessOrEqual(t, a.start.Sub(a.Tick), 3*time.Second, name)
				}
			}
		}
		require.Greater(t, attempts, 1, "runs were interrupted, and their ticks run again")
		lost, _ := eventsOf[scheduler.RunLost](f)
		require.Empty(t, lost)
		for _, r := range f.replicas {
			require.LessOrEqual(t, f.heaviest(r.Replica()), room)
			require.Zero(t, r.Capacity().Used, "room is given back however a run ends")
		}
	})
}
