package steady

import (
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// slept has the machine's suspensions so far.
var slept struct {
	total atomic.Int64 // in nanoseconds, since the process started
	apart atomic.Int64 // how far the wall clock was from the monotonic clock when total was found

	mu sync.Mutex // held while total is being found
}

// tolerance is how far the wall clock may have moved against the monotonic clock before sleptUntil
// asks the kernel. It is too short to be a suspension: two clocks cannot be read at once.
const tolerance = 2 * time.Millisecond

// sleptUntil returns for how long the machine has been suspended since the process started. Asking
// the kernel costs two system calls, too much to do it at each reading of the clock. But when a
// suspension ends, the kernel moves the wall clock too. So it is enough to ask when that has moved
// against the monotonic clock, for whatever reason.
func sleptUntil(t time.Time) time.Duration {
	apart := t.UnixNano() - int64(t.Sub(start))
	if moved := time.Duration(apart - slept.apart.Load()); moved < -tolerance || moved > tolerance {
		slept.mu.Lock()
		// Only a longer suspension than before is news: a process frozen between two system calls
		// finds too little.
		if total := int64(bootAhead() - bootAheadAtStart); total > slept.total.Load()+int64(tolerance) {
			slept.total.Store(total)
		}
		slept.apart.Store(apart)
		slept.mu.Unlock()
	}
	return time.Duration(slept.total.Load())
}

// bootAheadAtStart is not 0 after a suspension, nor where a container has clocks of its own. The
// best of some readings.
var bootAheadAtStart = max(bootAhead(), bootAhead(), bootAhead())

// bootAhead returns how far CLOCK_BOOTTIME is ahead of CLOCK_MONOTONIC. The first counts on while
// the machine is suspended; the second, from which Go's time is read, stands still.
func bootAhead() time.Duration {
	const monotonic, boottime = 1, 7
	var m, b syscall.Timespec
	if !read(boottime, &b) || !read(monotonic, &m) { // in this order: at most what it is
		return 0
	}
	return time.Duration(b.Nano() - m.Nano())
}

func read(clock uintptr, t *syscall.Timespec) bool {
	_, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clock, uintptr(unsafe.Pointer(t)), 0)
	return errno == 0
}
