// Package plan decides what becomes of a job's ticks that are due: see [Decide]. It is pure: it knows
// no store and no clock.
package plan

import (
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease"
)

// MinGrace is the smallest misfire grace: a claim needs a moment to travel.
const MinGrace = 1000 // ms

// Promptly is how late a claim may be made and still count as made at the instant of its tick. If
// it is later, something was in the way.
const Promptly = 500 // ms

// editGrace is how long a tick that is not owed is left to replicas with another schedule, which
// may claim theirs when it is due. It is shorter than the time between two ticks, so that the next
// tick does not wait for it.
const editGrace = Promptly

// Situation is everything that the decision about the next ticks of a job depends on.
type Situation struct {
	Cursor
	*Policies
	Now int64
	// Settling reports that the store was in trouble a moment ago. An earlier tick that is open may
	// have ended meanwhile, and be settled as soon as that is possible.
	Settling bool
}

// Action is what a replica is to do.
type Action int

const (
	DoNothing Action = iota // no tick is due
	WaitUntil               // a time
	ClaimTick
	SkipTicks // every tick up to one is settled without a run
)

// Decision is what to do about the next ticks of a job. The zero Decision is to do nothing.
type Decision struct {
	Action Action
	Tick   int64 // the one to claim, or the newest to skip
	At     int64 // until when to wait

	Overlap protocol.Overlap // of the claim
	Latest  int64            // the claim's NotAfter; 0 for none

	Count   int // how many ticks are skipped
	Outcome lease.Outcome
	Reason  string

	caughtUp int64    // of the cursor from now on
	backlog  *Backlog // the same
}

// Decide decides about the ticks after the watermark that are due.
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
func Decide(s Situation) Decision {
	tick := s.Next
	if tick == 0 || s.Due(tick) > s.Now {
		return Decision{caughtUp: s.caughtUp, backlog: s.backlog}
	}
	if s.Spec.Paused {
		return s.SkipUpTo(s.Now, wire.Skipped, wire.ReasonPaused)
	}
	if s.Due(tick) <= s.Resumed {
		return s.SkipUpTo(s.Resumed, wire.Skipped, wire.ReasonPaused)
	}
	late, grace := s.Now-s.Due(tick), s.Grace()
	overlapped := tick > s.caughtUp && s.Due(tick) <= s.Blocked
	switch {
	case !s.owed(tick) && late < editGrace:
		return Decision{Action: WaitUntil, At: s.Due(tick) + editGrace, caughtUp: s.caughtUp, backlog: s.backlog}
	case !s.owed(tick):
		return s.skipEdited()
	case overlapped && s.Spec.Overlap == jobs.Forbid && late > Promptly && !s.Settling:
		return s.SkipUpTo(min(s.Blocked, s.Now-Promptly-1), wire.Skipped, wire.ReasonOverlap)
	case overlapped && s.Spec.Overlap == jobs.Queue && late > grace:
		if d := s.skipBeforeNewest(); d.Tick != 0 {
			return d
		}
		return s.claim(tick, protocol.OverlapQueue, 0)
	case late > grace:
		return planLate(s)
	}
	if late > Promptly && tick > s.caughtUp && s.Spec.Overlap != jobs.Queue {
		s.caughtUp = s.Now
	}
	overlap := OverlapOf(s.Spec.Overlap)
	switch catchesUp := tick <= s.caughtUp; s.Spec.Overlap {
	case jobs.Forbid:
		if catchesUp || overlapped || s.Settling {
			overlap = protocol.OverlapWait
		}
	case jobs.Queue:
		if catchesUp {
			overlap = protocol.OverlapWait
		}
	case jobs.Allow, jobs.Replace:
	}
	return s.claim(tick, overlap, s.Due(tick)+grace)
}

