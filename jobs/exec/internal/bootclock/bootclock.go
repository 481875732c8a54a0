// Package bootclock reads the clock by which the worker and its supervisor agree on deadlines. All
// processes of a machine read the same, and it goes on while the machine is suspended.
package bootclock

import (
	"time"

	"golang.org/x/sys/unix"
)

// Instant is a reading of the boot clock in nanoseconds. 0 means none.
type Instant int64

// Never is later than any deadline, with room for additions.
const Never = Instant(1 << 62)

// Add returns the instant d later.
func (i Instant) Add(d time.Duration) Instant { return i + Instant(d) }

// Until returns the time from i to a later instant.
func (i Instant) Until(later Instant) time.Duration { return time.Duration(later - i) }

// Now reads the clock.
func Now() Instant {
	var now unix.Timespec
	// The only errors are an unknown clock and a bad address.
	if err := unix.ClockGettime(bootClock, &now); err != nil {
		panic("bootclock: " + err.Error())
	}
	return Instant(now.Nano())
}

// Of converts a reading of the local clock. It reads the boot clock first. A process that is frozen
// between the two readings gets an instant that is too early, never one that is too late.
func Of(t time.Time) Instant {
	now := Now()
	const century = 100 * 365 * 24 * time.Hour
	return now.Add(max(-century, min(time.Until(t), century)))
}
