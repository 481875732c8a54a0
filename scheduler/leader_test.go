package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/scheduler"
)

// leads is a leader task's handler that does as it is notified.
func leads(ctx context.Context, _ jobs.Run) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

// leader adds a leader task to the fleet's jobs.
func (f *fleet) leader(name string, handler jobs.Handler, options ...jobs.Option) {
	f.t.Helper()
	f.job(name, "", handler, append([]jobs.Option{jobs.WithLeader()}, options...)...)
}

// leading returns the one replica that says it leads, by [scheduler.Scheduler.Jobs]; nil for none.
func (f *fleet) leading(job string) (leader *replica) {
	f.t.Helper()
	for _, r := range f.replicas {
		for _, s := range r.Jobs() {
			if s.Name == job && s.Leads {
				require.True(f.t, s.Leader)
				require.Nil(f.t, leader, "one at a time")
				leader = r
			}
		}
	}
	return leader
}

// inOrder holds that no attempt of a leader task began while another had a right to go on, that
// tokens do not fall, and returns the attempts.
func (f *fleet) inOrder(job string) []attempt {
	f.t.Helper()
	require.Empty(f.t, f.beside(job))
	runs := f.runs.of(job)
	for i := 1; i < len(runs); i++ {
		require.GreaterOrEqual(f.t, runs[i].Token, runs[i-1].Token)
		if runs[i].Replica != runs[i-1].Replica {
			require.Greater(f.t, runs[i].Token, runs[i-1].Token)
		}
	}
	return runs
}

func TestOneReplicaLeads(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.leader("job", leads)
		f.startMany(3)
		f.sleepTo(hour)
		runs := f.inOrder("job")
		require.Len(t, runs, 1)
		require.Less(t, runs[0].start, at(2*time.Second), "soon: a store that has just been started may have forgotten one that leads")
		require.Equal(t, runs[0].Replica, f.leading("job").Replica())
		require.Positive(t, runs[0].Token)
		require.Equal(t, 1, runs[0].Attempt)
		require.WithinDuration(t, runs[0].start, runs[0].Tick, time.Millisecond, "since when it leads")
	})
}

func TestStoppedLeaderHandsOverAtOnce(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.leader("job", leads)
		f.startMany(3, scheduler.WithShutdownGrace(time.Hour))
		for i := range 20 {
			f.sleepTo(time.Duration(i+1)*20*time.Second + time.Duration(i)*77*time.Millisecond)
			old := f.leading("job")
			require.NotNil(t, old)
			stopped := time.Now()
			f.halt(old)
			require.Equal(t, stopped, time.Now(), "it does not wait for the grace")
			time.Sleep(time.Millisecond)
			runs := f.inOrder("job")
			require.Len(t, runs, i+2)
			require.ErrorIs(t, runs[i].cause, scheduler.ErrStopping)
			require.Equal(t, stopped, runs[i+1].start)
			f.start(old.Replica(), scheduler.WithShutdownGrace(time.Hour))
		}
		released, _ := eventsOf[scheduler.RunReleased](f)
		require.Len(t, released, 20)
	})
}

func TestLostLeaderIsSucceededWithinATTL(t *testing.T) {
	for name, fail := range away {
		t.Run(name, func(t *testing.T) {
			inFleet(t, func(f *fleet) {
				f.leader("job", leads)
				f.startMany(3)
				for i := range 20 {
					f.sleepTo(time.Duration(i+1)*20*time.Second + time.Duration(i)*177*time.Millisecond)
					old := f.leading("job")
					require.NotNil(t, old)
					fail(old.link)
					lost := time.Now()
					time.Sleep(ttl + 100*time.Millisecond)
					runs := f.inOrder("job")
					require.Len(t, runs, i+2)
					require.ErrorIs(t, runs[i].cause, lease.ErrLost)
					require.Less(t, runs[i].cancelled, runs[i+1].start)
					require.LessOrEqual(t, runs[i+1].start.Sub(lost), ttl+50*time.Millisecond)
					require.NotEqual(t, old.Replica(), runs[i+1].Replica)
					old.link.heal()
				}
				f.sleepTo(8 * time.Minute)
				require.NotNil(t, f.leading("job"))
			})
		})
	}
}

