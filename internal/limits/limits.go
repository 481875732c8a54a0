// Package limits has the bounds of what a job may ask for, which its configuration, its definition
// and the scheduler check.
package limits

const (
	// MaxWeight is the most that a job may weigh, and that a replica may have room for.
	MaxWeight = 1_000_000
	// MaxConcurrent is the greatest limit on the runs of one job over the fleet.
	MaxConcurrent = 10_000
	// MaxCatchUp is the most ticks that may be caught up: every replica counts the rest of a
	// backlog.
	MaxCatchUp = 10_000
	// MinHistory and MaxHistory bound how many outcomes a job keeps. MinHistory is what each key of a
	// job with stored schedules keeps, if the job does not say.
	MinHistory = 4
	MaxHistory = 1000
	// MinOutcome is the least share of a history's bytes that an outcome has, and MaxHistoryBytes
	// the most of all.
	MinOutcome      = 512
	MaxHistoryBytes = 1 << 30
)

// Outcomes is how many outcomes a store keeps at most of a history of that length. Stores may keep
// some more, up to the next power of two, and 16.
func Outcomes(history int) int {
	n := 1
	for n < history {
		n *= 2
	}
	return n + 16
}
