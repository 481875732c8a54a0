//go:build unix && !linux

package proc

import (
	"time"

	"github.com/solotick/solotick/jobs/exec/internal/bootclock"
)

// Orphans go to the init process on these systems, where nothing says to which run they belonged.

// Children returns nothing.
func Children() []int { return nil }

// Stat returns zeros.
func Stat(int) (parent int, start bootclock.Instant) { return 0, 0 }

// TagOf returns "".
func TagOf(int) string { return "" }

// KillTagged does nothing.
func KillTagged(string, time.Duration) {}
