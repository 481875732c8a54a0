package scheduler_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/scheduler"
)

// alone makes a scheduler of one job over a store, in a bubble.
func alone(t *testing.T, store protocol.Store, schedule string, h jobs.Handler, opts ...scheduler.Option) *scheduler.Scheduler {
	t.Helper()
	s, err := scheduler.New(store, registryOf(t, schedule, h), opts...)
	require.NoError(t, err)
	return s
}

func registryOf(t *testing.T, schedule string, h jobs.Handler) *jobs.Registry {
	t.Helper()
	job, err := jobs.New("job", schedule, h)
	require.NoError(t, err)
	registry := new(jobs.Registry)
	require.NoError(t, registry.Add(job))
	return registry
}

func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

func TestShutdownCancelsAndReleasesBeforeItsDeadline(t *testing.T) {
	for deadline, want := range map[time.Duration]time.Duration{
		15 * time.Second: 12 * time.Second, // what fx gives
		time.Second:      800 * time.Millisecond,
		28 * time.Second: 23 * time.Second,
		time.Hour:        30 * time.Second, // the shutdown grace
	} {
		t.Run(deadline.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var store memlease.Store
				var ended time.Time
				var cause error
				s := alone(t, &store, "@every 1m", func(ctx context.Context, _ jobs.Run) error {
					<-ctx.Done()
					ended, cause = time.Now(), context.Cause(ctx)
					return ctx.Err()
				})
				require.NoError(t, s.Start())
				time.Sleep(61 * time.Second)
				began := time.Now()

				require.NoError(t, s.Shutdown(within(t, deadline)))

				require.Equal(t, want, ended.Sub(began))
				require.ErrorIs(t, cause, scheduler.ErrStopping)
				require.Less(t, time.Since(began), deadline)
				<-s.Done()
				r, err := store.Inspect(t.Context(), "job")
				require.NoError(t, err)
				require.Len(t, r.Open, 1)
				require.Zero(t, r.Open[0].Remaining, "released, so that another replica goes on at once")
			})
		})
	}
}

func TestShutdownLetsRunsFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		finished := false
		s := alone(t, new(memlease.Store), "@every 1m", func(ctx context.Context, _ jobs.Run) error {
			time.Sleep(5 * time.Second)
			finished = ctx.Err() == nil
			return nil
		})
		require.NoError(t, s.Start())
		time.Sleep(61 * time.Second)

		require.NoError(t, s.Shutdown(within(t, 15*time.Second)))
		require.True(t, finished)
		require.NoError(t, s.Shutdown(t.Context()), "a second time")
	})
}

func TestShutdownNamesWhatDoesNotEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		s := alone(t, new(memlease.Store), "@every 1m", func(context.Context, jobs.Run) error {
			<-free
			return nil
		})
		require.NoError(t, s.Start())
		time.Sleep(61 * time.Second)
		began := time.Now()

		err := s.Shutdown(within(t, 5*time.Second))

		require.ErrorIs(t, err, context.DeadlineExceeded)
		var stuck *scheduler.StuckError
		require.ErrorAs(t, err, &stuck)
		require.Equal(t, []string{"job"}, stuck.Jobs)
		require.Equal(t, 5*time.Second, time.Since(began))
		close(free)
		<-s.Done()
	})
}

func TestShutdownEndsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := alone(t, new(memlease.Store), "@every 1m", takes(0))
		ran := make(chan error)
		go func() { ran <- s.Run(t.Context()) }()
		require.NoError(t, s.WaitReady(t.Context()))
		require.NoError(t, s.Shutdown(t.Context()))
		require.NoError(t, <-ran)
		require.ErrorIs(t, s.WaitReady(t.Context()), scheduler.ErrStopping)
	})
}

func TestCallsInTheWrongOrderAreErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		made := func() *scheduler.Scheduler { return alone(t, new(memlease.Store), "@every 1m", takes(0)) }

		early := made()
		require.ErrorContains(t, early.Shutdown(t.Context()), "neither Start nor Run")
		require.EqualError(t, early.Start(), "scheduler: Start: Shutdown was called before; make another Scheduler")
		require.EqualError(t, early.Run(t.Context()), "scheduler: Run: Shutdown was called before; make another Scheduler")

		twice := made()
		require.NoError(t, twice.Start())
		require.EqualError(t, twice.Start(), "scheduler: Start: Start was called before; make another Scheduler")
		require.EqualError(t, twice.Run(t.Context()), "scheduler: Run: Start was called before; make another Scheduler")
		require.NoError(t, twice.Shutdown(t.Context()))
		require.EqualError(t, twice.Start(), "scheduler: Start: Start was called before; make another Scheduler")
	})
}

// brokenStore answers nothing, and knows why.
type brokenStore struct{ memlease.Store }

var errBroken = errors.New("no wires")

func (*brokenStore) Time(context.Context) (now, since time.Time, err error) {
	return time.Time{}, time.Time{}, errBroken
}
func (s *brokenStore) Check(ctx context.Context) error { return protocol.Check(ctx, s) }
func (*brokenStore) Hint(error) string                 { return "lay some" }

func TestWaitReadyReturnsTheFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := alone(t, new(brokenStore), "@every 1m", takes(0))
		require.EqualError(t, s.WaitReady(within(t, time.Second)),
			"scheduler: not ready: context deadline exceeded; neither Start nor Run was called")
		require.NoError(t, s.Start())
		err := s.WaitReady(within(t, time.Second))
		require.EqualError(t, err, "scheduler: not ready: context deadline exceeded; the store said: no wires; lay some")
		require.ErrorIs(t, err, errBroken)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NoError(t, s.Shutdown(t.Context()))
	})
}

func TestWithoutAnObserverFailuresAreLogged(t *testing.T) {
	var out bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&out, nil)))
	defer slog.SetDefault(before)
	synctest.Test(t, func(t *testing.T) {
		s := alone(t, new(brokenStore), "@every 1m", takes(0))
		require.NoError(t, s.Start())
		time.Sleep(20 * time.Second)
		require.NoError(t, s.Shutdown(t.Context()))
	})
	require.Equal(t, 1, bytes.Count(out.Bytes(), []byte("\n")), out.String())
	require.Contains(t, out.String(), `level=ERROR msg="store does not answer; nothing starts until it does" error="no wires" hint="lay some"`)

	out.Reset()
	synctest.Test(t, func(t *testing.T) {
		s := alone(t, new(memlease.Store), "@every 1m", func(context.Context, jobs.Run) error { return errBroken })
		require.NoError(t, s.Start())
		time.Sleep(61 * time.Second)
		require.NoError(t, s.Shutdown(t.Context()))
	})
	require.Equal(t, 1, bytes.Count(out.Bytes(), []byte("\n")), out.String())
	require.Contains(t, out.String(), `level=ERROR msg="tick settled" job=job`)
}

// A job that is ready can be triggered: its record is there.
func TestAJobThatIsReadyHasARecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var store memlease.Store
		s := alone(t, &store, "@every 1h", takes(0))
		require.NoError(t, s.Start())
		require.NoError(t, s.WaitReady(t.Context()))
		_, err := store.Pause(t.Context(), "job", protocol.Pause{By: "test"})
		require.NoError(t, err)

		other, err := jobs.New("other", "@every 1h", takes(0))
		require.NoError(t, err)
		registry := registryOf(t, "@every 1h", takes(0))
		require.NoError(t, registry.Add(other))
		s.Update(registry)
		require.NoError(t, s.WaitReady(t.Context()))
		_, err = store.Pause(t.Context(), "other", protocol.Pause{By: "test"})
		require.NoError(t, err)
		require.NoError(t, s.Shutdown(t.Context()))
	})
}
