package job

import (
	"slices"
	"strings"

	"github.com/solotick/solotick/scheduler/internal/membership"
	"github.com/solotick/solotick/scheduler/internal/plan"
	"github.com/solotick/solotick/scheduler/internal/reports"
)

// Turn is whose turn it is to claim the job's ticks.
type Turn struct {
	peers      *membership.Peers
	definition *plan.Definition
	place      membership.Place
	ranking    *membership.Ranking // that place is of
	from       int64               // backups count from this time when it is later than the tick's
	woke       int64               // when this replica was notified last that a tick may be free
	passed     passed
}

// passed has the replicas that have no room for a due tick, by their reports. Nobody waits for
// those. Like every report it is a hint: if one is lost, the others wait for that replica.
type passed struct {
	tick int64
	by   []string
	told bool // this replica has reported so itself
}

// CountFrom makes backups count from now, because all replicas notice at about this time what makes
// a tick free to be claimed.
func (t *Turn) CountFrom(now int64) { t.from = now }

// Place returns this replica's place in the order in which replicas claim the job's ticks.
func (t *Turn) Place() membership.Place {
	r := t.peers.Current()
	if r != t.ranking || r == nil {
		t.ranking, t.place = r, t.placeIn(r)
	}
	return t.place
}

// placeIn returns this replica's place among the members of a ranking, except some of them.
func (t *Turn) placeIn(r *membership.Ranking, except ...string) membership.Place {
	return r.Of(t.definition.Job.Name(), t.definition.Job.Revision(), t.definition.Spec.Weight, except...)
}

// placeFor returns this replica's place among those that may have room for a tick.
func (t *Turn) placeFor(tick int64) membership.Place {
	p := t.Place()
	if p.Rank == 0 || t.passed.tick != tick {
		return p
	}
	return t.placeIn(t.ranking, t.passed.by...)
}

// claimAt returns when this replica claims or skips a tick, or 0 for never.
func (t *Turn) claimAt(tick int64) int64 {
	if tick == 0 {
		return 0
	}
	due, p := t.definition.Due(tick), t.placeFor(tick)
	return max(due, t.from, t.busyOwner(p, tick, due)) + t.backupOf(p)
}

// busyOwner returns until when to leave a due tick to its owner, the first in the order of p,
// because it was seen to work off other ticks of that instant. It is alive and only slow, and
// claims of others would make it slower. The result is before due if it was not seen, and a quarter
// of the grace after due at most.
func (t *Turn) busyOwner(p membership.Place, tick, due int64) int64 {
	if p.Rank == 0 {
		return 0
	}
	seen := t.peers.Work.Seen(t.ranking.Members[p.First].ID, tick)
	return min(seen, due+min(t.grace()/4, reports.LongestBacklog))
}

// grace returns the misfire grace.
func (t *Turn) grace() int64 {
	return max(t.definition.Spec.MisfireGrace.Milliseconds(), plan.MinGrace)
}

// Backup returns how long this replica leaves a tick to those before it, in ms. It is less than the
// grace, so a tick that a backup starts is on time.
func (t *Turn) Backup() int64 { return t.backupOf(t.Place()) }

func (t *Turn) backupOf(p membership.Place) int64 { return p.Backup(t.grace() * 3 / 4) }

// Takeover returns how long this replica leaves a tick whose lease has run out to those before it,
// not counting its holder.
func (t *Turn) Takeover(holder ...string) int64 {
	place := t.Place()
	if len(holder) == 1 {
		if p, ok := t.ranking.Without(place, holder[0]); ok {
			return p.Takeover()
		}
	}
	return t.placeIn(t.peers.Current(), holder...).Takeover()
}

// passedOf returns who has no room for a tick.
func (t *Turn) passedOf(tick int64) *passed {
	if t.passed.tick != tick {
		t.passed = passed{tick: tick}
	}
	return &t.passed
}

// pass reports whether the others must be told that this replica, which has room for most at a time,
// has none for a tick that it claims before them.
func (t *Turn) pass(tick int64, most int) bool {
	passed, p := t.passedOf(tick), t.Place()
	if passed.told || p.Rank+1 >= p.Among || t.definition.Spec.Weight > most {
		return false // nobody waits for it
	}
	passed.told = true
	return true
}

// passedBy records that a replica has no room for a tick, and returns false if that is known.
func (t *Turn) passedBy(tick int64, replica string) bool {
	passed := t.passedOf(tick)
	if slices.Contains(passed.by, replica) {
		return false
	}
	passed.by = append(passed.by, strings.Clone(replica))
	return true
}
