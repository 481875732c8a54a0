package chain

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs"
)

func TestTimeoutEndsTheContextWithItsCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		err := timeout(time.Minute)(func(ctx context.Context, _ jobs.Run) error {
			<-ctx.Done()
			require.ErrorIs(t, context.Cause(ctx), jobs.ErrTimeout)
			return ctx.Err()
		})(t.Context(), jobs.Run{})

		require.Equal(t, time.Minute, time.Since(start))
		require.ErrorIs(t, err, jobs.ErrTimeout)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		timeout, ok := errors.AsType[*jobs.TimeoutError](err)
		require.True(t, ok)
		require.Equal(t, jobs.TimeoutError{Setting: "timeout", Limit: time.Minute}, *timeout)
		require.EqualError(t, err, "timeout: not done within 1m0s: context deadline exceeded")
	})
}

func TestReturnedTimeoutIsReportedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		err := timeout(time.Minute)(func(ctx context.Context, _ jobs.Run) error {
			<-ctx.Done()
			return context.Cause(ctx)
		})(t.Context(), jobs.Run{})
		require.EqualError(t, err, "timeout: not done within 1m0s")
	})
}

func TestTimeoutAwaitsAHandlerThatIgnoresItsContext(t *testing.T) {
	for _, own := range []error{nil, io.ErrUnexpectedEOF} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			err := timeout(time.Minute)(func(context.Context, jobs.Run) error {
				time.Sleep(time.Hour)
				return own
			})(t.Context(), jobs.Run{})

			require.Equal(t, time.Hour, time.Since(start))
			if own == nil {
				require.NoError(t, err, "returning nil is success, however late")
				return
			}
			require.ErrorIs(t, err, own)
			require.ErrorIs(t, err, jobs.ErrTimeout)
		})
	}
}

func TestTimeoutLeavesOtherFailuresAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limited := timeout(time.Minute)
		early := limited(func(context.Context, jobs.Run) error { return io.ErrUnexpectedEOF })
		require.EqualError(t, early(t.Context(), jobs.Run{}), io.ErrUnexpectedEOF.Error())

		lost := errors.New("lease lost")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(lost) })
		err := limited(func(ctx context.Context, _ jobs.Run) error {
			<-ctx.Done()
			time.Sleep(time.Hour) // past the limit; the first cause stays
			return context.Cause(ctx)
		})(ctx, jobs.Run{})
		require.ErrorIs(t, err, lost)
		require.EqualError(t, err, "lease lost")
	})
}

func TestNoTimeoutNoDeadline(t *testing.T) {
	for _, limit := range []time.Duration{0, -time.Second} {
		err := timeout(limit)(func(ctx context.Context, _ jobs.Run) error {
			_, limited := ctx.Deadline()
			require.False(t, limited)
			return nil
		})(t.Context(), jobs.Run{})
		require.NoError(t, err)
	}
}
