package sologocron_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/contrib/sologocron"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/lock"
)

// skewed is a clock that is wrong.
type skewed struct {
	clockwork.Clock
	by time.Duration
}

func (c skewed) Now() time.Time { return c.Clock.Now().Add(c.by) }

// runs counts the runs of a job by the minute in which they began.
type runs struct {
	mu sync.Mutex
	at map[time.Time]int
}

func (r *runs) run() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.at == nil {
		r.at = map[time.Time]int{}
	}
	r.at[time.Now().Round(time.Minute)]++
}

// start starts a gocron scheduler with a job at each minute.
func start(t *testing.T, by time.Duration, run func(), options ...gocron.SchedulerOption) gocron.Scheduler {
	t.Helper()
	options = append(options, gocron.WithClock(skewed{clockwork.NewRealClock(), by}), gocron.WithLocation(time.UTC))
	s, err := gocron.NewScheduler(options...)
	require.NoError(t, err)
	_, err = s.NewJob(gocron.CronJob("* * * * *", false), gocron.NewTask(run), gocron.WithName("invoices"))
	require.NoError(t, err)
	s.Start()
	return s
}

// Clocks that differ by more than a run lasts are why a lock that is deleted runs a tick again.
func TestWrongClocksRunEachTickOnce(t *testing.T) {
	for name, options := range map[string][]sologocron.Option{
		"by schedule": {sologocron.WithSchedule("invoices", "* * * * *", "UTC")},
		"by grain":    {sologocron.WithGrain(time.Minute)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store, counted := new(memlease.Store), new(runs)
				var stop []func()
				for _, by := range []time.Duration{-20 * time.Second, -300 * time.Millisecond, 0, 300 * time.Millisecond, 20 * time.Second} {
					locker, err := sologocron.NewLocker(store, options...)
					require.NoError(t, err)
					s := start(t, by, counted.run, gocron.WithDistributedLocker(locker))
					stop = append(stop, func() { require.NoError(t, s.Shutdown()); locker.Close() })
				}
				time.Sleep(10*time.Minute + 40*time.Second)
				for _, stop := range stop {
					stop()
				}
				require.GreaterOrEqual(t, len(counted.at), 10)
				for minute, n := range counted.at {
					require.Equal(t, 1, n, "runs of %s", minute)
				}
			})
		})
	}
}

func TestATickIsLockedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(memlease.Store)
		a, err := sologocron.NewLocker(store, sologocron.WithGrain(time.Minute), sologocron.WithHolder("a"))
		require.NoError(t, err)
		defer a.Close()
		b, err := sologocron.NewLocker(store, sologocron.WithGrain(time.Minute), sologocron.WithHolder("b"))
		require.NoError(t, err)
		defer b.Close()

		name := "main.(*Mailer).Digest-fm" // gocron's default
		held, err := a.Lock(t.Context(), name)
		require.NoError(t, err)
		_, err = b.Lock(t.Context(), name)
		require.ErrorIs(t, err, sologocron.ErrNotMine)
		require.NoError(t, held.Unlock(t.Context()))
		_, err = b.Lock(t.Context(), name)
		require.ErrorIs(t, err, sologocron.ErrNotMine, "the tick is settled")
		time.Sleep(time.Minute)
		held, err = b.Lock(t.Context(), name)
		require.NoError(t, err, "the next one")
		require.NoError(t, held.Unlock(t.Context()))
	})
}

func TestAFastClockWaitsForTheTick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(memlease.Store)
		locker, err := sologocron.NewLocker(store, sologocron.WithSchedule("hourly", "@hourly", "UTC"), sologocron.WithMaxEarly(10*time.Minute))
		require.NoError(t, err)
		defer locker.Close()
		time.Sleep(55 * time.Minute)
		began := time.Now()
		held, err := locker.Lock(t.Context(), "hourly")
		require.NoError(t, err)
		require.Equal(t, 5*time.Minute, time.Since(began))
		require.NoError(t, held.Unlock(t.Context()))

		time.Sleep(45 * time.Minute)
		_, err = locker.Lock(t.Context(), "hourly")
		require.ErrorContains(t, err, "15m0s away")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		time.Sleep(6 * time.Minute)
		_, err = locker.Lock(ctx, "hourly")
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

func TestUnlockSaysThatTheLeaseWasLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(memlease.Store)
		locker, err := sologocron.NewLocker(store, sologocron.WithTTL(time.Second), sologocron.WithGrain(time.Minute), sologocron.WithHolder("a"))
		require.NoError(t, err)
		held, err := locker.Lock(t.Context(), "job")
		require.NoError(t, err)
		locker.Close() // it is renewed no more
		time.Sleep(5 * time.Second)
		other, err := sologocron.NewLocker(store)
		require.NoError(t, err)
		defer other.Close()
		next, err := other.Lock(t.Context(), "job")
		require.NoError(t, err, "the tick before is settled as lost")
		require.Error(t, held.Unlock(t.Context()))
		require.NoError(t, next.Unlock(t.Context()))
	})
}

func TestWrongArgumentsAreRefused(t *testing.T) {
	_, err := sologocron.NewLocker(nil, nil, sologocron.WithTTL(0), sologocron.WithGrain(0), sologocron.WithMaxEarly(-1),
		sologocron.WithHolder("a b"), sologocron.WithBridge(nil), sologocron.WithSchedule("job", "61 * * * *", "Nowhere/Land"))
	for _, want := range []string{"options[0]", "store", "ttl", "grain", "max early", "a b", "bridge", `"61 * * * *"`, "Nowhere/Land"} {
		require.ErrorContains(t, err, want)
	}
}

func TestOnlyTheLeaderRunsJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, counted := new(memlease.Store), new(runs)
		var electors []*sologocron.Elector
		var schedulers []gocron.Scheduler
		var all []*lock.Locks
		for range 3 {
			locks := lock.New(store)
			e := sologocron.NewElector(locks, "gocron", lock.WithTTL(3*time.Second))
			electors, all = append(electors, e), append(all, locks)
			schedulers = append(schedulers, start(t, 0, counted.run, gocron.WithDistributedElector(e)))
		}
		leaders := func() (n int) {
			for _, e := range electors {
				if err := e.IsLeader(t.Context()); err == nil {
					n++
				} else {
					require.ErrorIs(t, err, sologocron.ErrNotLeader)
				}
			}
			return n
		}
		time.Sleep(5*time.Minute + 30*time.Second)
		require.Equal(t, 1, leaders())
		for _, e := range electors { // the leader resigns, and the next one takes its place
			if e.IsLeader(t.Context()) == nil {
				e.Close()
				break
			}
		}
		synctest.Wait()
		require.Equal(t, 1, leaders())
		time.Sleep(5 * time.Minute)
		for i, s := range schedulers {
			require.NoError(t, s.Shutdown())
			electors[i].Close()
			all[i].Close()
		}
		require.Zero(t, leaders())
		require.Len(t, counted.at, 10)
		for minute, n := range counted.at {
			require.Equal(t, 1, n, "runs of %s", minute)
		}
	})
}

func TestAnElectorSaysWhyItGaveUp(t *testing.T) {
	locks := lock.New(new(memlease.Store))
	defer locks.Close()
	e := sologocron.NewElector(locks, "no spaces")
	require.Eventually(t, func() bool {
		return !errors.Is(e.IsLeader(t.Context()), nil) && len(e.IsLeader(t.Context()).Error()) > len(sologocron.ErrNotLeader.Error())
	},
		10*time.Second, time.Millisecond)
	require.ErrorContains(t, e.IsLeader(t.Context()), "no spaces")
	e.Close()
}