func TestEndingLeaderTaskRestartsLaterEachTime(t *testing.T) {
	for name, end := range map[string]func() error{
		"returns": func() error { return nil },
		"fails":   func() error { return errWork },
		"panics":  func() error { panic("it") },
	} {
		t.Run(name, func(t *testing.T) {
			inFleet(t, func(f *fleet) {
				f.leader("job", func(context.Context, jobs.Run) error { return end() },
					jobs.WithRetry(jobs.Retry{MaxAttempts: 1, Backoff: time.Second, MaxBackoff: 8 * time.Second}))
				f.startMany(3)
				f.sleepTo(2 * time.Minute)
				runs := f.inOrder("job")
				require.Greater(t, len(runs), 12)
				for i, seconds := range []int{1, 2, 4, 8, 8, 8, 8, 8, 8, 8} {
					most := time.Duration(seconds) * time.Second
					wait := runs[i+1].start.Sub(runs[i].end)
					require.GreaterOrEqual(t, wait, most/2)
					require.LessOrEqual(t, wait, most)
					require.Equal(t, i+2, runs[i+1].Attempt)
					require.Equal(t, runs[0].Token, runs[i+1].Token, "under the same lease")
				}
				retried, _ := eventsOf[scheduler.RunRetried](f)
				require.Len(t, retried, len(runs))
				for _, e := range retried {
					require.Error(t, e.Err)
				}
				record := f.inspect("job")
				require.Equal(t, len(runs), record.Open[0].Attempt, "which the store knows")
			})
		})
	}
}

func TestLeaderTaskThatSucceededRestartsSoon(t *testing.T) {
	inFleet(t, func(f *fleet) {
		var calls atomic.Int32
		f.leader("job", func(ctx context.Context, run jobs.Run) error {
			if calls.Add(1) == 6 {
				return takes(time.Minute)(ctx, run)
			}
			return errWork
		}, jobs.WithRetry(jobs.Retry{MaxAttempts: 1, Backoff: time.Second, MaxBackoff: 16 * time.Second}))
		f.startMany(3)
		f.sleepTo(5 * time.Minute)
		runs := f.inOrder("job")
		require.Greater(t, runs[5].start.Sub(runs[4].end), 7*time.Second)
		require.LessOrEqual(t, runs[6].start.Sub(runs[5].end), time.Second)
	})
}

// TestStoppingLeaderKeepsItsLeaseUntilItEnds: the lease keeps others from beginning beside it.
func TestStoppingLeaderKeepsItsLeaseUntilItEnds(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.leader("job", func(ctx context.Context, _ jobs.Run) error {
			<-ctx.Done()
			time.Sleep(4 * time.Second)
			return nil
		})
		f.startMany(3)
		f.sleepTo(time.Minute)
		f.halt(f.leading("job"))
		f.sleepTo(2 * time.Minute)
		runs := f.runs.of("job")
		require.Len(t, runs, 2)
		require.Equal(t, at(64*time.Second), runs[1].start.UTC())
		require.Equal(t, runs[0].end, runs[1].start)
		time.Sleep(time.Second)
	})
}

func TestPausedLeaderTaskEndsUntilItIsResumed(t *testing.T) {
	for name, start := range map[string]func(*fleet, string) *replica{
		"notified":                      func(f *fleet, id string) *replica { return f.start(id) },
		"of a store that cannot notify": func(f *fleet, id string) *replica { return f.startDisconnected(id) },
	} {
		t.Run(name, func(t *testing.T) {
			inFleet(t, func(f *fleet) {
				f.leader("job", leads)
				for _, id := range []string{"a", "b", "c"} {
					start(f, id)
				}
				f.sleepTo(10 * time.Second)
				require.Len(t, f.runs.running("job"), 1)
				f.pause("job")
				f.sleepTo(16 * time.Second)
				runs := f.runs.of("job")
				require.Len(t, runs, 1)
				require.ErrorIs(t, runs[0].cause, scheduler.ErrPaused)
				if name == "notified" {
					require.Equal(t, at(10*time.Second), runs[0].cancelled.UTC(), "at once")
				}
				require.Nil(t, f.leading("job"))
				f.sleepTo(2 * time.Minute)
				require.Len(t, f.runs.of("job"), 1)
				f.resume("job")
				time.Sleep(6 * time.Second)
				require.Len(t, f.inOrder("job"), 2)
				require.NotNil(t, f.leading("job"))
			})
		})
	}
}

func TestLeaderTaskPausedInConfigurationIsNotStarted(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.leader("job", leads, pausedByConfig)
		f.startMany(3)
		f.sleepTo(time.Minute)
		require.Empty(t, f.runs.of("job"))
	})
}

