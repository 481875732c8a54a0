package chain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs"
)

func attempts(n int) jobs.Retry {
	return jobs.Retry{MaxAttempts: n, Backoff: time.Second, MaxBackoff: time.Minute}
}

// recorder is a handler and hooks that record their calls, in order.
type recorder struct {
	fail  int // this many attempts fail with err, the others succeed
	err   error
	calls []string
	waits []time.Duration
}

func (r *recorder) handle(ctx context.Context, run jobs.Run) error {
	r.calls = append(r.calls, fmt.Sprintf("run %d", run.Attempt))
	if r.fail > 0 {
		r.fail--
		return r.err
	}
	return nil
}

func (r *recorder) hooks() Hooks {
	return Hooks{
		OnRetry: func(run jobs.Run, err error, wait time.Duration) {
			r.calls = append(r.calls, fmt.Sprintf("retry after %d: %v", run.Attempt, err))
			r.waits = append(r.waits, wait)
		},
		BeforeAttempt: func(_ context.Context, run *jobs.Run) {
			r.calls = append(r.calls, fmt.Sprintf("announce %d", run.Attempt))
		},
	}
}

func TestRetryCountsAttemptsFromTheFirst(t *testing.T) {
	for name, test := range map[string]struct {
		policy jobs.Retry
		first  int
		fail   int
		want   []string
		failed bool
	}{
		"success needs no retry":            {attempts(3), 1, 0, []string{"run 1"}, false},
		"one attempt is one attempt":        {attempts(1), 1, 9, []string{"run 1"}, true},
		"zero attempts is one, too":         {attempts(0), 1, 9, []string{"run 1"}, true},
		"it ends with the first success":    {attempts(5), 1, 1, []string{"run 1", "retry after 1: no", "announce 2", "run 2"}, false},
		"it ends with the last attempt":     {attempts(2), 1, 9, []string{"run 1", "retry after 1: no", "announce 2", "run 2"}, true},
		"attempts before a takeover count":  {attempts(4), 3, 9, []string{"run 3", "retry after 3: no", "announce 4", "run 4"}, true},
		"a takeover past the limit is run":  {attempts(3), 3, 9, []string{"run 3"}, true},
		"a takeover far past it is run too": {attempts(3), 7, 9, []string{"run 7"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &recorder{fail: test.fail, err: errors.New("no")}
				err := retrying(test.policy, r.hooks())(r.handle)(t.Context(), jobs.Run{Attempt: test.first})
				require.Equal(t, test.want, r.calls)
				if test.failed {
					require.ErrorIs(t, err, r.err)
					require.EqualError(t, err, r.err.Error(), "the last attempt's own error")
				} else {
					require.NoError(t, err)
				}
			})
		})
	}
}

func TestWrappersWithNothingToDoAddNothing(t *testing.T) {
	same := func(h jobs.Handler) bool {
		return reflect.ValueOf(h).Pointer() == reflect.ValueOf(panicsOnPurpose).Pointer()
	}
	require.True(t, same(retrying(attempts(1), Hooks{})(panicsOnPurpose)))
	require.True(t, same(timeout(0)(panicsOnPurpose)))
	require.False(t, same(retrying(attempts(2), Hooks{})(panicsOnPurpose)))
}

func TestRetryWaitsDoubleWithinTheirBounds(t *testing.T) {
	for name, policy := range map[string]jobs.Retry{
		"doubling":                     {MaxAttempts: 9, Backoff: time.Second, MaxBackoff: time.Hour},
		"capped":                       {MaxAttempts: 9, Backoff: 10 * time.Second, MaxBackoff: 25 * time.Second},
		"capped from the start":        {MaxAttempts: 4, Backoff: time.Minute, MaxBackoff: time.Minute},
		"no back-off":                  {MaxAttempts: 4, Backoff: 0, MaxBackoff: time.Minute},
		"no back-off at all":           {MaxAttempts: 4, Backoff: 0, MaxBackoff: 0},
		"as long as a duration can be": {MaxAttempts: 1 << 8, Backoff: 1, MaxBackoff: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &recorder{fail: math.MaxInt, err: errors.New("no")}
				start := time.Now()
				require.Error(t, retrying(policy, r.hooks())(r.handle)(t.Context(), jobs.Run{Attempt: 1}))

				require.Len(t, r.waits, policy.MaxAttempts-1)
				var sum time.Duration
				interval := policy.Backoff
				for i, wait := range r.waits {
					sum += wait
					require.GreaterOrEqual(t, wait, interval/2, "wait %d", i)
					require.LessOrEqual(t, wait, min(interval+interval/2+1, policy.MaxBackoff), "wait %d", i)
					interval = min(2*interval, policy.MaxBackoff)
				}
				require.Equal(t, sum, time.Since(start), "the reported waits are the real ones")
			})
		})
	}
}

func TestRetryWaitsAreNotTheSameEachTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := map[time.Duration]bool{}
		for range 20 {
			r := &recorder{fail: 1, err: errors.New("no")}
			require.NoError(t, retrying(attempts(2), r.hooks())(r.handle)(t.Context(), jobs.Run{Attempt: 1}))
			seen[r.waits[0]] = true
		}
		require.Greater(t, len(seen), 1)
	})
}

type busy struct{ wait time.Duration }

func (busy) Error() string               { return "busy" }
func (b busy) RetryAfter() time.Duration { return b.wait }

func TestRetryWaitsAsLongAsErrorsAsk(t *testing.T) {
	for asked, want := range map[time.Duration]time.Duration{
		30 * time.Second: 30 * time.Second,
		time.Hour:        time.Minute, // MaxBackoff bounds it
	} {
		synctest.Test(t, func(t *testing.T) {
			r := &recorder{fail: 1, err: fmt.Errorf("call: %w", busy{asked})}
			require.NoError(t, retrying(attempts(2), r.hooks())(r.handle)(t.Context(), jobs.Run{Attempt: 1}))
			require.Equal(t, []time.Duration{want}, r.waits)
		})
	}
	synctest.Test(t, func(t *testing.T) { // less than the back-off, or nonsense: the back-off holds
		r := &recorder{fail: 1, err: busy{-time.Hour}}
		require.NoError(t, retrying(attempts(2), r.hooks())(r.handle)(t.Context(), jobs.Run{Attempt: 1}))
		require.GreaterOrEqual(t, r.waits[0], time.Second/2)
	})
}

func TestTimedOutAttemptsAreRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		handler := retrying(attempts(2), Hooks{})(timeout(time.Minute)(
			func(ctx context.Context, _ jobs.Run) error {
				if calls++; calls == 1 {
					<-ctx.Done()
				}
				return ctx.Err()
			}))
		require.NoError(t, handler(t.Context(), jobs.Run{Attempt: 1}))
		require.Equal(t, 2, calls)
	})
}

func TestRetriedAttemptsCarryTheirRunInTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := jobs.Run{Job: "j", Attempt: 1}
		var carried []int
		err := retrying(attempts(3), Hooks{})(func(ctx context.Context, run jobs.Run) error {
			inContext, ok := jobs.FromContext(ctx)
			require.True(t, ok)
			require.Equal(t, run, inContext)
			carried = append(carried, inContext.Attempt)
			return io.ErrUnexpectedEOF
		})(jobs.NewContext(t.Context(), run), run)
		require.Error(t, err)
		require.Equal(t, []int{1, 2, 3}, carried)
	})
}
