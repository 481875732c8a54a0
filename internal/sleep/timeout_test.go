package sleep

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestConcurrentCallsShareATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 800 * time.Millisecond
		l := NewTimeout(limit)
		first := l.Context(time.Now())
		require.Equal(t, first, l.Context(time.Now()))
		seen := map[context.Context]bool{}
		for range 1000 {
			ctx := l.Context(time.Now())
			seen[ctx] = true
			deadline, ok := ctx.Deadline()
			require.True(t, ok)
			require.NoError(t, ctx.Err())
			require.LessOrEqual(t, time.Until(deadline), limit)
			require.Greater(t, time.Until(deadline), limit*3/4)
			time.Sleep(time.Millisecond)
		}
		require.Len(t, seen, 10, "a new one each eighth of the limit")
		require.ErrorIs(t, first.Err(), context.DeadlineExceeded)

		last := l.Context(time.Now())
		l.Close()
		require.ErrorIs(t, last.Err(), context.Canceled)
		require.NoError(t, l.Context(time.Now()).Err())
		l.Close()
	})
}
