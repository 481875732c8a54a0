package exec

import (
	"time"

	"golang.org/x/sys/unix"
)

// instant is a reading of the boot clock in nanoseconds, the same in every process of the machine. 0 means none.
type instant int64

// never is later than any deadline, with room for additions.
const never = instant(1 << 62)

func (i instant) add(d time.Duration) instant { return i + instant(d) }

func (i instant) until(later instant) time.Duration { return time.Duration(later - i) }

func bootNow() instant {
	var now unix.Timespec
	// The only errors are an unknown clock and a bad address.
	if err := unix.ClockGettime(bootClock, &now); err != nil {
		panic("exec: read the boot clock: " + err.Error())
	}
	return instant(now.Nano())
}

// instantOf converts a reading of the local clock. The boot clock is read first: a process that is frozen between the
// two readings gets an instant that is too early, never one that is too late.
func instantOf(t time.Time) instant {
	now := bootNow()
	const century = 100 * 365 * 24 * time.Hour
	return now.add(max(-century, min(time.Until(t), century)))
}
