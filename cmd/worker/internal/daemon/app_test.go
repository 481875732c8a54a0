package daemon

import (
	"errors"
	"log/slog"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/solotick/solotick/config"
)

var quiet = slog.New(slog.DiscardHandler)

func TestPartsFitTogether(t *testing.T) {
	require.NoError(t, fx.ValidateApp(replica, fx.Supply(config.Default(), quiet, new(LogWriter), Options{}, new(source))))
}

func TestStopTimeoutCoversAllParts(t *testing.T) {
	require.Equal(t, time.Minute+30*time.Second, stopTimeout(time.Minute))
	require.Positive(t, stopTimeout(math.MaxInt64))
}

func TestTheFirstFailureIsEnough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // where waiting for ever is a deadlock that fails the test
		failed := make(failures, 1)
		failed.report(errors.New("first"))
		failed.report(errors.New("second"))
		require.EqualError(t, <-failed, "first")
	})
}
