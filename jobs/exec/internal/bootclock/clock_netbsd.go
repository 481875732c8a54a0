package bootclock

// bootClock is CLOCK_MONOTONIC, which golang.org/x/sys/unix does not name on this system.
const bootClock = 3
