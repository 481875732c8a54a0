package chain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs"
)

func TestPermanentFailureIsNotRetried(t *testing.T) {
	for name, handler := range map[string]jobs.Handler{
		"returned": func(context.Context, jobs.Run) error { return jobs.Permanent(io.ErrUnexpectedEOF) },
		"wrapped": func(context.Context, jobs.Run) error {
			return fmt.Errorf("read: %w", jobs.Permanent(io.ErrUnexpectedEOF))
		},
		"panicked": Recover(func(context.Context, jobs.Run) error { panic(jobs.Permanent(io.ErrUnexpectedEOF)) }),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				err := retrying(attempts(3), Hooks{})(func(ctx context.Context, run jobs.Run) error {
					calls++
					return handler(ctx, run)
				})(t.Context(), jobs.Run{Attempt: 1})
				require.Equal(t, 1, calls)
				require.ErrorIs(t, err, io.ErrUnexpectedEOF)
			})
		})
	}
}

func TestStoppingEndsRetries(t *testing.T) {
	for name, test := range map[string]struct{ stopAt, want time.Duration }{
		"before":         {0, time.Second},
		"in an attempt":  {500 * time.Millisecond, time.Second},
		"in a wait":      {1500 * time.Millisecond, 1500 * time.Millisecond},
		"in the next":    {time.Hour + 500*time.Millisecond, 0},
		"when all ended": {24 * time.Hour, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stopping := make(chan struct{})
				time.AfterFunc(test.stopAt, func() { close(stopping) })
				began := time.Now()
				policy := jobs.Retry{MaxAttempts: 3, Backoff: time.Hour, MaxBackoff: time.Hour}
				err := retrying(policy, Hooks{Stopping: stopping})(func(context.Context, jobs.Run) error {
					time.Sleep(time.Second)
					return io.ErrUnexpectedEOF
				})(t.Context(), jobs.Run{Attempt: 1})
				require.ErrorIs(t, err, io.ErrUnexpectedEOF)
				require.Equal(t, test.stopAt < 2*time.Hour, errors.Is(err, ErrGivenUp))
				if test.want != 0 {
					require.Equal(t, test.want, time.Since(began))
				}
				time.Sleep(48 * time.Hour) // the timer
			})
		})
	}
}

func TestPermanentKeepsTheErrorItMarks(t *testing.T) {
	require.NoError(t, jobs.Permanent(nil))
	err := jobs.Permanent(io.ErrUnexpectedEOF)
	require.EqualError(t, err, io.ErrUnexpectedEOF.Error())
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	_, ok := errors.AsType[*jobs.PermanentError](err)
	require.True(t, ok)
}

func TestPanicsAreRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		handler := retrying(attempts(3), Hooks{})(Recover(func(context.Context, jobs.Run) error {
			if calls++; calls < 3 {
				panic("no")
			}
			return nil
		}))
		require.NoError(t, handler(t.Context(), jobs.Run{Attempt: 1}))
		require.Equal(t, 3, calls)
	})
}

var errLost = errors.New("lease lost")

func TestRetryEndsWithItsContext(t *testing.T) {
	for name, when := range map[string]func(end func()) (jobs.Handler, Hooks){
		"during the attempt": func(end func()) (jobs.Handler, Hooks) {
			return func(context.Context, jobs.Run) error { end(); return io.ErrUnexpectedEOF }, Hooks{}
		},
		"during the wait": func(end func()) (jobs.Handler, Hooks) {
			return func(context.Context, jobs.Run) error {
				time.AfterFunc(time.Minute, end)
				return io.ErrUnexpectedEOF
			}, Hooks{}
		},
		"in OnRetry": func(end func()) (jobs.Handler, Hooks) {
			return func(context.Context, jobs.Run) error { return io.ErrUnexpectedEOF },
				Hooks{OnRetry: func(jobs.Run, error, time.Duration) { end() }}
		},
		"while it is announced": func(end func()) (jobs.Handler, Hooks) {
			return func(context.Context, jobs.Run) error { return io.ErrUnexpectedEOF },
				Hooks{BeforeAttempt: func(context.Context, *jobs.Run) { end() }}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				handler, hooks := when(func() { cancel(errLost) })
				calls, start := 0, time.Now()
				policy := jobs.Retry{MaxAttempts: 3, Backoff: time.Hour, MaxBackoff: 24 * time.Hour}
				err := retrying(policy, hooks)(func(ctx context.Context, run jobs.Run) error {
					calls++
					return handler(ctx, run)
				})(ctx, jobs.Run{Attempt: 1})

				require.Equal(t, 1, calls)
				require.ErrorIs(t, err, io.ErrUnexpectedEOF)
				require.ErrorIs(t, err, errLost)
				require.EqualError(t, err, "unexpected EOF (not tried again: lease lost)")
				switch name {
				case "during the wait":
					require.Equal(t, time.Minute, time.Since(start))
				case "while it is announced": // after the wait
				default:
					require.Zero(t, time.Since(start))
				}
			})
		})
	}
}

func TestLastFailureIsNoRetry(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errLost)
	r := &recorder{fail: 9, err: errLost}
	err := retrying(attempts(3), r.hooks())(r.handle)(ctx, jobs.Run{Attempt: 1})
	require.ErrorIs(t, err, errLost)
	require.EqualError(t, err, errLost.Error(), "a handler that returned the cause has said it all")
	require.Equal(t, []string{"run 1"}, r.calls)
}
