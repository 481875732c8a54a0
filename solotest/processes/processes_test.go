package processes

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/redislease"
	"github.com/solotick/solotick/lock"
	"github.com/solotick/solotick/scheduler"
)

type write func(ctx context.Context, token int64, key string) error

// invoices writes an invoice and then a note for each tick.
func invoices(write write) jobs.Handler {
	return func(ctx context.Context, run jobs.Run) error {
		for _, part := range []string{"invoice ", "note "} {
			select {
			case <-time.After(50 * time.Millisecond):
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			if err := write(ctx, run.Token, part+run.TickID()); err != nil {
				return err
			}
		}
		return nil
	}
}

// unfenced leaves the token out.
func unfenced(write write) write {
	return func(ctx context.Context, _ int64, key string) error { return write(ctx, 0, key) }
}

// once checks that the one tick that was triggered was run, and wrote each key once.
func once(f *Fleet) {
	f.t.Helper()
	f.AwaitSucceeded("invoices", 1)
	f.AssertOnce("invoices", f.Began(), time.Now())
	f.Gate().AssertOnce()
	f.Gate().AssertNoStale()
	require.Len(f.t, f.Gate().Effects(), 2)
}

// faults are what can happen to the replica that makes the first write.
var faults = map[string]func(f *Fleet){
	"none":                 func(*Fleet) {},
	"killed before":        func(f *Fleet) { f.Gate().Before(1, f.Kill) },
	"killed after":         func(f *Fleet) { f.Gate().After(1, f.Kill) },
	"cut off":              func(f *Fleet) { f.Gate().After(1, f.Cut) },
	"replies lost":         func(f *Fleet) { f.Gate().Before(1, f.LoseReplies) },
	"slow":                 func(f *Fleet) { f.Gate().Before(1, func(r string) { f.Delay(r, 100*time.Millisecond) }) },
	"Redis loses its keys": func(f *Fleet) { f.Gate().After(1, func(string) { f.Forget() }) },
	"the clock steps":      func(f *Fleet) { f.Gate().After(1, func(string) { f.StepClock(time.Second) }) },
	"frozen before": func(f *Fleet) {
		f.Gate().Before(1, f.Pause)
		f.t.Cleanup(func() { require.Equal(f.t, 2, f.Runs("invoices")[1].Attempt) })
	},
}

func TestAGoodJobPassesEveryFault(t *testing.T) {
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			Run(t, 2, func(r *Replica) {
				r.Func("invoices", "@yearly", invoices(r.WriteOnce))
			}, func(f *Fleet) {
				fault(f)
				f.Trigger("invoices")
				once(f)
				f.Heal()
				f.Resume()
			}, WithScheduler(scheduler.WithTTL(time.Second)), WithClock())
		})
	}
}

func TestFleetMeetsOnAnyStore(t *testing.T) {
	t.Parallel()
	kept := filepath.Join(os.TempDir(), "not of the fleet")
	Run(t, 2, func(r *Replica) {
		r.Func("invoices", "@yearly", invoices(r.WriteOnce))
		if r.Client() != nil {
			panic("there is no Redis that is the fleet's")
		}
	}, func(f *Fleet) {
		f.Gate().After(1, f.Cut)
		f.Trigger("invoices")
		once(f)
		runs := f.Runs("invoices")
		require.Len(f.t, runs, 2, "the first was cut off")
		require.NotEqual(f.t, runs[0].Replica, runs[1].Replica)
	}, WithScheduler(scheduler.WithTTL(time.Second)), WithStore(func(t *testing.T) []string {
		return []string{kept, redistest.Start(t).Addr()}
	}, func(addrs []string, namespace string) (lease.Store, error) {
		if addrs[0] != kept {
			return nil, errors.New("a path is passed on as it is")
		}
		return redislease.New(redis.NewClient(&redis.Options{Addr: addrs[1]}), namespace)
	}))
}

func TestAFrozenWriterIsRefused(t *testing.T) {
	t.Parallel()
	Run(t, 2, func(r *Replica) {
		r.Func("invoices", "@yearly", invoices(r.Write))
	}, func(f *Fleet) {
		f.Gate().Before(1, f.Pause)
		f.Trigger("invoices")
		f.AwaitSucceeded("invoices", 1)
		f.Resume()
		f.Gate().AwaitWrites(3)
		f.Gate().AssertNoStale()
		f.Gate().AssertOnce()
	})
}

func TestAWriteWithoutTokenIsCaught(t *testing.T) {
	t.Parallel()
	Run(t, 2, func(r *Replica) {
		r.Func("invoices", "@yearly", invoices(unfenced(r.Write)))
	}, func(f *Fleet) {
		f.Gate().Before(1, f.Pause)
		f.Trigger("invoices")
		f.AwaitSucceeded("invoices", 1)
		f.Resume()
		f.Gate().AwaitWrites(3)
		require.Len(f.t, f.Gate().inner.Stale(), 1)
		require.Contains(f.t, f.Gate().inner.Stale()[0], "was written by a stale holder: attempt 1")
	})
}

func TestAJobThatIsNotIdempotentIsCaught(t *testing.T) {
	t.Parallel()
	Run(t, 2, func(r *Replica) {
		r.Func("invoices", "@yearly", invoices(r.Write))
	}, func(f *Fleet) {
		f.Gate().After(1, f.Kill)
		f.Trigger("invoices")
		f.AwaitSucceeded("invoices", 1)
		require.Len(f.t, f.Gate().inner.NotOnce(nil), 1)
		require.Contains(f.t, f.Gate().inner.NotOnce(nil)[0], "was written 2 times: the job is not idempotent")
		require.Empty(f.t, f.Gate().inner.Stale())
	})
}

