// Package steady reads this process's clock. It never steps and, on Linux, counts the time that the
// machine was suspended. time.Time's monotonic part stands still meanwhile, and the clocks of other
// machines do not.
package steady

import (
	"math"
	"time"
)

var start = time.Now()

// suspended is a variable so that tests can suspend the machine.
var suspended = sleptUntil

// Suspended returns for how long the machine has been suspended from the start of this process
// until t. t is a reading of the local clock with its monotonic part. It is 0 on systems other than
// Linux.
func Suspended(t time.Time) time.Duration { return suspended(t) }

// ReplaceSuspended makes f answer for Suspended until restore is called. It is for tests.
func ReplaceSuspended(f func(time.Time) time.Duration) (restore func()) {
	before := suspended
	suspended = f
	return func() { suspended = before }
}

// Instant is a reading of the clock in nanoseconds since some fixed moment of this process.
type Instant int64

// Never is later than every instant.
const Never Instant = math.MaxInt64

// Now reads the clock.
func Now() Instant { return Of(time.Now()) }

// Of converts a reading of the local clock with its monotonic part.
func Of(t time.Time) Instant { return Instant(t.Sub(start) + suspended(t)) }

// Add returns the instant d later: [Never] if there is none.
func (i Instant) Add(d time.Duration) Instant {
	if d > 0 && i > Never-Instant(d) {
		return Never
	}
	return i + Instant(d)
}

// Until returns the time from i to a later instant.
func (i Instant) Until(later Instant) time.Duration { return time.Duration(later - i) }

// Time converts i to a reading of the local clock. Both come from one reading, so that being frozen
// meanwhile cannot make the result late.
func (i Instant) Time() time.Time {
	t := time.Now()
	return t.Add(Of(t).Until(i))
}
