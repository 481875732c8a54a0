package scheduler

import (
	"github.com/solotick/solotick/scheduler/internal/membership"
	"github.com/solotick/solotick/scheduler/internal/reports"

	"slices"
	"strings"
)

// passed has the replicas that have no room for a due tick, by their reports. Nobody waits for
// those. Like every report it is a hint: if one is lost, the others wait for that replica.
type passed struct {
	tick int64
	by   []string
	told bool // this replica has reported so itself
}

// passLocked reports at once that this replica has no room for a tick that it claims before others.
func (c *contender) passLocked(tick int64) {
	if c.passed.tick != tick {
		c.passed = passed{tick: tick}
	}
	p := c.placeLocked()
	if c.passed.told || p.Rank+1 >= p.Among || c.Spec.Weight > c.s.capacity.Max {
		return // nobody waits for it
	}
	c.passed.told = true
	c.s.report(reports.Report{Kind: reports.Full, Job: c.name, Tick: tick})
}

// passedLocked records that a replica has no room for a tick, and returns when to claim the tick,
// or 0 if that has not changed.
func (c *contender) passedLocked(tick int64, by string, now int64) int64 {
	if c.passed.tick != tick {
		c.passed = passed{tick: tick}
	}
	if slices.Contains(c.passed.by, by) {
		return 0
	}
	c.passed.by = append(c.passed.by, strings.Clone(by))
	switch l := c.open.of(tick); {
	case l != nil:
		l.at = min(l.at, now+c.placeForLocked(tick).Takeover())
		return l.at
	case tick == c.upcomingLocked():
		return max(c.claimAtLocked(), 1)
	}
	return 0
}

// placeForLocked returns this replica's place among those that may have room for a tick.
func (c *contender) placeForLocked(tick int64) membership.Place {
	p := c.placeLocked()
	if p.Rank == 0 || c.passed.tick != tick {
		return p
	}
	return c.ranking.Of(c.name, c.Job.Revision(), c.Spec.Weight, c.passed.by...)
}
