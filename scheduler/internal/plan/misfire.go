package plan

import (
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
)

// planLate decides about a tick that is later than its grace, and about those after it.
func planLate(s Situation) Decision {
	grace, first := s.Grace(), s.Due(s.Next)
	if s.Spec.Misfire == jobs.MisfireSkip {
		return s.SkipUpTo(s.Now-grace-1, wire.Missed, s.lateness())
	}
	if oldest := s.Now - s.Spec.CatchUpWindow.Milliseconds(); first < oldest {
		return s.SkipUpTo(min(oldest, s.Now-grace)-1, wire.Missed, wire.ReasonTooOld)
	}
	if s.Next > s.caughtUp || first <= max(s.Full, s.Overloaded) { // the gap goes on as long as nothing can be claimed
		s.caughtUp = s.Now
	}

	// The others may run: the newest max_catch_up of them at most.
	most, reason := s.Spec.MaxCatchUp, wire.ReasonTooMany
	if s.Spec.Misfire == jobs.MisfireLatest || s.Spec.Overlap == jobs.Replace { // else each would be stopped by the next
		most, reason = min(most, 1), s.lateness()
	}
	counted := s.count()
	s.backlog = &counted
	if n := counted.owed - most; n > 0 {
		return s.skipOldest(n, reason)
	}
	overlap := OverlapOf(s.Spec.Overlap)
	if s.Spec.Overlap == jobs.Forbid || s.Spec.Overlap == jobs.Queue {
		overlap = protocol.OverlapWait
	}
	return s.claim(s.Next, overlap, 0)
}

// skipOldest skips the oldest ticks of the backlog, until that many of those skipped were owed.
func (s Situation) skipOldest(owed int, reason string) Decision {
	d, left := s.skip(wire.Missed, reason), s.backlog.value()
	for t := s.Next; owed > 0; t = s.TickAfter(t) {
		d.Tick = t
		d.Count++
		if s.owed(t) {
			owed--
			left.owed--
		}
	}
	left.after = d.Tick
	d.backlog = &left
	return d
}

// count returns the present backlog. It only walks over ticks that were decided or became late
// since the last count.
func (s Situation) count() Backlog {
	b := s.backlog.value()
	if b.edited != s.Edited || b.after > s.Watermark || b.upTo <= s.Watermark || b.upTo > s.caughtUp {
		b = Backlog{after: s.Watermark, upTo: s.Watermark, edited: s.Edited}
	}
	if b.after < s.Watermark {
		for t := s.TickAfter(b.after); t != 0 && t <= s.Watermark; t = s.TickAfter(t) {
			if s.owed(t) {
				b.owed--
			}
		}
		b.after = s.Watermark
	}
	late := s.Now - s.Grace()
	for t := s.TickAfter(b.upTo); t != 0 && t <= s.caughtUp && s.Due(t) < late; t = s.TickAfter(t) {
		if s.owed(t) {
			b.owed++
		}
		b.upTo = t
	}
	return b
}

// lateness returns the reason why the next tick is a misfire.
func (s Situation) lateness() string {
	switch due := s.Due(s.Next); {
	case due <= s.Full:
		return wire.ReasonCapacity
	case due <= s.Overloaded:
		return wire.ReasonOverload
	}
	return wire.ReasonMisfire
}
