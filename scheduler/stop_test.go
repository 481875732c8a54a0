package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/scheduler"
)

// holder returns the replica that runs a job, which exactly one does.
func (f *fleet) holder(job string) (*replica, attempt) {
	f.t.Helper()
	held := f.runs.running(job)
	require.Len(f.t, held, 1)
	return f.replica(held[0].Replica), held[0]
}

func TestStoppingReplicaFinishesRunsAndClaimsNothing(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("long", "@every 1m", takes(20*time.Second))
		f.job("instant", "@every 1s", takes(0))
		f.startMany(3, scheduler.WithShutdownGrace(15*time.Second))
		f.sleepTo(70500 * time.Millisecond)
		r, run := f.holder("long")
		require.True(t, r.Ready())
		stopped := time.Now()
		r.stop()
		<-r.done
		require.NoError(t, r.err)
		require.Equal(t, 9500*time.Millisecond, time.Since(stopped), "no longer than its run takes")
		require.False(t, r.Ready())
		require.Zero(t, r.Held())
		for _, a := range f.runs.of("") {
			require.False(t, a.Replica == run.Replica && a.start.After(stopped), "it has claimed more")
		}
		f.sleepTo(119 * time.Second)
		require.Equal(t, "1m0s", f.story("long"))
		require.Equal(t, map[protocol.Outcome]int{"succeeded": 1}, f.fates("long"))
		require.Equal(t, map[protocol.Outcome]int{"succeeded": 119}, f.fates("instant"))
	})
}

func TestStoppingReplicaWaitsUntilOutcomesAreStored(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("ends", "@every 1m", takes(5*time.Second))
		f.job("is-stopped", "@every 1m", takes(20*time.Second))
		r := f.start("a", scheduler.WithShutdownGrace(6*time.Second))
		f.sleepTo(61 * time.Second)
		r.link.set(func(call) fault { return fault{slow: 200 * time.Millisecond} })
		r.stop()
		<-r.done
		require.Equal(t, map[protocol.Outcome]int{"succeeded": 1}, f.fates("ends"))
		require.False(t, f.grantsOf("is-stopped", epoch.Add(time.Minute))[0].ended.IsZero(), "and what it has given up")
	})
}

func TestStoppedRunGoesOnElsewhereAtOnce(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 1h", takes(5*time.Minute))
		f.sleepTo(59 * time.Minute)
		f.startMany(3, scheduler.WithShutdownGrace(10*time.Second), scheduler.WithTTL(time.Minute))
		f.sleepTo(time.Hour + time.Minute)
		r, _ := f.holder("job")
		r.stop()
		<-r.done
		require.NoError(t, r.err)
		f.sleepTo(time.Hour + 10*time.Minute)

		runs := f.runs.of("job")
		require.Len(t, runs, 2)
		require.ErrorIs(t, runs[0].cause, scheduler.ErrStopping)
		require.Equal(t, epoch.Add(time.Hour+70*time.Second), runs[0].cancelled.UTC(), "after the grace")
		require.Equal(t, 2, runs[1].Attempt)
		require.Equal(t, runs[0].end, runs[1].start, "nobody waits for a lease to run out")
		released, _ := eventsOf[scheduler.RunReleased](f)
		require.Len(t, released, 1)
		require.ErrorIs(t, released[0].Err, scheduler.ErrStopping)
		require.Equal(t, map[protocol.Outcome]int{"succeeded": 1}, f.fates("job"))
	})
}

