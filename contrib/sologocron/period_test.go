package sologocron_test

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/contrib/sologocron"
	"github.com/solotick/solotick/lease/memlease"
)

const period = 2 * time.Second

// replica is a gocron scheduler with a job that is due each period after its start.
type replica struct {
	s      gocron.Scheduler
	locker *sologocron.Locker
}

func startReplica(t *testing.T, store *memlease.Store, run func(), options ...sologocron.Option) replica {
	t.Helper()
	locker, err := sologocron.NewLocker(store, options...)
	require.NoError(t, err)
	s, err := gocron.NewScheduler(gocron.WithDistributedLocker(locker))
	require.NoError(t, err)
	_, err = s.NewJob(gocron.DurationJob(period), gocron.NewTask(run), gocron.WithName("job"))
	require.NoError(t, err)
	s.Start()
	return replica{s, locker}
}

func (r replica) stop(t *testing.T) {
	t.Helper()
	require.NoError(t, r.s.Shutdown())
	r.locker.Close()
}

func TestAJobRunsOnOneReplicaAtATime(t *testing.T) {
	for name, options := range map[string][]sologocron.Option{
		"by call":     nil,
		"by schedule": {sologocron.WithSchedule("job", "@every 2s", "UTC")},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := new(memlease.Store)
				var now, most, all atomic.Int64
				run := func() {
					all.Add(1)
					most.Store(max(most.Load(), now.Add(1)))
					time.Sleep(5 * time.Second) // more than two periods
					now.Add(-1)
				}
				var fleet []replica
				for range 3 {
					fleet = append(fleet, startReplica(t, store, run, options...))
					time.Sleep(700 * time.Millisecond)
				}
				time.Sleep(time.Minute)
				for _, r := range fleet {
					r.stop(t)
				}
				require.EqualValues(t, 1, most.Load())
				require.GreaterOrEqual(t, all.Load(), int64(8), "it runs again when it has ended")
			})
		})
	}
}

// gocron counts the period of a DurationJob from the start of its scheduler.
func TestReplicasThatStartApartRunOnceAPeriod(t *testing.T) {
	for name, apart := range map[string]func() time.Duration{
		"together":        func() time.Duration { return 0 },
		"by 0.7 s":        func() time.Duration { return 700 * time.Millisecond },
		"by half of it":   func() time.Duration { return period / 2 },
		"at random":       func() time.Duration { return rand.N(period) },
		"milliseconds":    func() time.Duration { return rand.N(3 * time.Millisecond) },
		"nearly a period": func() time.Duration { return period - time.Millisecond },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := new(memlease.Store)
				var runs []time.Time
				var last atomic.Pointer[sologocron.Locker] // that ran it
				var fleet []replica
				for range 5 {
					var locker atomic.Pointer[sologocron.Locker]
					r := startReplica(t, store, func() {
						runs = append(runs, time.Now())
						last.Store(locker.Load())
					})
					locker.Store(r.locker)
					fleet = append(fleet, r)
					time.Sleep(apart())
				}
				time.Sleep(period / 5) // gocron drops a task after the Lock if it is stopped at that instant
				for len(fleet) > 1 {   // one that runs the job goes after the other
					time.Sleep(10 * period)
					for i, r := range fleet {
						if r.locker == last.Load() {
							r.stop(t)
							fleet = append(fleet[:i], fleet[i+1:]...)
							break
						}
					}
				}
				time.Sleep(10 * period)
				fleet[0].stop(t)
				require.GreaterOrEqual(t, len(runs), 46)
				for i := 1; i < len(runs); i++ {
					between := runs[i].Sub(runs[i-1])
					require.GreaterOrEqual(t, between, period-5*time.Millisecond)
					require.Less(t, between, 2*period, "run %d", i)
				}
			})
		})
	}
}

// A replica that dies in a run is followed by another one when its lease has run out.
func TestAReplicaThatDiesIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(memlease.Store)
		dead, err := sologocron.NewLocker(store, sologocron.WithTTL(5*time.Second))
		require.NoError(t, err)
		_, err = dead.Lock(t.Context(), "job")
		require.NoError(t, err)
		dead.Close() // it is renewed no more
		died := time.Now()

		var runs []time.Time
		r := startReplica(t, store, func() { runs = append(runs, time.Now()) })
		time.Sleep(time.Minute)
		r.stop(t)
		require.NotEmpty(t, runs)
		require.LessOrEqual(t, runs[0].Sub(died), 5*time.Second+period)
		require.GreaterOrEqual(t, runs[0].Sub(died), 5*time.Second)
	})
}

func TestAReplicasOwnCallsAreNotRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locker, err := sologocron.NewLocker(new(memlease.Store))
		require.NoError(t, err)
		defer locker.Close()
		for range 5 { // jobs below a second, and RunNow
			held, err := locker.Lock(t.Context(), "job")
			require.NoError(t, err)
			_, err = locker.Lock(t.Context(), "job")
			require.ErrorIs(t, err, sologocron.ErrNotMine, "it still runs")
			require.NoError(t, held.Unlock(t.Context()))
		}
	})
}
