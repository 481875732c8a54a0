package chain

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs"
)

func TestEachAttemptHasItsTimeoutAndRecovery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []string
		handler := func(ctx context.Context, run jobs.Run) error {
			deadline, ok := ctx.Deadline()
			require.True(t, ok)
			inContext, ok := jobs.FromContext(ctx)
			require.True(t, ok)
			seen = append(seen, fmt.Sprintf("%d/%d %s", run.Attempt, inContext.Attempt, time.Until(deadline)))
			switch run.Attempt {
			case 1:
				<-ctx.Done()
				return ctx.Err()
			case 2:
				panic("two")
			case 3:
				runtime.Goexit()
			}
			return nil
		}
		job, err := jobs.New("j", "@hourly", handler, jobs.WithTimeout(time.Minute),
			jobs.WithRetry(jobs.Retry{MaxAttempts: 4, Backoff: 3 * time.Minute, MaxBackoff: time.Hour}))
		require.NoError(t, err)

		var failures []string
		hooks := Hooks{OnRetry: func(run jobs.Run, err error, _ time.Duration) {
			failures = append(failures, err.Error())
		}}
		require.NoError(t, New(job, hooks)(t.Context(), jobs.Run{Job: "j", Attempt: 1}))
		require.Equal(t, []string{"1/1 1m0s", "2/2 1m0s", "3/3 1m0s", "4/4 1m0s"}, seen)
		require.Equal(t, []string{
			"timeout: not done within 1m0s: context deadline exceeded",
			"panic: two",
			jobs.ErrGoexit.Error(),
		}, failures)
	})
}

func TestChainWithDefaultPoliciesRunsOnceWithoutLimit(t *testing.T) {
	calls := 0
	job, err := jobs.New("j", "@hourly", func(ctx context.Context, run jobs.Run) error {
		calls++
		_, limited := ctx.Deadline()
		require.False(t, limited)
		inContext, ok := jobs.FromContext(ctx)
		require.True(t, ok)
		require.Equal(t, run, inContext)
		panic("always")
	})
	require.NoError(t, err)
	err = New(job, Hooks{})(t.Context(), jobs.Run{Job: "j", Attempt: 1})
	require.EqualError(t, err, "panic: always")
	require.Equal(t, 1, calls)
}