// A report of a grant may come after the release: it must not have the others wait for the lease.
func TestTickReleasedRightAfterItsGrantGoesOn(t *testing.T) {
	seeds := uint64(100)
	if raceDetected {
		seeds = 40
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			inFleet(t, func(f *fleet) {
				f.job("job", "@every 1m", takes(20*time.Second))
				for i, r := range f.startMany(4, scheduler.WithShutdownGrace(0), scheduler.WithTTL(time.Minute)) {
					draw := rand.New(rand.NewPCG(seed, uint64(i)))
					upTo := func(most time.Duration) time.Duration { return time.Duration(1 + draw.Int64N(int64(most))) }
					r.link.set(func(c call) fault {
						switch c.verb {
						case verbClaim:
							return fault{there: upTo(350 * time.Millisecond), back: upTo(100 * time.Millisecond)}
						case verbPublish:
							return fault{there: upTo(900 * time.Millisecond)}
						}
						return fault{}
					})
				}
				f.sleepTo(time.Minute + 450*time.Millisecond + time.Duration(6*seed)*time.Millisecond)
				r, _ := f.holder("job")
				f.halt(r)
				time.Sleep(2 * time.Second)
				require.Len(t, f.runs.of("job"), 2)
			})
		})
	}
}

// TestAReleasedTickIsNotATakeover that counts against the job's most: a deploy is no failure.
func TestAReleasedTickIsNotATakeover(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 1h", takes(5*time.Minute), jobs.WithMaxTakeovers(0))
		f.sleepTo(59 * time.Minute)
		f.startMany(4, scheduler.WithShutdownGrace(0))
		f.sleepTo(time.Hour)
		for range 3 {
			time.Sleep(time.Minute)
			r, _ := f.holder("job")
			f.halt(r)
			time.Sleep(time.Second)
		}
		f.sleepTo(time.Hour + 10*time.Minute)
		runs := f.runs.of("job")
		require.Len(t, runs, 4)
		require.Equal(t, 4, runs[3].Attempt)
		require.Equal(t, map[protocol.Outcome]int{"succeeded": 1}, f.fates("job"))
	})
}

func TestStoppedRunThatMayRunOnceIsLost(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 1h", takes(5*time.Minute), jobs.WithDelivery(jobs.AtMostOnce))
		f.sleepTo(59 * time.Minute)
		f.startMany(3, scheduler.WithShutdownGrace(10*time.Second))
		f.sleepTo(time.Hour + time.Minute)
		r, _ := f.holder("job")
		f.halt(r)
		f.sleepTo(time.Hour + 10*time.Minute)
		require.Equal(t, "1h0m0s", f.story("job"))
		require.Equal(t, map[protocol.Outcome]int{"lost": 1}, f.fates("job"))
	})
}

// failsTwice fails its first two attempts, after a second each.
func failsTwice(ctx context.Context, run jobs.Run) error {
	if err := takes(time.Second)(ctx, run); err != nil || run.Attempt > 2 {
		return err
	}
	return errWork
}

func TestRunBetweenAttemptsIsGivenUpAtOnce(t *testing.T) {
	retry := jobs.WithRetry(jobs.Retry{MaxAttempts: 5, Backoff: 10 * time.Minute, MaxBackoff: 10 * time.Minute})
	for name, test := range map[string]struct {
		delivery  jobs.Delivery
		stopAfter time.Duration
		attempts  int
		fate      protocol.Outcome
		took      time.Duration // of the stop
	}{
		"in a wait":               {jobs.AtLeastOnce, time.Minute, 3, "succeeded", 0},
		"in an attempt":           {jobs.AtLeastOnce, 500 * time.Millisecond, 3, "succeeded", 500 * time.Millisecond},
		"in a wait, once":         {jobs.AtMostOnce, time.Minute, 1, "lost", 0},
		"in an attempt, and once": {jobs.AtMostOnce, 500 * time.Millisecond, 1, "lost", 500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			inFleet(t, func(f *fleet) {
				f.job("job", "@every 1h", failsTwice, retry, jobs.WithDelivery(test.delivery))
				f.sleepTo(59 * time.Minute)
				f.startMany(3, scheduler.WithShutdownGrace(time.Hour))
				f.sleepTo(time.Hour + test.stopAfter)
				for range 2 {
					stopped := time.Now()
					for _, r := range f.replicas {
						if r.Held() > 0 {
							f.halt(r)
							break
						}
					}
					require.LessOrEqual(t, time.Since(stopped), test.took+100*time.Millisecond)
					time.Sleep(test.stopAfter)
				}
				f.sleepTo(time.Hour + 5*time.Minute)
				runs := f.runs.of("job")
				require.Len(t, runs, test.attempts)
				for i, run := range runs {
					require.Equal(t, i+1, run.Attempt)
				}
				require.Equal(t, map[protocol.Outcome]int{test.fate: 1}, f.fates("job"))
			})
		})
	}
}

