package redislease

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWhatTravelsTogetherFollowsWhatIsUnderWay(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	flying := func(sizes ...int) (list [lanes]flight) {
		for i, size := range sizes {
			list[i] = flight{size: size, began: now}
		}
		return list
	}
	for name, c := range map[string]struct {
		flights [lanes]flight
		waiting int
		later   time.Duration
		leaves  bool
		all     bool // that waits
	}{
		"nothing waits":                 {flying(), 0, 0, false, false},
		"one, and nothing is under way": {flying(), 1, 0, true, true},
		"few, and nothing is under way": {flying(), divisible, 0, true, true},
		"many go in halves":             {flying(), 100, 0, true, false},
		"less than is under way":        {flying(5), 4, 0, false, false},
		"as much as is under way":       {flying(5), 5, 0, true, true},
		"less than is under way on two": {flying(2, 3), 4, 0, false, false},
		"a round trip may hang":         {flying(100), 1, leastHang + 100*eachTakes, true, true},
		"a big one takes longer":        {flying(100), 1, leastHang + 100*eachTakes - 1, false, false},
		"no lane is free":               {flying(1, 1, 1, 1), 100, time.Hour, false, false},
	} {
		at := traffic{flights: c.flights}
		n := at.share(c.waiting, now.Add(c.later))
		require.Equal(t, c.leaves, n > 0, name)
		require.Equal(t, c.all, n > 0 && n >= c.waiting, name)
	}
	require.Equal(t, most, new(traffic).share(10*most, now))
}
