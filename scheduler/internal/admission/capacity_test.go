package admission

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNoLimitAdmitsEverything(t *testing.T) {
	k := NewCapacity(0)
	for range 1000 {
		require.True(t, k.Acquire(new(Waiter), 1, 1000))
	}
	used, waiting := k.Load()
	require.Equal(t, 1_000_000, used)
	require.Zero(t, waiting)
}

func TestRoomIsOfferedToOldestDueFirst(t *testing.T) {
	k := NewCapacity(2)
	require.True(t, k.Acquire(new(Waiter), 1, 2))
	newer, older, same := &Waiter{Order: 1}, &Waiter{Order: 9}, &Waiter{Order: 2}
	require.False(t, k.Acquire(newer, 7, 1))
	require.False(t, k.Acquire(older, 5, 1))
	require.False(t, k.Acquire(same, 7, 1))
	require.Nil(t, k.Offer(), "nothing is free")

	k.Release(2)
	require.Len(t, k.Freed, 1)
	require.Same(t, older, k.Offer())
	require.Same(t, newer, k.Offer())
	require.Nil(t, k.Offer(), "both are reserved")
	k.Withdraw(newer)
	require.Same(t, same, k.Offer())
	require.True(t, k.Acquire(older, 5, 1))
	require.True(t, k.Acquire(same, 7, 1))
	used, waiting := k.Load()
	require.Equal(t, 2, used)
	require.Zero(t, waiting)
}

func TestHeavyWaiterIsNotPassed(t *testing.T) {
	k := NewCapacity(3)
	require.True(t, k.Acquire(new(Waiter), 1, 1))
	heavy, light, early := new(Waiter), new(Waiter), new(Waiter)
	require.False(t, k.Acquire(heavy, 5, 3))
	require.False(t, k.Acquire(light, 6, 1), "it would take the room that the heavy one waits for")
	require.True(t, k.Acquire(early, 4, 1), "it came due before")
	k.Release(1)
	require.Nil(t, k.Offer())
	k.Release(1)
	require.Same(t, heavy, k.Offer())

	k.Withdraw(heavy) // another replica has run it
	require.Same(t, light, k.Offer())
}

func TestWeightAboveLimitNeverWaits(t *testing.T) {
	k := NewCapacity(3)
	giant, light := new(Waiter), new(Waiter)
	require.False(t, k.Acquire(giant, 1, 4))
	require.True(t, k.Acquire(light, 2, 3))

	require.False(t, k.Acquire(giant, 1, 1))
	require.False(t, k.Acquire(giant, 1, 4), "its job was redefined while it waited")
	_, waiting := k.Load()
	require.Zero(t, waiting)
}

func TestRoomIsNeverExceededNorLost(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // not for secrets
	const most = 10
	k := NewCapacity(most)
	all := make([]*Waiter, 20)
	for i := range all {
		all[i] = &Waiter{Order: r.Uint64()}
	}
	var runs []int
	for range 20_000 {
		w := all[r.IntN(len(all))]
		switch r.IntN(4) {
		case 0:
			weight := 1 + r.IntN(most+1)
			if k.Acquire(w, r.Int64N(50), weight) {
				runs = append(runs, weight)
			}
		case 1:
			k.Withdraw(w)
		case 2:
			select {
			case <-k.Freed:
			default:
				continue
			}
			for w := k.Offer(); w != nil; w = k.Offer() {
				require.Positive(t, w.offer)
			}
		case 3:
			if n := len(runs); n > 0 {
				k.Release(runs[n-1])
				runs = runs[:n-1]
			}
		}
		used, waiting := k.Load()
		want := 0
		for _, n := range runs {
			want += n
		}
		queued := 0
		for _, w := range all {
			want += w.offer
			require.Equal(t, w.offer > 0, w.Offered.Load())
			require.False(t, w.offer > 0 && w.index > 0, "an offer is out of the queue")
			if w.index > 0 {
				queued++
			}
		}
		require.Equal(t, want, used)
		require.LessOrEqual(t, used, most)
		require.Equal(t, queued, waiting)
		if waiting > 0 && used+k.waiting[0].weight <= most {
			require.Len(t, k.Freed, 1, "nobody would offer the room")
		}
	}
}