func TestRunThatFailsDuringAStopHasFailed(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 1h", func(context.Context, jobs.Run) error {
			time.Sleep(20 * time.Second)
			return errWork
		})
		f.sleepTo(59 * time.Minute)
		f.startMany(3, scheduler.WithShutdownGrace(time.Minute))
		f.sleepTo(time.Hour + time.Second)
		r, _ := f.holder("job")
		f.halt(r)
		require.Equal(t, map[protocol.Outcome]int{"failed": 1}, f.fates("job"))
	})
}

func TestARunThatDoesNotListenIsNamed(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("deaf", "@every 1h", ignoring(20*time.Minute))
		f.job("listens", "@every 1h", takes(20*time.Minute))
		f.sleepTo(59 * time.Minute)
		f.start("a", scheduler.WithShutdownGrace(10*time.Second))
		r := f.replica("a")
		f.sleepTo(time.Hour + time.Minute)
		stopped := time.Now()
		r.stop()
		<-r.done
		require.Less(t, time.Since(stopped), 22*time.Second)
		stuck, ok := errors.AsType[*scheduler.StuckError](r.err)
		require.True(t, ok, "%v", r.err)
		require.Equal(t, []string{"deaf"}, stuck.Jobs)
		require.ErrorContains(t, r.err, "deaf")
		require.Zero(t, r.Held(), "its lease runs out")
		r.err = nil // expected

		f.start("b")
		time.Sleep(ttl + time.Second)
		require.Len(t, f.runs.running("listens"), 1)
		require.Len(t, f.runs.running("deaf"), 2, "it runs beside the one that does not end")
		time.Sleep(40 * time.Minute)
		runs := f.runs.of("deaf")
		require.Len(t, runs, 2)
		require.Greater(t, runs[1].Token, runs[0].Token)
		require.Less(t, runs[0].cancelled, runs[1].start, "which had been cancelled")
	})
}

func TestAReplicaStopsWhileTheStoreIsAway(t *testing.T) {
	for name, fail := range away {
		t.Run(name, func(t *testing.T) {
			inFleet(t, func(f *fleet) {
				f.job("job", "@every 1m", takes(5*time.Second))
				f.start("a", scheduler.WithShutdownGrace(10*time.Second))
				r := f.replica("a")
				f.sleepTo(61 * time.Second)
				fail(r.link)
				time.Sleep(time.Second)
				stopped := time.Now()
				f.halt(r)
				require.NoError(t, r.err)
				require.LessOrEqual(t, time.Since(stopped), 10*time.Second+10*time.Second+2*time.Second, "grace, and limit")
			})
		})
	}
}

func TestReplicaWithoutStoreStopsAtOnce(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 1m", takes(5*time.Second))
		r := f.start("a")
		r.link.hang()
		f.sleepTo(61 * time.Second)
		f.halt(r)
		require.Less(t, time.Since(epoch), 63*time.Second)
	})
}

func TestRunIsCalledOnce(t *testing.T) {
	inFleet(t, func(f *fleet) {
		r := f.start("a")
		f.sleepTo(time.Second)
		require.ErrorContains(t, r.Run(context.Background()), "Run was called before")
		f.halt(r)
		require.ErrorContains(t, r.Run(context.Background()), "Run was called before")
	})
}

func TestContextThatHasEndedBeforeRunStopsIt(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 1s", takes(0))
		var registry jobs.Registry
		require.NoError(t, registry.Add(f.jobs...))
		s, err := scheduler.New(f.store, &registry)
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		require.NoError(t, s.Run(ctx))
		require.Empty(t, f.runs.of(""))
	})
}
