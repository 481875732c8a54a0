package scheduler

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNoLimitAdmitsEverything(t *testing.T) {
	k := newCapacity(0)
	for range 1000 {
		require.True(t, k.acquire(new(waiter), 1, 1000))
	}
	used, waiting := k.load()
	require.Equal(t, 1_000_000, used)
	require.Zero(t, waiting)
}

func TestRoomIsOfferedToOldestDueFirst(t *testing.T) {
	k := newCapacity(2)
	require.True(t, k.acquire(new(waiter), 1, 2))
	newer, older, same := &waiter{order: 1}, &waiter{order: 9}, &waiter{order: 2}
	require.False(t, k.acquire(newer, 7, 1))
	require.False(t, k.acquire(older, 5, 1))
	require.False(t, k.acquire(same, 7, 1))
	require.Nil(t, k.offer(), "nothing is free")

	k.release(2)
	require.Len(t, k.freed, 1)
	require.Same(t, older, k.offer())
	require.Same(t, newer, k.offer())
	require.Nil(t, k.offer(), "both are reserved")
	k.withdraw(newer)
	require.Same(t, same, k.offer())
	require.True(t, k.acquire(older, 5, 1))
	require.True(t, k.acquire(same, 7, 1))
	used, waiting := k.load()
	require.Equal(t, 2, used)
	require.Zero(t, waiting)
}

func TestHeavyWaiterIsNotPassed(t *testing.T) {
	k := newCapacity(3)
	require.True(t, k.acquire(new(waiter), 1, 1))
	heavy, light, early := new(waiter), new(waiter), new(waiter)
	require.False(t, k.acquire(heavy, 5, 3))
	require.False(t, k.acquire(light, 6, 1), "it would take the room that the heavy one waits for")
	require.True(t, k.acquire(early, 4, 1), "it came due before")
	k.release(1)
	require.Nil(t, k.offer())
	k.release(1)
	require.Same(t, heavy, k.offer())

	k.withdraw(heavy) // another replica has run it
	require.Same(t, light, k.offer())
}

func TestWeightAboveLimitNeverWaits(t *testing.T) {
	k := newCapacity(3)
	giant, light := new(waiter), new(waiter)
	require.False(t, k.acquire(giant, 1, 4))
	require.True(t, k.acquire(light, 2, 3))

	require.False(t, k.acquire(giant, 1, 1))
	require.False(t, k.acquire(giant, 1, 4), "its job was redefined while it waited")
	_, waiting := k.load()
	require.Zero(t, waiting)
}

func TestRoomIsNeverExceededNorLost(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // not for secrets
	const most = 10
	k := newCapacity(most)
	all := make([]*waiter, 20)
	for i := range all {
		all[i] = &waiter{order: r.Uint64()}
	}
	var runs []int
	for range 20_000 {
		w := all[r.IntN(len(all))]
		switch r.IntN(4) {
		case 0:
			weight := 1 + r.IntN(most+1)
			if k.acquire(w, r.Int64N(50), weight) {
				runs = append(runs, weight)
			}
		case 1:
			k.withdraw(w)
		case 2:
			select {
			case <-k.freed:
			default:
				continue
			}
			for w := k.offer(); w != nil; w = k.offer() {
				require.Positive(t, w.offer)
			}
		case 3:
			if n := len(runs); n > 0 {
				k.release(runs[n-1])
				runs = runs[:n-1]
			}
		}
		used, waiting := k.load()
		want := 0
		for _, n := range runs {
			want += n
		}
		queued := 0
		for _, w := range all {
			want += w.offer
			require.Equal(t, w.offer > 0, w.offered.Load())
			require.False(t, w.offer > 0 && w.index > 0, "an offer is out of the queue")
			if w.index > 0 {
				queued++
			}
		}
		require.Equal(t, want, used)
		require.LessOrEqual(t, used, most)
		require.Equal(t, queued, waiting)
		if waiting > 0 && used+k.waiting[0].weight <= most {
			require.Len(t, k.freed, 1, "nobody would offer the room")
		}
	}
}
