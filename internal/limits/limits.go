// Package limits has the bounds of what a job may ask for, which its configuration, its definition and the scheduler check.
package limits

const (
	// MaxWeight is the most that a job may weigh, and that a replica may have room for.
	MaxWeight = 1_000_000
	// MaxCatchUp is the most ticks that may be caught up: every replica counts the rest of a backlog.
	MaxCatchUp = 10_000
	// MinHistory and MaxHistory bound how many outcomes a job keeps. A store remembers MinHistory of them in any case.
	MinHistory = 16
	MaxHistory = 1000
)
