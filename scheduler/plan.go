package scheduler

import (
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease"
)

// minGrace is the least misfire grace: a claim needs a moment to travel.
const minGrace = 1000 // ms

// promptly is how late a claim is when it is not made at its tick's instant, but later because
// something was in the way.
const promptly = 500 // ms

// editGrace is for how long a tick that is not owed is left to replicas of another schedule: they
// claim theirs when it is due. It is shorter than the time between two ticks, so that the next one
// does not wait for it.
const editGrace = promptly

// situation holds the values that the decision about a job's next ticks depends on.
type situation struct {
	cursor
	*policies
	now int64
	// settling reports that the store was in trouble a moment ago. An earlier tick that is open may
	// have ended meanwhile, and be settled as soon as that is possible.
	settling bool
}

// action is the act of a replica that a decision asks for.
type action int

const (
	doNothing action = iota // no tick is due
	waitUntil               // a time
	claimTick
	skipTicks // every tick up to one is settled without a run
)

// decision is the consequence for a job's next ticks. The zero decision is to do nothing.
type decision struct {
	action action
	tick   int64 // the one to claim, or the newest to skip
	at     int64 // until when to wait

	overlap protocol.Overlap // of the claim
	latest  int64            // the claim's NotAfter; 0 for none

	count   int // how many ticks are skipped
	outcome lease.Outcome
	reason  string

	caughtUp int64    // of the cursor from now on
	backlog  *backlog // the same
}

// plan decides about the ticks after the watermark that are due.
//
//	lateness          misfire policy   what happens
//	prompt            any              claimed, with the job's overlap policy; but it waits for earlier ticks if it is
//	                                   being caught up, or overlap is forbid and the store was in trouble a moment ago
//	within the grace  any              claimed; waits for an earlier tick that runs, with forbid; with queue, in the
//	                                   queue, unless older ones are being caught up
//	later             skip             settled as missed
//	later             latest           the newest is claimed and waits for earlier ticks; the older ones are missed
//	later             all              claimed one by one, oldest first; each waits for earlier ones. With overlap
//	                                   replace it is the same as latest
//	beyond window     any              missed
//	                  all              the oldest beyond max_catch_up are missed
//	not owed          any              missed: the schedule was another when it was due, and did not have it; but it is
//	                                   left for a moment to replicas whose schedule has it
//
// A tick from before an edit that the schedule of its time had too is owed: it is decided as if
// there had been no edit. Where several ticks are settled together, those among them that are not
// owed are counted with the others.
//
// With overlap allow no tick waits for earlier ones, and with replace none does either: it replaces
// the run. A tick that comes due while one that is being caught up waits has come due while an
// earlier tick was running. With forbid it waits for a moment, should that be over soon, and is
// then skipped; with queue only the newest of them remains.
func plan(s situation) decision {
	tick := s.next
	if tick == 0 || s.due(tick) > s.now {
		return decision{caughtUp: s.caughtUp, backlog: s.backlog}
	}
	if s.spec.Paused {
		return s.skipUpTo(s.now, wire.Skipped, wire.ReasonPaused)
	}
	if s.due(tick) <= s.resumed {
		return s.skipUpTo(s.resumed, wire.Skipped, wire.ReasonPaused)
	}
	late, grace := s.now-s.due(tick), s.grace()
	overlapped := tick > s.caughtUp && s.due(tick) <= s.blocked
	switch {
	case !s.owed(tick) && late < editGrace:
		return decision{action: waitUntil, at: s.due(tick) + editGrace, caughtUp: s.caughtUp, backlog: s.backlog}
	case !s.owed(tick):
		return s.skipEdited()
	case overlapped && s.spec.Overlap == jobs.Forbid && late > promptly && !s.settling:
		return s.skipUpTo(min(s.blocked, s.now-promptly-1), wire.Skipped, wire.ReasonOverlap)
	case overlapped && s.spec.Overlap == jobs.Queue && late > grace:
		if d := s.skipBeforeNewest(); d.tick != 0 {
			return d
		}
		return s.claim(tick, protocol.OverlapQueue, 0)
	case late > grace:
		return planLate(s)
	}
	if late > promptly && tick > s.caughtUp && s.spec.Overlap != jobs.Queue {
		s.caughtUp = s.now
	}
	overlap := overlapOf(s.spec.Overlap)
	switch catchesUp := tick <= s.caughtUp; s.spec.Overlap {
	case jobs.Forbid:
		if catchesUp || overlapped || s.settling {
			overlap = protocol.OverlapWait
		}
	case jobs.Queue:
		if catchesUp {
			overlap = protocol.OverlapWait
		}
	case jobs.Allow, jobs.Replace:
	}
	return s.claim(tick, overlap, s.due(tick)+grace)
}

