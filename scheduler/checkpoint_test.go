package scheduler_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/scheduler"
)

// export is a job of steps of a second each. It makes a checkpoint after each, and goes on after
// the step that its position names.
type export struct {
	steps   int
	sync    bool
	disturb func(step int, run jobs.Run) error // after the checkpoint of a step

	mu     sync.Mutex
	made   []time.Time // of the newest checkpoint of each step, from 1 on
	acked  int         // the newest that is written
	starts []int       // the position of each attempt
	least  []int       // that it may be
	hurt   time.Time
}

func (e *export) run(ctx context.Context, run jobs.Run) error {
	at, _ := strconv.Atoi(string(run.Position))
	e.mu.Lock()
	e.starts, e.least = append(e.starts, at), append(e.least, e.written())
	e.made = append(e.made, make([]time.Time, max(0, e.steps+1-len(e.made)))...)
	e.mu.Unlock()
	for step := at + 1; step <= e.steps; step++ {
		if err := takes(time.Second)(ctx, run); err != nil {
			return err
		}
		e.mu.Lock()
		e.made[step] = time.Now()
		e.mu.Unlock()
		err := run.Checkpoint(ctx, []byte(strconv.Itoa(step)))
		if e.sync {
			err = run.Sync(ctx)
		}
		e.mu.Lock()
		if err == nil && e.sync {
			e.acked = max(e.acked, step)
		}
		e.mu.Unlock()
		if run.Attempt == 1 && e.disturb != nil {
			if err := e.disturb(step, run); err != nil {
				return err
			}
		}
	}
	return nil
}

// began returns the positions of the attempts so far.
func (e *export) began() []int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.starts)
}

// written returns the newest checkpoint that must be written.
func (e *export) written() int {
	newest := e.acked
	for step, at := range e.made {
		if !at.IsZero() && e.hurt.Sub(at) >= ttl/3 {
			newest = max(newest, step)
		}
	}
	return newest
}

func TestNextAttemptGoesOnWhereTheLastOneWas(t *testing.T) {
	const steps = 10
	for name, c := range map[string]struct {
		hurt  func(f *fleet, r *replica) error
		exact bool
	}{
		"its replica vanishes":  {func(_ *fleet, r *replica) error { r.link.cut(); return nil }, false},
		"its replica is frozen": {func(_ *fleet, r *replica) error { r.link.hang(); return nil }, false},
		"its replica stops":     {func(f *fleet, r *replica) error { r.stop(); return nil }, true},
		"it fails":              {func(*fleet, *replica) error { return errWork }, true},
		"it fails, and no checkpoint is written": {func(_ *fleet, r *replica) error {
			r.link.set(func(c call) fault { return fault{hang: c.verb == verbPoint} })
			return errWork
		}, true},
		"replies are lost": {func(_ *fleet, r *replica) error {
			r.link.set(func(c call) fault { return fault{lost: c.verb == verbPoint, cut: c.verb == verbRenew} })
			return nil
		}, false},
	} {
		for _, synced := range []bool{true, false} {
			for at := 1; at < 6; at++ {
				t.Run(fmt.Sprintf("%s after step %d, synced %v", name, at, synced), func(t *testing.T) {
					inFleet(t, func(f *fleet) {
						e := &export{steps: steps, sync: synced}
						e.disturb = func(step int, run jobs.Run) error {
							if step != at {
								return nil
							}
							e.hurt = time.Now()
							return c.hurt(f, f.replica(run.Replica))
						}
						f.job("job", "@every 2m", e.run, retries(3, time.Second))
						f.startMany(3, scheduler.WithShutdownGrace(0))
						f.sleepTo(3 * time.Minute)
						f.healAll()
						time.Sleep(20 * time.Second)
						e.mu.Lock()
						defer e.mu.Unlock()
						require.Len(t, e.starts, 2)
						require.GreaterOrEqual(t, e.starts[1], e.least[1])
						if c.exact {
							require.Equal(t, at, e.starts[1])
						}
						require.LessOrEqual(t, e.starts[1], steps)
						require.Equal(t, 1, f.fates("job")["succeeded"])
						list, err := f.store.Checkpoints(t.Context(), "job")
						require.NoError(t, err)
						require.Empty(t, list, "a success clears it")
					})
				})
			}
		}
	}
}

func TestAttemptWaitsForItsPosition(t *testing.T) {
	inFleet(t, func(f *fleet) {
		e := &export{steps: 10, sync: true}
		e.disturb = func(step int, run jobs.Run) error {
			if step == 1 {
				for _, r := range f.replicas {
					r.link.set(func(c call) fault {
						return fault{cut: c.verb == verbPoint || c.verb == verbRenew && r.Replica() == run.Replica}
					})
				}
			}
			return nil
		}
		f.job("job", "@every 1h", e.run)
		f.startMany(2)
		f.sleepTo(time.Hour + ttl + 4*time.Second)
		require.Len(t, e.began(), 1, "it must not begin from the start")
		f.healAll()
		f.sleepTo(time.Hour + time.Minute)
		require.Equal(t, []int{0, 1}, e.began())
	})
}

func TestTakenOverRunMakesNoCheckpoint(t *testing.T) {
	inFleet(t, func(f *fleet) {
		made := make(chan error, 2)
		f.job("job", "@every 1h", func(ctx context.Context, run jobs.Run) error {
			if run.Attempt > 1 {
				return cmpErr(run.Checkpoint(ctx, []byte("mine")), run.Sync(ctx))
			}
			f.replica(run.Replica).link.hang()
			<-ctx.Done()
			time.Sleep(2 * ttl)
			f.replica(run.Replica).link.heal()
			made <- run.Checkpoint(ctx, []byte("late"))
			made <- run.Checkpoint(context.WithoutCancel(ctx), []byte("late"))
			return nil
		})
		f.startMany(2)
		for range 2 {
			err := <-made
			require.ErrorIs(t, err, lease.ErrFenced)
			require.ErrorIs(t, err, lease.ErrLost)
		}
	})
}

func TestFailedTickKeepsItsCheckpoint(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 1h", func(ctx context.Context, run jobs.Run) error {
			return cmpErr(cmpErr(run.Checkpoint(ctx, []byte(run.Tick.Format(time.Kitchen))), run.Progress(ctx, 40, "page 2")), errWork)
		})
		f.startMany(1)
		f.sleepTo(2*time.Hour + time.Minute)
		list, err := f.store.Checkpoints(t.Context(), "job")
		require.NoError(t, err)
		require.Len(t, list, 2)
		require.Equal(t, "2:00AM", string(list[1].Data))
		require.Equal(t, 40, list[1].Percent)
		require.Equal(t, "page 2", list[1].Text)
		require.Equal(t, f.jobs[0].Revision(), list[1].Revision)
	})
}

func (f *fleet) healAll() {
	for _, r := range f.replicas {
		r.link.heal()
	}
}

func cmpErr(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

func TestLeaderTaskKeepsNoCheckpoints(t *testing.T) {
	inFleet(t, func(f *fleet) {
		made := make(chan error, 1)
		f.job("job", "", func(ctx context.Context, run jobs.Run) error {
			made <- run.Checkpoint(ctx, []byte("here"))
			<-ctx.Done()
			return nil
		}, jobs.WithLeader())
		f.startMany(1)
		require.ErrorIs(t, <-made, jobs.ErrNoCheckpoints)
	})
}
