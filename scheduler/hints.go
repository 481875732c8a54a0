package scheduler

import (
	"github.com/solotick/solotick/scheduler/internal/membership"
	"github.com/solotick/solotick/scheduler/internal/plan"
	"github.com/solotick/solotick/scheduler/internal/reports"

	"github.com/solotick/solotick/internal/protocol"
)

// hints holds the reports of other replicas about a job that no answer of the store has confirmed.
// They may be wrong: they say when to look at the record, and never what the record says.
type hints struct {
	watermark int64 // above the confirmed one; 0 for none
	next      int64 // the first tick after it; 0 for none, unknownTick before anybody has asked
	since     int64 // when the first was received that is not confirmed
	doubted   int64 // the watermark which the record was found to be behind
}

// unknownTick is a tick that has to be looked up.
const unknownTick = -1

const (
	// confirmEvery is how often the first backup confirms the reports that it got. So more than one
	// replica knows the watermark, and a report that is wrong is found out. In ms.
	confirmEvery = 30_000
	// aheadBy is how far a reported tick may lie in the future: fleet time is an estimate. In ms.
	aheadBy = 1000
	// reportedLate is by how much the end of a reported lease may be too late: it is rounded up, and
	// counted from when its sender had the answer. In ms.
	reportedLate = reports.UntilStep + 200
	// maxReported bounds how many reported open ticks a replica remembers.
	maxReported = 256
)

// placeLocked returns where this replica stands in the order of those that claim the job's ticks.
func (c *contender) placeLocked() membership.Place {
	r := c.s.peers.Current()
	if r != c.ranking || r == nil {
		c.ranking, c.place = r, r.Of(c.name, c.Job.Revision(), c.Spec.Weight)
	}
	return c.place
}

// unconfirmedLocked reports whether others have reported something that no answer of the store has
// confirmed.
func (c *contender) unconfirmedLocked() bool { return c.hintedLocked() || c.doubt.unread }

// hintedLocked reports whether others have reported a later watermark than the confirmed one.
func (c *contender) hintedLocked() bool { return c.hints.watermark > c.cursor.Watermark }

// upcomingLocked is the tick that is to be claimed next, as far as is known; 0 when there is none.
// The replica that claims first relies on what it knows itself: a report that is wrong must not
// keep it from a tick.
func (c *contender) upcomingLocked() int64 {
	if c.placeLocked().Rank > 0 {
		return c.nextLocked()
	}
	return c.cursor.Next
}

// nextLocked is the first tick that nobody has reported to be decided, or open; 0 when there is
// none.
func (c *contender) nextLocked() int64 {
	if !c.hintedLocked() {
		return c.cursor.Next
	}
	if c.hints.next == unknownTick {
		c.hints.next = c.TickAfter(c.hints.watermark)
	}
	return c.hints.next
}

// claimAtLocked is when this replica claims the upcoming tick, or skips it; 0 for never.
func (c *contender) claimAtLocked() int64 {
	next := c.upcomingLocked()
	if next == 0 {
		return 0
	}
	due := c.Due(next)
	p := c.placeForLocked(next)
	return max(due, c.from, c.busyOwnerLocked(p, next, due)) + c.backupOf(p)
}

// busyOwnerLocked is until when the owner of a due tick, the first in the order of p, has been seen
// to work off other ticks of that instant. It lives, is only slow, and would get help where it can
// bear that least. It is before due when it was not, and a quarter of the grace after it at most.
func (c *contender) busyOwnerLocked(p membership.Place, tick, due int64) int64 {
	if p.Rank == 0 {
		return 0
	}
	seen := c.s.peers.Work.Seen(c.ranking.Members[p.First].ID, tick)
	return min(seen, due+min(max(c.Spec.MisfireGrace.Milliseconds(), plan.MinGrace)/4, reports.LongestBacklog))
}

// backupLocked is how long this replica leaves a tick to those before it, in ms. It is less than
// the grace: a tick that a backup starts is on time.
func (c *contender) backupLocked() int64 { return c.backupOf(c.placeLocked()) }

func (c *contender) backupOf(p membership.Place) int64 {
	return p.Backup(max(c.Spec.MisfireGrace.Milliseconds(), plan.MinGrace) * 3 / 4)
}

// confirmAtLocked is when what others have reported is to be confirmed; 0 for never.
func (c *contender) confirmAtLocked() int64 {
	switch {
	case !c.unconfirmedLocked():
		return 0
	case c.placeLocked().Rank == 0:
		return 1 // before its next tick is due, if there is time
	case c.hintedLocked() && c.placeLocked().Rank == 1:
		return c.hints.since + confirmEvery
	default:
		return 0
	}
}

// confirmLocked has the record read: what others have reported is not enough to decide about a
// tick.
func (c *contender) confirmLocked() {
	c.synced, c.confirming = false, true
	c.doubt.asked = c.doubt.asked && c.doubtEndsLocked() != 0
	c.s.wantSync()
}

// confirmedLocked takes in that the record was read. When its watermark is behind a report, either
// the report was wrong or the store has lost a write. A replica that knows the write from the store
// writes it back; if none has done so after a while, the record is right. With delivery at most
// once the reported watermark was written back by the read itself: see knownLocked.
func (c *contender) confirmedLocked(watermark int64) {
	h := &c.hints
	c.doubt.unread = false
	switch {
	case !c.hintedLocked(), h.watermark <= watermark:
		c.hints = hints{}
	case h.doubted == 0:
		h.doubted = h.watermark
		c.askLocked(watermark)
	default:
		c.hints = hints{}
	}
}