// OverlapOf translates an overlap policy for the store.
func OverlapOf(policy jobs.Overlap) protocol.Overlap {
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

func (s Situation) claim(tick int64, overlap protocol.Overlap, latest int64) Decision {
	return Decision{Action: ClaimTick, Tick: tick, Overlap: overlap, Latest: latest, caughtUp: s.caughtUp, backlog: s.backlog}
}

func (s Situation) skip(outcome lease.Outcome, reason string) Decision {
	return Decision{Action: SkipTicks, Outcome: outcome, Reason: reason, caughtUp: s.caughtUp, backlog: s.backlog}
}

// maxCounted bounds how many ticks are counted at once, because counting those of a year takes a
// while.
const maxCounted = 100_000

// SkipUpTo skips the ticks that were due at or before then.
func (s Situation) SkipUpTo(then int64, outcome lease.Outcome, reason string) Decision {
	d := s.skip(outcome, reason)
	for t := s.Next; t != 0 && s.Due(t) <= then; t = s.TickAfter(t) {
		d.Tick = t
		if d.Count++; d.Count == maxCounted {
			// Too many to count one by one. Whatever number is the watermark, the next tick is the
			// first after it.
			d.Tick = max(t, then-s.Spec.Jitter.Milliseconds())
			break
		}
	}
	return d
}

// skipEdited skips the ticks before the next one that is owed, as missed because of an edit.
func (s Situation) skipEdited() Decision {
	then := min(s.Edited-1, s.Now-editGrace)
	// Ticks that are too old to run are not looked at one by one.
	old := s.Now - max(s.Spec.CatchUpWindow.Milliseconds(), s.Grace()) - 1
	if s.Had == nil {
		return s.SkipUpTo(then, wire.Missed, wire.ReasonEdited)
	}
	if s.Due(s.Next) <= old {
		return s.SkipUpTo(min(then, old), wire.Missed, wire.ReasonEdited)
	}
	d := s.skip(wire.Missed, wire.ReasonEdited)
	for t := s.Next; t != 0 && s.Due(t) <= then && !s.owed(t) && d.Count < maxCounted; t = s.TickAfter(t) {
		d.Tick = t
		d.Count++
	}
	return d
}

// skipBeforeNewest skips all due ticks except the newest that is owed.
func (s Situation) skipBeforeNewest() Decision {
	newest := s.SkipUpTo(s.Now, wire.Skipped, wire.ReasonNewer).Tick
	last := newest
	if !s.owed(newest) { // nor is any tick after it that is due
		for t, n := s.Next, 0; t != 0 && t < last && n < maxCounted; t, n = s.TickAfter(t), n+1 {
			if s.owed(t) {
				newest = t
			}
		}
	}
	d := s.skip(wire.Skipped, wire.ReasonNewer)
	for t := s.Next; t != 0 && t < newest && d.Count < maxCounted; t = s.TickAfter(t) {
		d.Tick = t
		d.Count++
	}
	return d
}

// Cursor is where a replica stands in the ticks of one job. It is a value, and replaced instead of
// changed. All times are Unix ms of fleet time, and 0 is none.
type Cursor struct {
	Watermark int64 // the newest tick up to which every one is known to be decided
	Next      int64 // the first tick after it; 0 when there is none
	// caughtUp bounds the ticks that are being caught up: ticks up to it were due when the gap was
	// found.
	caughtUp int64
	// Blocked is the last time at which an earlier tick was in the way of those being caught up.
	// Ticks after caughtUp that came due by then overlapped it.
	Blocked int64
	// Full is the last time at which a due tick found no room. Ticks that were due by then have
	// waited for room.
	Full int64
	// Overloaded is the last time at which a claim was held back because the store was too slow.
	Overloaded int64
	backlog    *Backlog // nil for none
}

// Policies are what decides about the ticks of a job besides the time: its definition, its last
// edit and its last pause.
type Policies struct {
	Spec      *jobs.Spec
	TickAfter func(after int64) int64 // the first tick after a time; 0 when there is none
	Due       func(tick int64) int64  // when a tick is to start: the tick plus its jitter
	// Edited is when the present schedule came into force. Had reports whether the schedule before
	// it had a tick that was due earlier; it is nil if that is not known.
	Edited int64
	Had    func(tick int64) bool
	// Resumed is when the last pause ended. Ticks that were due before are skipped.
	Resumed int64
}

// owed reports whether the schedule in force at the time of the tick had it.
func (p *Policies) owed(tick int64) bool {
	return p.Due(tick) >= p.Edited || p.Had != nil && p.Had(tick)
}

// Grace returns how late a tick may start before it is a misfire, in ms.
func (p *Policies) Grace() int64 { return max(p.Spec.MisfireGrace.Milliseconds(), MinGrace) }

// Backlog counts the late ticks that may be caught up, so that not every decision walks over all of
// them. It counts the owed ticks after one tick and up to another.
type Backlog struct {
	after, upTo int64
	edited      int64 // of the policies by which they are owed
	owed        int
}

func (b *Backlog) value() Backlog {
	if b == nil {
		return Backlog{}
	}
	return *b
}

// Advance returns the cursor with the greater of both watermarks.
func (c Cursor) Advance(watermark int64, tickAfter func(int64) int64) Cursor {
	if watermark > c.Watermark || c.Next == 0 {
		c.Watermark = max(watermark, c.Watermark)
		c.Next = tickAfter(c.Watermark)
	}
	return c
}

// Planned returns the cursor after a decision.
func (c Cursor) Planned(d Decision) Cursor {
	c.caughtUp, c.backlog = d.caughtUp, d.backlog
	return c
}

// Replan returns a cursor from which all ticks are planned again, without knowledge of a gap.
func (c Cursor) Replan() Cursor { return Cursor{Watermark: c.Watermark, Next: c.Next} }
