package engine_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/engine"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease/driver"
)

// far is a driver that is some time away.
type far struct {
	*driver.Memory
	mu    sync.Mutex
	calls int
}

func (f *far) Do(ctx context.Context, ops []driver.Op) []driver.Result {
	f.mu.Lock()
	f.calls++
	f.mu.Unlock()
	time.Sleep(50 * time.Millisecond)
	return f.Memory.Do(ctx, ops)
}

// distant returns a session far from a record named job, which several triggers may wait for at
// once.
func distant(t *testing.T) (*engine.Session, *far) {
	t.Helper()
	f := &far{Memory: new(driver.Memory)}
	s, err := engine.NewSession(f, "fleet", engine.Options{})
	require.NoError(t, err)
	_, err = s.Sync(t.Context(), []protocol.Sync{{Name: "job", Policy: protocol.Policy{Beside: true}}})
	require.NoError(t, err)
	f.calls = 0
	return s, f
}

func trigger(i int) protocol.Trigger {
	return protocol.Trigger{Name: "job", Request: fmt.Sprint("request-", i), Until: time.Now().Add(time.Minute), By: "ops"}
}

func TestActsOfOneProcessTravelTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, f := distant(t)
		const many = 10
		var all sync.WaitGroup
		ticks := make([]int64, many)
		for i := range many {
			all.Go(func() {
				a, err := s.Trigger(t.Context(), trigger(i))
				require.NoError(t, err)
				require.Equal(t, protocol.Opened, a.Status)
				ticks[i] = a.Tick
			})
		}
		all.Go(func() {
			in, err := s.Pause(t.Context(), "job", protocol.Pause{By: "ops", Reason: "a deploy"})
			require.NoError(t, err)
			require.Equal(t, "a deploy", in.Reason)
		})
		all.Wait()
		require.LessOrEqual(t, f.calls, 3, "the first by itself, and then the others")
		r, err := s.Inspect(t.Context(), "job")
		require.NoError(t, err)
		require.Len(t, r.Open, many)
		for _, e := range r.Open {
			require.Contains(t, ticks, e.Tick)
		}
		require.NotNil(t, r.Paused)
	})
}

func TestActOfOneThatIsRefusedOrLeavesIsItsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := distant(t)
		keyed := func(i int, payload string) protocol.Trigger {
			q := trigger(i)
			q.Key, q.Window, q.Payload = "order", time.Hour, payload
			return q
		}
		gone, leave := context.WithCancelCause(t.Context())
		left := errors.New("left")
		time.AfterFunc(10*time.Millisecond, func() { leave(left) })
		asks := []struct {
			ctx  context.Context
			ask  protocol.Trigger
			want error
		}{
			{t.Context(), keyed(0, "a"), nil},
			{t.Context(), keyed(1, "b"), protocol.ErrPayloadDiffers},
			{gone, trigger(2), left},
			{t.Context(), trigger(3), nil},
		}
		var all sync.WaitGroup
		for _, a := range asks {
			all.Go(func() {
				_, err := s.Trigger(a.ctx, a.ask)
				require.ErrorIs(t, err, a.want)
			})
			synctest.Wait()
		}
		all.Wait()
	})
}
