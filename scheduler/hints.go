package scheduler

import (
	"github.com/solotick/solotick/scheduler/internal/membership"
	"github.com/solotick/solotick/scheduler/internal/plan"
	"github.com/solotick/solotick/scheduler/internal/reports"

	"github.com/solotick/solotick/internal/protocol"
)

// hints are reports of other replicas that no answer of the store has confirmed. They may be wrong,
// so they tell when to look at the record, and never what the record says.
type hints struct {
	watermark int64 // above the confirmed one; 0 for none
	next      int64 // the first tick after it; 0 for none, unknownTick before anybody has asked
	since     int64 // when the first was received that is not confirmed
	doubted   int64 // the watermark which the record was found to be behind
}

// unknownTick is a tick that nobody has looked up yet.
const unknownTick = -1

const (
	// confirmEvery is how often the first backup confirms its reports, in ms. So two replicas know
	// the watermark, and a wrong report is found.
	confirmEvery = 30_000
	// aheadBy is how far a reported tick may be in the future, in ms, because fleet time is an
	// estimate.
	aheadBy = 1000
	// reportedLate is how much the end of a reported lease may be too late, in ms: it is rounded
	// up, and counted from when the sender was answered.
	reportedLate = reports.UntilStep + 200
	// maxReported bounds how many open ticks a replica remembers from reports.
	maxReported = 256
)

// placeLocked returns this replica's place in the order in which replicas claim the job's ticks.
func (c *contender) placeLocked() membership.Place {
	r := c.s.peers.Current()
	if r != c.ranking || r == nil {
		c.ranking, c.place = r, r.Of(c.name, c.Job.Revision(), c.Spec.Weight)
	}
	return c.place
}

// unconfirmedLocked reports whether there are reports that no answer of the store has confirmed.
func (c *contender) unconfirmedLocked() bool { return c.hintedLocked() || c.doubt.unread }

// hintedLocked reports whether others have reported a later watermark than the confirmed one.
func (c *contender) hintedLocked() bool { return c.hints.watermark > c.cursor.Watermark }

// upcomingLocked returns the next tick to claim, as far as is known, or 0 if there is none. The
// replica that claims first relies on what it knows itself, so that a wrong report cannot keep it
// from a tick.
func (c *contender) upcomingLocked() int64 {
	if c.placeLocked().Rank > 0 {
		return c.nextLocked()
	}
	return c.cursor.Next
}

// nextLocked returns the first tick that nobody has reported as decided or open, or 0 if there is
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

// claimAtLocked returns when this replica claims or skips the upcoming tick, or 0 for never.
func (c *contender) claimAtLocked() int64 {
	next := c.upcomingLocked()
	if next == 0 {
		return 0
	}
	due := c.Due(next)
	p := c.placeForLocked(next)
	return max(due, c.from, c.busyOwnerLocked(p, next, due)) + c.backupOf(p)
}

// busyOwnerLocked returns until when to leave a due tick to its owner, the first in the order of p,
// because it was seen to work off other ticks of that instant. It is alive and only slow, and
// claims of others would make it slower. The result is before due if it was not seen, and a quarter
// of the grace after due at most.
func (c *contender) busyOwnerLocked(p membership.Place, tick, due int64) int64 {
	if p.Rank == 0 {
		return 0
	}
	seen := c.s.peers.Work.Seen(c.ranking.Members[p.First].ID, tick)
	return min(seen, due+min(max(c.Spec.MisfireGrace.Milliseconds(), plan.MinGrace)/4, reports.LongestBacklog))
}

// backupLocked returns how long this replica leaves a tick to those before it, in ms. It is less
// than the grace, so a tick that a backup starts is on time.
func (c *contender) backupLocked() int64 { return c.backupOf(c.placeLocked()) }

func (c *contender) backupOf(p membership.Place) int64 {
	return p.Backup(max(c.Spec.MisfireGrace.Milliseconds(), plan.MinGrace) * 3 / 4)
}

// confirmAtLocked returns when to confirm what others have reported, or 0 for never.
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

// confirmLocked has the record read, because reports are not enough to decide about a tick.
func (c *contender) confirmLocked() {
	c.synced, c.confirming = false, true
	c.doubt.asked = c.doubt.asked && c.doubtEndsLocked() != 0
	c.s.wantSync()
}

// confirmedLocked compares the reports with the watermark of a record that was read. If the
// watermark is behind, either the report was wrong or the store has lost a write. A replica that
// knows the write from the store writes it back; if none has done so after a while, the record is
// right. With delivery at most once the read itself has written the reported watermark back: see
// knownLocked.
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

// learn applies a report of another replica. Most reports are about ticks that others claim first,
// and come before this replica would look at the tick. Then it looks as planned, and finds the
// report.
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

// expectLocked plans a look at a tick that was reported as open, with a lease until then, and
// returns when that look is.
//
// The lease may have been granted before this replica was woken, and have been released since,
// because the report may arrive after the notification. So the first two in the order look at once
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

// takeoverLocked returns how long this replica leaves a tick whose lease has run out to those
// before it, not counting its holder.
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

// reschedule sets the timer again, because something that it depends on has changed.
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

// hintedWatermarkLocked returns the newest watermark that anybody has reported.
func (c *contender) hintedWatermarkLocked() int64 { return max(c.cursor.Watermark, c.hints.watermark) }