// overlapOf translates the policy for the store.
func overlapOf(policy jobs.Overlap) protocol.Overlap {
	switch policy {
	case jobs.Allow:
		return protocol.OverlapAllow
	case jobs.Queue:
		return protocol.OverlapQueue
	case jobs.Replace:
		return protocol.OverlapReplace
	default:
		return protocol.OverlapSkip
	}
}

func (s situation) claim(tick int64, overlap protocol.Overlap, latest int64) decision {
	return decision{action: claimTick, tick: tick, overlap: overlap, latest: latest, caughtUp: s.caughtUp, backlog: s.backlog}
}

func (s situation) skip(outcome lease.Outcome, reason string) decision {
	return decision{action: skipTicks, outcome: outcome, reason: reason, caughtUp: s.caughtUp, backlog: s.backlog}
}

// maxCounted bounds the ticks that are counted at once: counting those of a year takes a while.
const maxCounted = 100_000

// skipUpTo skips the ticks that were due by then.
func (s situation) skipUpTo(then int64, outcome lease.Outcome, reason string) decision {
	d := s.skip(outcome, reason)
	for t := s.next; t != 0 && s.due(t) <= then; t = s.tickAfter(t) {
		d.tick = t
		if d.count++; d.count == maxCounted {
			// Too many to count one by one. Whatever number is the watermark, the next tick is the
			// first after it.
			d.tick = max(t, then-s.spec.Jitter.Milliseconds())
			break
		}
	}
	return d
}

// skipEdited skips the ticks up to the next one that is owed, as missed for the edit.
func (s situation) skipEdited() decision {
	then := min(s.edited-1, s.now-editGrace)
	// Ticks that are too old to run are not looked at one by one.
	old := s.now - max(s.spec.CatchUpWindow.Milliseconds(), s.grace()) - 1
	if s.had == nil {
		return s.skipUpTo(then, wire.Missed, wire.ReasonEdited)
	}
	if s.due(s.next) <= old {
		return s.skipUpTo(min(then, old), wire.Missed, wire.ReasonEdited)
	}
	d := s.skip(wire.Missed, wire.ReasonEdited)
	for t := s.next; t != 0 && s.due(t) <= then && !s.owed(t) && d.count < maxCounted; t = s.tickAfter(t) {
		d.tick = t
		d.count++
	}
	return d
}

// skipBeforeNewest skips the ticks that are due but for the newest that is owed, in its favour.
func (s situation) skipBeforeNewest() decision {
	newest := s.skipUpTo(s.now, wire.Skipped, wire.ReasonNewer).tick
	last := newest
	if !s.owed(newest) { // nor is any tick after it that is due
		for t, n := s.next, 0; t != 0 && t < last && n < maxCounted; t, n = s.tickAfter(t), n+1 {
			if s.owed(t) {
				newest = t
			}
		}
	}
	d := s.skip(wire.Skipped, wire.ReasonNewer)
	for t := s.next; t != 0 && t < newest && d.count < maxCounted; t = s.tickAfter(t) {
		d.tick = t
		d.count++
	}
	return d
}
