//go:build unix && !linux && !netbsd

package bootclock

import "golang.org/x/sys/unix"

// There is no clock of this name elsewhere. Darwin's monotonic clock goes on during sleep as well.
const bootClock = unix.CLOCK_MONOTONIC
