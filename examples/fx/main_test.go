package main

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.uber.org/fx/fxevent"

	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/lease/redislease"
	"github.com/solotick/solotick/scheduler"
)

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

func stop(t *testing.T, app *fx.App) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), app.StopTimeout())
	defer cancel()
	require.NoError(t, app.Stop(ctx))
}

// A run of a minute in an application that fx stops within its 15 s is cancelled, and its tick released.
func TestFxCancelsLongRunAndReleasesItsTick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(memlease.Store)
		began, cancelled := make(chan struct{}, 9), make(chan error, 9)
		app := fx.New(
			fx.Supply(fx.Annotate(store, fx.As(new(lease.Store)))),
			fx.Provide(asJob(minute("@every 10m", began, cancelled))), scheduling,
			fx.WithLogger(func() fxevent.Logger { return fxevent.NopLogger }),
		)
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

func TestTheWholeProgramReleasesItsTickOnRedis(t *testing.T) {
	server := redistest.Start(t)
	began, cancelled := make(chan struct{}, 9), make(chan error, 9)
	app := fx.New(
		fx.Supply(redisURL(server.URL())), fx.Provide(newStore, asJob(newReport), asJob(minute("@every 1s", began, cancelled))), scheduling,
		fx.StopTimeout(3*time.Second), fx.WithLogger(func() fxevent.Logger { return fxevent.NopLogger }),
	)
	require.NoError(t, app.Start(t.Context()))
	<-began
	stop(t, app)
	require.ErrorIs(t, <-cancelled, scheduler.ErrStopping)

	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	store, err := redislease.New(client, "fx-example")
	require.NoError(t, err)
	defer func() { _, _ = store.Close(), client.Close() }()
	r, err := store.Inspect(t.Context(), "minute")
	require.NoError(t, err)
	require.Len(t, r.Open, 1)
	require.Zero(t, r.Open[0].Remaining, "released")
}