// learn takes in what another replica has reported. Most are about ticks that others claim first,
// and come before this replica would look at them: it looks then as before, and finds the report.
func (c *contender) learn(r reports.Report, from string, now int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone || !c.synced || r.Tick > now+aheadBy {
		return
	}
	soon := int64(0)                       // when to look at the report
	until := min(r.Until, now+ms(c.s.ttl)) // whatever it says: the record is read in time for a takeover
	switch r.Kind {
	case reports.Granted:
		soon = until + c.takeoverLocked(from)
		soon = c.expectLocked(look{tick: r.Tick, at: soon}, r.Until, now)
	case reports.Queued:
		soon = until + c.takeoverLocked()
		soon = c.expectLocked(look{tick: r.Tick, at: soon, waits: true}, r.Until, now)
	case reports.Settled:
		c.doubt.reportSettled(r.Tick)
		if !c.pending.claimsTick(r.Tick) {
			c.open.drop(r.Tick)
		}
	case reports.Busy:
		if r.Tick >= c.nextLocked() { // the grants before it may be reported later
			c.blocked = max(c.blocked, until)
		}
		if r.Tick == c.upcomingLocked() && c.placeLocked().Rank > 0 {
			c.from = max(c.from, until)
		}
	case reports.Full:
		soon = c.passedLocked(r.Tick, from, now)
	case reports.Decided, reports.Behind, reports.Answered, reports.Leaving:
	}
	if r.Watermark && r.Tick > max(c.cursor.Watermark, c.hints.watermark) {
		if !c.hintedLocked() {
			c.hints = hints{since: now}
		}
		c.hints.watermark, c.hints.next = r.Tick, unknownTick
	}
	at := c.slot.At()
	if c.place.Rank <= 1 || c.short != 0 || at == 0 || soon != 0 && soon < at { // those of rank 0 and 1 confirm reports
		c.rescheduleLocked()
	}
}

// expectLocked notes when to look after a tick that another replica has reported to be open, with a
// lease until then. It returns when that is.
//
// The lease may have been granted before this replica was woken, and be the one that was released
// since: the report may have come later than the notification. So the first two in the order look
// all the same.
func (c *contender) expectLocked(l look, until, now int64) int64 {
	if c.running[l.tick] != nil || len(c.open) >= maxReported || c.pending.claimsTick(l.tick) {
		return l.at
	}
	granted := until - c.s.ttl.Milliseconds() - reportedLate
	if granted <= c.woke && c.placeLocked().Rank <= 1 {
		if known := c.open.of(l.tick); known != nil && known.released {
			return known.at
		}
		l.at, l.released = now+c.backupLocked(), true
	}
	c.open.set(l)
	return l.at
}

// takeoverLocked is how long this replica leaves a tick whose lease has run out to those before it,
// but for its holder.
func (c *contender) takeoverLocked(holder ...string) int64 {
	place := c.placeLocked()
	if len(holder) == 1 {
		if p, ok := c.ranking.Without(place, holder[0]); ok {
			return p.Takeover()
		}
	}
	return c.s.peers.Current().Of(c.name, c.Job.Revision(), c.Spec.Weight, holder...).Takeover()
}

// reportLocked reports the answer to a claim to the other replicas.
func (c *contender) reportLocked(claim *protocol.Claim, a protocol.Answer, now int64) {
	r := reports.Report{Job: c.name, Tick: claim.Tick, Watermark: !claim.OnlyOpen && a.Watermark >= claim.Tick}
	switch a.Status {
	case protocol.Granted, protocol.Skipped, protocol.Paused, protocol.Lost:
		c.doubt.own = max(c.doubt.own, claim.Tick)
	default:
	}
	switch a.Status {
	case protocol.Granted:
		r.Kind, r.Until = reports.Granted, now+ms(claim.TTL)
	case protocol.Held:
		r.Kind, r.Until = reports.Granted, now+ms(a.Remaining)
	case protocol.Queued:
		r.Kind, r.Until = reports.Queued, now+ms(a.Remaining)
	case protocol.Busy:
		r.Kind, r.Until = reports.Busy, now+ms(a.Remaining)
	case protocol.Decided, protocol.Skipped, protocol.Paused, protocol.Lost:
		r.Kind = reports.Settled
	default:
		return
	}
	c.s.report(r)
	if a.Watermark > claim.Tick {
		c.s.report(reports.Report{Kind: reports.Decided, Job: c.name, Tick: a.Watermark, Watermark: true})
	}
}

// reschedule sets again when the contender acts: something that this depends on has changed.
func (c *contender) reschedule() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rescheduleLocked()
}

func (c *contender) rescheduleLocked() {
	if !c.gone && !c.active { // else it is set when it comes to rest
		c.s.timers.Set(&c.slot, c.lookAtLocked())
	}
}

// hintedWatermarkLocked is the newest watermark that anybody has reported.
func (c *contender) hintedWatermarkLocked() int64 { return max(c.cursor.Watermark, c.hints.watermark) }
