package daemon

import (
	"context"
	"log/slog"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.uber.org/fx/fxevent"
)

// fx listens to SIGTERM, too. Up to v1.22.1 its listener and App.Stop could wait for each other
// until the timeout of the stop.
func TestSignalDoesNotDelayStop(t *testing.T) {
	for range 20 {
		app := fx.New(fx.WithLogger(func() fxevent.Logger { return fxevent.NopLogger }))
		require.NoError(t, app.Start(t.Context()))
		signalled, stop := untilSignalled(t.Context(), slog.New(slog.DiscardHandler), func(int) {})
		require.NoError(t, syscall.Kill(syscall.Getpid(), syscall.SIGTERM))
		<-signalled.Done()

		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		err := app.Stop(ctx)
		cancel()
		stop()
		require.NoError(t, err)
	}
}
