package protocol

import (
	"math"
	"math/bits"
	"time"
)

// Limit says how often something may happen. Count is from 1 to 1,000,000,000, Per from 1 ms to 365
// days.
//
//	bucket   it fills with Count units per Per, evenly, up to Burst, which is at least 1 and fills within 365 days
//	window   at most Count units in any Per. A unit comes back when Per has passed since, and up to a 64th of it and 5 ms
//	         more; later when the store is slow
type Limit struct {
	Window bool
	Count  int
	Per    time.Duration
	Burst  int // of a bucket
}

// Most is how many units can be taken at once.
func (l Limit) Most() int {
	if l.Window {
		return l.Count
	}
	return l.Burst
}

// Time returns how long a bucket takes to fill with n units, rounded up.
func (l Limit) Time(n int) time.Duration {
	high, low := bits.Mul64(uint64(n), uint64(l.Per))
	count := uint64(l.Count)
	if high >= count {
		return math.MaxInt64
	}
	d, rest := bits.Div64(high, low, count)
	if rest > 0 {
		d++
	}
	return time.Duration(min(d, math.MaxInt64))
}

// Take asks for units of a limit.
type Take struct {
	Name  string // matches the pattern of a name
	Limit Limit  // the caller's: a bucket and a window of one name know nothing of each other
	Units int    // from 1 to Limit.Most
	// Waits says that the caller will come back when the answer's Wait is over. Others who wait
	// too, and ask later, then get a later answer.
	Waits bool
}

// Taken is the answer.
type Taken struct {
	OK        bool
	Remaining int           // units that can be taken now
	Wait      time.Duration // when not OK: until so many can be taken, if nobody takes any meanwhile
}