func TestLeaderTaskRunsWhereItsGroupIsServed(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.leader("job", leads, jobs.WithGroups("eu"))
		f.start("a")
		f.start("b", scheduler.WithGroups("eu"))
		f.start("c", scheduler.WithGroups("us"))
		f.sleepTo(10 * time.Second)
		require.Equal(t, "b", f.leading("job").Replica())
		f.halt(f.replica("b"))
		f.sleepTo(time.Minute)
		require.Len(t, f.runs.of("job"), 1)
	})
}

func TestEachLeaderTaskHasItsOwnLeader(t *testing.T) {
	inFleet(t, func(f *fleet) {
		for i := range 10 {
			f.leader(fmt.Sprint("job-", i), leads)
		}
		f.job("ticks", "@every 10s", takes(time.Second))
		f.startMany(3)
		f.sleepTo(3*time.Minute - time.Second)
		for i := range 10 {
			require.Len(t, f.inOrder(fmt.Sprint("job-", i)), 1)
		}
		require.Len(t, f.runs.of("ticks"), 17)
	})
}

// TestALeaderMayBeAwayForAMoment: its lease is good for as long as its TTL.
func TestALeaderMayBeAwayForAMoment(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.leader("job", leads)
		f.startMany(3, scheduler.WithTTL(10*time.Second))
		for i := range 20 {
			f.sleepTo(time.Duration(i+1)*time.Minute + time.Duration(i)*177*time.Millisecond)
			f.every((*link).cut)
			time.Sleep(5 * time.Second)
			f.every((*link).heal)
		}
		require.Len(t, f.inOrder("job"), 1)
	})
}

// TestStoreThatForgotLeavesTheLeaderInPlace, which writes itself back with its next renewal: the
// others wait for that.
func TestStoreThatForgotLeavesTheLeaderInPlace(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.leader("job", leads)
		f.startMany(3)
		for i := range 20 {
			f.sleepTo(time.Duration(i+1)*10*time.Second + time.Duration(i)*177*time.Millisecond)
			f.store.Forget()
		}
		f.sleepTo(5 * time.Minute)
		require.Len(t, f.inOrder("job"), 1)
		f.leading("job").link.cut()
		time.Sleep(ttl + 100*time.Millisecond)
		require.Len(t, f.inOrder("job"), 2)
	})
}

// TestClaimAnsweredDuringStopLeavesNoLeader, that is, a lease that nobody keeps.
func TestClaimAnsweredDuringStopLeavesNoLeader(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.leader("job", leads)
		a := f.start("a", scheduler.WithTTL(time.Minute))
		f.sleepTo(5 * time.Second)
		b := f.start("b", scheduler.WithTTL(time.Minute))
		f.sleepTo(6 * time.Second)
		b.link.set(func(c call) fault {
			if c.verb == verbClaim {
				return fault{back: 500 * time.Millisecond}
			}
			return fault{}
		})
		f.halt(a)
		time.Sleep(100 * time.Millisecond)
		f.halt(b)
		require.Empty(t, f.inspect("job").Open, "Run returns when everything it started has ended")
	})
}

// TestRecordOfLeaderTaskNeedsFleetTime, so that its watermark is right should it become a job with
// ticks.
func TestRecordOfLeaderTaskNeedsFleetTime(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.leader("job", leads)
		r := f.start("a")
		r.link.set(func(c call) fault { return fault{cut: c.verb == verbTime} })
		f.sleepTo(3 * time.Second)
		r.link.heal()
		f.sleepTo(5 * time.Second)
		require.Len(t, f.runs.of("job"), 1)
		require.GreaterOrEqual(t, f.inspect("job").Watermark, epoch.UnixMilli())
		downs, _ := eventsWhere(f, storeDown)
		require.Len(t, downs, 1, "the clock that was out of reach")
	})
}

func TestALeaderTaskWithoutBackoffDoesNotSpin(t *testing.T) {
	var n atomic.Int64
	job, err := jobs.New("l", "", func(context.Context, jobs.Run) error { n.Add(1); return errors.New("x") }, jobs.WithLeader(),
		func(s *jobs.Spec) { s.Retry.Backoff, s.Retry.MaxBackoff = 0, 0 })
	require.NoError(t, err)
	var r jobs.Registry
	require.NoError(t, r.Add(job))
	s, err := scheduler.New(new(memlease.Store), &r)
	require.NoError(t, err)
	ctx, stop := context.WithTimeout(t.Context(), time.Second)
	defer stop()
	require.NoError(t, s.Run(ctx))
	require.Less(t, n.Load(), int64(100))
}
