package lease

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTimeoutContextEndsAtItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waited, asked := newLimited(t.Context(), time.Second), newLimited(t.Context(), time.Second)
		child, cancel := context.WithCancel(waited)
		defer cancel()
		start := time.Now()
		require.NoError(t, asked.Err())
		<-child.Done()
		require.Equal(t, time.Second, time.Since(start))
		for _, c := range []*limited{waited, asked} {
			require.Equal(t, context.DeadlineExceeded, c.Err())
			require.Equal(t, context.DeadlineExceeded, context.Cause(c))
			select {
			case <-c.Done():
			default:
				t.Fatal("not done")
			}
		}
	})
}

func TestTimeoutContextEndsWithItsParent(t *testing.T) {
	type key struct{}
	why := errors.New("why")
	for name, look := range map[string]func(context.Context){
		"before somebody waits": func(context.Context) {},
		"while somebody waits":  func(ctx context.Context) { ctx.Done() },
	} {
		t.Run(name, func(t *testing.T) {
			parent, cancel := context.WithCancelCause(context.WithValue(t.Context(), key{}, "value"))
			c := newLimited(parent, time.Hour)
			look(c)
			require.Equal(t, "value", c.Value(key{}))
			cancel(why)
			<-c.Done()
			require.Equal(t, context.Canceled, c.Err())
			require.Equal(t, why, context.Cause(c))
		})
	}
}

func TestTimeoutContextHasTheEarlierDeadline(t *testing.T) {
	soon, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	want, _ := soon.Deadline()
	got, ok := newLimited(soon, time.Hour).Deadline()
	require.True(t, ok)
	require.Equal(t, want, got)
	got, ok = newLimited(soon, time.Second).Deadline()
	require.True(t, ok)
	require.True(t, got.Before(want))
}

func TestStoppedLimitedLetsGoOfItsTimer(t *testing.T) {
	c := newLimited(t.Context(), time.Hour)
	c.stop() // nothing to let go of
	done := c.Done()
	c.stop()
	<-done
}
