package admission

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRoomGoesFromTheClaimToTheRunAndItsHeir(t *testing.T) {
	k := NewCapacity(3)
	r := NewRoom(k, &Waiter{Wake: func() {}})
	used := func() int {
		used, _ := k.Load()
		return used
	}
	require.True(t, r.Acquire(1, 2))
	require.True(t, r.Acquire(1, 2), "it has room")
	require.Equal(t, 2, used())
	r.Rest(true)
	require.Equal(t, 2, used(), "the claim may have been granted")
	taken, ok := r.HandOver(2)
	require.True(t, ok)
	require.Equal(t, Taken{Weight: 2}, taken)

	r.Inherit(taken)
	r.Rest(false)
	require.Equal(t, 2, used(), "the run is not settled")
	require.False(t, r.IsOffered(false))
	r.Bequeathed()
	require.True(t, r.IsOffered(false), "the next tick is to be claimed")
	require.False(t, r.IsOffered(true))
	r.Rest(false)
	require.Zero(t, used())
}

func TestRoomIsExactlyWhatTheRunWeighs(t *testing.T) {
	for name, test := range map[string]struct{ acquired, weight int }{
		"the same":                    {2, 2},
		"the job was heavier":         {3, 2},
		"two claims had been granted": {0, 2},
	} {
		k := NewCapacity(10)
		r := NewRoom(k, &Waiter{})
		if test.acquired > 0 {
			require.True(t, r.Acquire(1, test.acquired), name)
		}
		taken, ok := r.HandOver(test.weight)
		require.True(t, ok, name)
		require.Equal(t, Taken{Weight: test.weight}, taken, name)
		used, _ := k.Load()
		require.Equal(t, test.weight, used, name)
	}
}

func TestTickThatFoundNoRoomKeepsItsPlaceInTheQueue(t *testing.T) {
	k := NewCapacity(1)
	k.Take(1)
	r := NewRoom(k, &Waiter{})
	require.False(t, r.Acquire(5, 1))
	require.True(t, r.IsShort())
	require.False(t, r.Acquire(7, 1))
	require.EqualValues(t, 5, r.waiter.due, "the oldest tick counts")
	r.Rest(false)
	require.Len(t, k.First(9), 1)
	r.NotShort()
	r.Rest(false)
	require.Empty(t, k.First(9))
}
