package schedule

import (
	"math"
	"math/bits"
	"time"
)

// minInterval returns the shortest time between two matching readings, in seconds.
func (c *calendar) minInterval() int64 {
	firstOfDay, _ := c.timeOfDay(0)
	lastOfDay := firstOfDay
	shortest := int64(math.MaxInt64)
	for {
		second, ok := c.timeOfDay(lastOfDay + 1)
		if !ok {
			break
		}
		shortest = min(shortest, int64(second-lastOfDay))
		if shortest == 1 {
			return 1
		}
		lastOfDay = second
	}
	overnight := c.minDays()*secondsPerDay - int64(lastOfDay-firstOfDay)
	return min(shortest, overnight)
}

// minDays returns the fewest days from one matching day to the next. The calendar repeats itself
// every 400 years, so those and the first day of the following 400 suffice.
func (c *calendar) minDays() int64 {
	const start, years = 2000, 400
	var previous int64
	shortest, seen := int64(math.MaxInt64/secondsPerDay), false
	for year := start; year < start+2*years; year++ {
		for month := time.January; month <= time.December; month++ {
			if c.month>>month&1 == 0 {
				continue
			}
			first := startOfMonth(year, month)
			for days := c.daysIn(first); days != 0; days &= days - 1 {
				day := first.day + int64(bits.TrailingZeros32(days)-1)
				if seen {
					shortest = min(shortest, day-previous)
				}
				if shortest == 1 || seen && year >= start+years {
					return shortest
				}
				previous, seen = day, true
			}
		}
	}
	return shortest
}
