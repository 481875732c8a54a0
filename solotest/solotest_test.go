package solotest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/scheduler"
)

type write func(ctx context.Context, token int64, key string) error

// invoice writes one invoice a tick, after a second of work, and again a second later a note.
func invoice(write write, token func(jobs.Run) int64) jobs.Handler {
	return func(ctx context.Context, run jobs.Run) error {
		for _, part := range []string{"invoice", "note"} {
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			if err := write(ctx, token(run), part+" "+run.Tick.Format(time.TimeOnly)); err != nil {
				return err
			}
		}
		return nil
	}
}

func fenced(run jobs.Run) int64 { return run.Token }
func unfenced(jobs.Run) int64   { return 0 }

// faults are what can happen to the replica that makes the first write.
var faults = map[string]func(f *Fleet, g *Gate){
	"none":               func(*Fleet, *Gate) {},
	"killed before":      func(f *Fleet, g *Gate) { g.Before(1, f.Kill) },
	"killed after":       func(f *Fleet, g *Gate) { g.After(1, f.Kill) },
	"cut off":            func(f *Fleet, g *Gate) { g.After(1, f.Cut) },
	"replies lost":       func(f *Fleet, g *Gate) { g.Before(1, f.LoseReplies) },
	"frozen before":      func(f *Fleet, g *Gate) { g.Before(1, f.freeze) },
	"frozen after":       func(f *Fleet, g *Gate) { g.After(1, f.freeze) },
	"the store is empty": func(f *Fleet, g *Gate) { g.After(1, func(string) { f.Forget() }) },
	"the clock steps":    func(f *Fleet, g *Gate) { g.After(1, func(string) { f.StepClock(time.Second) }) },
	"healed in time":     func(f *Fleet, g *Gate) { g.Before(1, f.Cut); g.After(2, f.Heal) },
}

// freeze is a pause of four TTLs.
func (f *Fleet) freeze(replica string) {
	f.Pause(replica)
	go func() {
		time.Sleep(4 * TTL)
		f.Resume(replica)
	}()
}

func TestAGoodJobPassesEveryFault(t *testing.T) {
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			Run(t, 3, func(t *testing.T, f *Fleet) {
				gate := f.Gate()
				f.Func("invoices", "@every 1m", invoice(gate.WriteOnce, fenced))
				fault(f, gate)
				f.Advance(5*time.Minute + 30*time.Second)
				f.AssertOnce("invoices", f.Began().Add(time.Minute), f.Began().Add(5*time.Minute))
				gate.AssertOnce("invoice 00:01:00", "note 00:01:00", "invoice 00:05:00", "note 00:05:00")
				gate.AssertNoStale()
			})
		})
	}
}

func TestAJobThatIsNotIdempotentIsCaught(t *testing.T) {
	Run(t, 3, func(t *testing.T, f *Fleet) {
		gate := f.Gate()
		f.Func("invoices", "@every 1m", invoice(gate.Write, fenced))
		gate.After(1, f.Kill)
		f.Advance(2 * time.Minute)
		require.Len(t, gate.inner.NotOnce(nil), 1)
		require.Contains(t, gate.inner.NotOnce(nil)[0], "was written 2 times: the job is not idempotent")
		require.Contains(t, gate.inner.NotOnce([]string{"other"})[1], `"other" was not written`)
		require.Empty(t, gate.inner.Stale())
	})
}

func TestAWriteWithoutTokenIsCaught(t *testing.T) {
	for name, c := range map[string]struct {
		token func(jobs.Run) int64
		stale int
	}{"fenced": {fenced, 0}, "unfenced": {unfenced, 1}} {
		t.Run(name, func(t *testing.T) {
			Run(t, 2, func(t *testing.T, f *Fleet) {
				gate := f.Gate()
				f.Func("invoices", "@every 1h", invoice(gate.Write, c.token))
				gate.Before(1, f.freeze)
				f.Advance(time.Hour + time.Minute)
				require.Len(t, gate.inner.Stale(), c.stale)
			})
		})
	}
}

func TestAJobThatIgnoresItsContextIsCaught(t *testing.T) {
	Run(t, 1, func(_ *testing.T, f *Fleet) {
		_, fault := f.lose(func(context.Context, jobs.Run) error { time.Sleep(10 * TTL); return nil }, nil)
		require.Contains(t, fault, "goes on 1s after its context has ended")
	})
	Run(t, 1, func(_ *testing.T, f *Fleet) {
		_, fault := f.lose(func(context.Context, jobs.Run) error { return nil }, nil)
		require.Contains(t, fault, "before its lease was lost")
	})
}

func TestALostLeaseEndsTheContext(t *testing.T) {
	cleaned := errors.New("cleaned up")
	loss := LoseLease(t, func(ctx context.Context, _ jobs.Run) error {
		<-ctx.Done()
		time.Sleep(100 * time.Millisecond)
		return cleaned
	}, jobs.WithRetry(jobs.Retry{MaxAttempts: 3, Backoff: time.Second, MaxBackoff: time.Second}))
	lost := new(lease.LostError)
	require.ErrorAs(t, loss.Cause, &lost)
	require.Equal(t, cleaned, loss.Err)
	require.Equal(t, 100*time.Millisecond, loss.After)
	require.Equal(t, "job", loss.Run.Job)
}

func TestFailedAndMissedTicksAreNotOnce(t *testing.T) {
	Run(t, 1, func(t *testing.T, f *Fleet) {
		f.Func("fails", "@every 1m", func(context.Context, jobs.Run) error { return errors.New("no paper") })
		f.Advance(90 * time.Second)
		faults := f.notOnce("fails", f.Began().Add(time.Second), f.Now())
		require.Len(t, faults, 1)
		require.Contains(t, faults[0], "0 runs that succeeded")
		require.Contains(t, faults[0], "failed: no paper")
		require.Contains(t, f.notOnce("other", f.Began(), f.Now())[0], "was not added")
		require.Contains(t, f.notOnce("fails", f.Now(), f.Now().Add(time.Second))[0], "there is no tick")
		require.Contains(t, f.notOnce("fails", f.Now(), f.Now().Add(time.Minute))[0], "none began")
	})
}

func TestJobsAreAddedWhileReplicasRun(t *testing.T) {
	Run(t, 2, func(t *testing.T, f *Fleet) {
		f.Advance(time.Second)
		gate := f.Gate()
		f.Func("late", "@every 1m", invoice(gate.WriteOnce, fenced))
		f.Advance(3 * time.Minute)
		f.AssertOnce("late", f.Began().Add(time.Minute), f.Began().Add(2*time.Minute))
		for _, run := range f.Runs("late") {
			require.Equal(t, 1, run.Attempt, fmt.Sprint(run))
		}
	}, scheduler.WithTTL(10*time.Second))
}

func TestInvoicesSurviveADeadReplica(t *testing.T) {
	invoices := func(write write) jobs.Handler { return invoice(write, fenced) }
	Run(t, 3, func(_ *testing.T, f *Fleet) {
		gate := f.Gate()
		f.Func("invoices", "@every 1m", invoices(gate.WriteOnce)) // the code under test
		gate.After(1, f.Kill)                                     // the replica dies after its first write
		f.Advance(5*time.Minute + 30*time.Second)
		f.AssertOnce("invoices", f.Began().Add(time.Minute), f.Now())
		gate.AssertOnce()
	})
}
