package solotickfx_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.uber.org/fx/fxevent"

	"github.com/solotick/solotick"
	"github.com/solotick/solotick/contrib/solotickfx"
	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/lock"
	"github.com/solotick/solotick/scheduler"
)

var silent = fx.WithLogger(func() fxevent.Logger { return fxevent.NopLogger })

// minute is a run of a minute that says why it was cancelled.
func minute(schedule string, began chan<- struct{}, cancelled chan<- error) func() (*jobs.Job, error) {
	return func() (*jobs.Job, error) {
		return jobs.New("minute", schedule, func(ctx context.Context, _ jobs.Run) error {
			began <- struct{}{}
			select {
			case <-time.After(time.Minute):
				cancelled <- nil
			case <-ctx.Done():
				cancelled <- context.Cause(ctx)
			}
			return ctx.Err()
		})
	}
}

func memory(store *memlease.Store) fx.Option {
	return fx.Supply(fx.Annotate(store, fx.As(new(lease.Store))))
}

func stop(t *testing.T, app *fx.App) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), app.StopTimeout())
	defer cancel()
	require.NoError(t, app.Stop(ctx))
}

// A run of a minute in an application that fx stops within its 15 s is cancelled, and its tick
// released.
func TestStopCancelsLongRunAndReleasesItsTick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(memlease.Store)
		began, cancelled := make(chan struct{}, 9), make(chan error, 9)
		app := fx.New(silent, memory(store), fx.Provide(solotickfx.AsJob(minute("@every 10m", began, cancelled))), solotickfx.Module(""))
		require.Equal(t, 15*time.Second, app.StopTimeout())
		require.NoError(t, app.Start(t.Context()))
		<-began
		time.Sleep(time.Second)
		stopped := time.Now()

		stop(t, app)

		require.Equal(t, 12*time.Second, time.Since(stopped))
		require.ErrorIs(t, <-cancelled, scheduler.ErrStopping)
		r, err := store.Inspect(t.Context(), "minute")
		require.NoError(t, err)
		require.Len(t, r.Open, 1)
		require.Zero(t, r.Open[0].Remaining, "released")
	})
}

func TestAnApplicationOnRedisRunsItsJobs(t *testing.T) {
	server := redistest.Start(t)
	began, cancelled := make(chan struct{}, 9), make(chan error, 9)
	newClient := func(lc fx.Lifecycle) *redis.Client {
		client := redis.NewClient(&redis.Options{Addr: server.Addr()})
		lc.Append(fx.StopHook(client.Close))
		return client
	}
	var parts struct {
		fx.In
		Fleet     *fleet.Fleet
		Locks     *lock.Locks
		Scheduler *solotick.Scheduler
	}
	app := fx.New(silent, fx.StopTimeout(3*time.Second),
		fx.Provide(newClient, solotickfx.AsJob(minute("@every 1s", began, cancelled))), solotickfx.Module("billing"),
		fx.Populate(&parts),
	)
	require.NoError(t, app.Start(t.Context()))
	<-began
	require.Equal(t, "billing", parts.Fleet.Namespace())
	hold, err := parts.Locks.Mutex("stock").Acquire(t.Context())
	require.NoError(t, err)
	require.NoError(t, hold.Release(t.Context()))
	require.NoError(t, parts.Scheduler.WaitReady(t.Context()))
	stop(t, app)
	require.ErrorIs(t, <-cancelled, scheduler.ErrStopping)
}

func TestWrongApplicationsDoNotStart(t *testing.T) {
	client := redis.NewClient(&redis.Options{})
	require.NoError(t, client.Close())
	refused := func() (*jobs.Job, error) { return jobs.New("report", "61 * * * *", nil) }
	twice := func() *jobs.Job {
		job, err := jobs.New("report", "@hourly", func(context.Context, jobs.Run) error { return nil })
		require.NoError(t, err)
		return job
	}
	for name, c := range map[string]struct {
		options fx.Option
		wants   []string
	}{
		"no store":           {solotickfx.Module("billing"), []string{"provide one of"}},
		"two stores":         {fx.Options(memory(new(memlease.Store)), fx.Supply(client), solotickfx.Module("")), []string{"provide one of"}},
		"a second namespace": {fx.Options(memory(new(memlease.Store)), solotickfx.Module("billing")), []string{"namespace must be empty"}},
		"a wrong namespace":  {fx.Options(fx.Supply(client), solotickfx.Module("no spaces")), []string{"no spaces"}},
		"a wrong job": {fx.Options(memory(new(memlease.Store)), fx.Provide(solotickfx.AsJob(refused)), solotickfx.Module("")),
			[]string{"61", "handler"}},
		"one name twice": {fx.Options(memory(new(memlease.Store)), fx.Provide(solotickfx.AsJob(twice), solotickfx.AsJob(twice)), solotickfx.Module("")),
			[]string{"report", "unique"}},
	} {
		t.Run(name, func(t *testing.T) {
			err := fx.New(silent, c.options).Start(t.Context())
			for _, want := range c.wants {
				require.ErrorContains(t, err, want)
			}
		})
	}
}