func TestAJobThatIgnoresItsContextIsCaught(t *testing.T) {
	t.Parallel()
	Run(t, 1, func(r *Replica) {
		r.Func("deaf", "@yearly", func(context.Context, jobs.Run) error { time.Sleep(time.Hour); return nil })
		r.Func("good", "@yearly", func(ctx context.Context, _ jobs.Run) error { <-ctx.Done(); return context.Cause(ctx) })
	}, func(f *Fleet) {
		f.Trigger("deaf")
		f.Trigger("good")
		f.AwaitRun("good")
		f.Cut(f.AwaitRun("deaf").Replica)
		require.Contains(f.t, f.overrun("deaf"), "goes on 2s after its context has ended (")
		f.AssertStops("good")
	}, WithScheduler(scheduler.WithTTL(time.Second)))
}

func TestScheduledTicksRunOnceOverARollingDeploy(t *testing.T) {
	t.Parallel()
	Run(t, 2, func(r *Replica) {
		r.Func("each-second", "* * * * * *", func(context.Context, jobs.Run) error { return nil }, jobs.WithOverlap(jobs.Allow))
		r.Func("fails", "@yearly", func(context.Context, jobs.Run) error { return errors.New("no paper") })
	}, func(f *Fleet) {
		f.Stop("r1")
		f.Start("r1", "r3")
		f.AwaitSucceeded("each-second", 2)
		f.Kill("r2")
		first, until := f.Runs("each-second")[0].Tick, time.Now()
		f.Await("a tick that the killed replica had is not run", func() bool {
			return len(f.notOnce("each-second", first, until)) == 0
		})
		tick := f.Trigger("fails")
		f.Await("the failure is not seen", func() bool {
			runs := f.Runs("fails")
			return len(runs) == 1 && !runs[0].Ended.IsZero()
		})
		require.Contains(f.t, f.notOnce("fails", tick, time.Now())[0], "failed: no paper")
		require.Contains(f.t, f.notOnce("fails", tick.Add(time.Second), tick.Add(2*time.Second))[0], "there is no tick")
		require.Contains(f.t, f.notOnce("other", tick, tick)[0], `no replica has the job "other"`)
		require.NoError(f.t, f.Client().Ping(f.t.Context()).Err())
	})
}

func TestProgramsRunInReplicas(t *testing.T) {
	t.Parallel()
	for range 2 { // a replica knows which call of Run it belongs to
		Run(t, 0, func(r *Replica) {
			r.Run(func(ctx context.Context) error {
				locks := lock.New(r.Store())
				defer locks.Close()
				hold, err := locks.Mutex("one").Acquire(ctx)
				if err != nil {
					return nil // it is stopped
				}
				if err := r.Write(ctx, 0, r.ID()); err != nil {
					return err
				}
				<-ctx.Done()
				return hold.Release(context.WithoutCancel(ctx))
			})
		}, func(f *Fleet) {
			f.Start("first")
			f.Gate().AwaitWrites(1)
			f.Start("second")
			f.Stop("first")
			f.Gate().AwaitWrites(2)
			f.Gate().AssertOnce("first", "second")
			f.Stop("second")
		})
	}
}

func TestRunningRedisIsLeftAsItWas(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.WithConf("requirepass", "secret"))
	require.NoError(t, server.Client(t).Set(t.Context(), "other", "kept", 0).Err())
	t.Run("fleet", func(t *testing.T) {
		Run(t, 1, func(r *Replica) {
			r.Func("invoices", "@yearly", invoices(r.WriteOnce))
		}, func(f *Fleet) {
			f.Trigger("invoices")
			once(f)
			keys, err := server.Client(t).Keys(t.Context(), "*").Result()
			require.NoError(t, err)
			require.Greater(t, len(keys), 1)
		}, WithRedis(server.URL()))
	})
	keys, err := server.Client(t).Keys(t.Context(), "*").Result()
	require.NoError(t, err)
	require.Equal(t, []string{"other"}, keys)
}

// Its replica dies, and the clock of the next one is a day ahead, or behind.
func TestAJobThatAsksItsOwnClockIsCaught(t *testing.T) {
	t.Parallel()
	day := func(at time.Time) string { return at.UTC().Format(time.DateOnly) }
	Run(t, 2, func(r *Replica) {
		r.Func("good", "@yearly", func(ctx context.Context, run jobs.Run) error {
			return r.WriteOnce(ctx, run.Token, "of the tick "+day(run.Tick))
		})
		r.Func("wrong", "@yearly", func(ctx context.Context, run jobs.Run) error {
			return r.WriteOnce(ctx, run.Token, "of today "+day(time.Now()))
		})
	}, func(f *Fleet) {
		f.Gate().After(1, f.Kill)
		for i, name := range []string{"wrong", "good"} {
			f.Trigger(name)
			f.AwaitSucceeded(name, 1)
			require.Len(f.t, f.Gate().Effects(), 2+i, "%v", f.Gate().Effects())
		}
		f.AssertOnce("wrong", f.Began(), time.Now())
	}, WithScheduler(scheduler.WithTTL(time.Second)), WithSkew("r2", 24*time.Hour))
}
