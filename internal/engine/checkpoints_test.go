package engine

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease/driver"
)

// slowWay is a store to which calls take so long.
type slowWay struct {
	driver.Memory
	there time.Duration
	calls int
}

func (s *slowWay) Do(ctx context.Context, ops []driver.Op) []driver.Result {
	s.calls++
	time.Sleep(s.there)
	return s.Memory.Do(ctx, ops)
}

// TestLateCheckpointChangesNothing holds a change up until the lease has ended, as a frozen process
// or a network does.
func TestLateCheckpointChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(slowWay)
		s, err := NewSession(store, "test", Options{})
		require.NoError(t, err)
		put := func(data string, remaining time.Duration) error {
			return s.Checkpoint(t.Context(), []protocol.Checkpoint{{Name: "job", Tick: 1, Token: 1, Data: []byte(data), Remaining: remaining}})[0]
		}
		newest := func() string {
			list, err := s.Checkpoints(t.Context(), "job")
			require.NoError(t, err)
			require.Len(t, list, 1)
			return string(list[0].Data)
		}
		require.NoError(t, put("first", time.Second))
		store.there, store.calls = 2*time.Second, 0
		require.NoError(t, put("in time", 3*time.Second))
		require.Equal(t, 1, store.calls, "a known value is not read again")
		require.Equal(t, "in time", newest())
		_, late := errors.AsType[*protocol.BoundsError](put("late", time.Second))
		require.True(t, late)
		require.Equal(t, "in time", newest())
	})
}

func TestCheckpointsOfManyJobsTravelTogether(t *testing.T) {
	store := new(slowWay)
	s, err := NewSession(store, "test", Options{})
	require.NoError(t, err)
	var list []protocol.Checkpoint
	for i := range most {
		name := "job-" + string(rune('a'+i%26)) + string(rune('a'+i/26))
		list = append(list, protocol.Checkpoint{Name: name, Tick: 1, Token: 1, Remaining: time.Minute}, protocol.Checkpoint{Name: name, Tick: 2, Token: 2, Remaining: time.Minute})
	}
	for i, calls := range []int{2, 1} { // the first reads the values
		store.calls = 0
		for _, err := range s.Checkpoint(t.Context(), list) {
			require.NoError(t, err)
		}
		require.Equal(t, calls, store.calls, "round %d", i)
	}
}
