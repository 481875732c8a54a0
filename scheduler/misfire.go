package scheduler

import (
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
)

// planLate decides about a tick that is later than its grace, and those after it.
func planLate(s situation) decision {
	grace, first := s.grace(), s.due(s.next)
	if s.spec.Misfire == jobs.MisfireSkip {
		return s.skipUpTo(s.now-grace-1, wire.Missed, s.lateness())
	}
	if oldest := s.now - s.spec.CatchUpWindow.Milliseconds(); first < oldest {
		return s.skipUpTo(min(oldest, s.now-grace)-1, wire.Missed, wire.ReasonTooOld)
	}
	if s.next > s.caughtUp || first <= max(s.full, s.overloaded) { // the gap goes on as long as nothing can be claimed
		s.caughtUp = s.now
	}

	// The others may run: the newest max_catch_up of them at most.
	most, reason := s.spec.MaxCatchUp, wire.ReasonTooMany
	if s.spec.Misfire == jobs.MisfireLatest || s.spec.Overlap == jobs.Replace { // else each would be stopped by the next
		most, reason = min(most, 1), s.lateness()
	}
	counted := s.count()
	s.backlog = &counted
	if n := counted.owed - most; n > 0 {
		return s.skipOldest(n, reason)
	}
	overlap := overlapOf(s.spec.Overlap)
	if s.spec.Overlap == jobs.Forbid || s.spec.Overlap == jobs.Queue {
		overlap = protocol.OverlapWait
	}
	return s.claim(s.next, overlap, 0)
}

// skipOldest skips the oldest ticks of the backlog, so many of those that are owed.
func (s situation) skipOldest(owed int, reason string) decision {
	d, left := s.skip(wire.Missed, reason), s.backlog.value()
	for t := s.next; owed > 0; t = s.tickAfter(t) {
		d.tick = t
		d.count++
		if s.owed(t) {
			owed--
			left.owed--
		}
	}
	left.after = d.tick
	d.backlog = &left
	return d
}

// count brings the backlog up to date: it walks over the ticks that were decided or got late since,
// and no others.
func (s situation) count() backlog {
	b := s.backlog.value()
	if b.edited != s.edited || b.after > s.watermark || b.upTo <= s.watermark || b.upTo > s.caughtUp {
		b = backlog{after: s.watermark, upTo: s.watermark, edited: s.edited}
	}
	if b.after < s.watermark {
		for t := s.tickAfter(b.after); t != 0 && t <= s.watermark; t = s.tickAfter(t) {
			if s.owed(t) {
				b.owed--
			}
		}
		b.after = s.watermark
	}
	late := s.now - s.grace()
	for t := s.tickAfter(b.upTo); t != 0 && t <= s.caughtUp && s.due(t) < late; t = s.tickAfter(t) {
		if s.owed(t) {
			b.owed++
		}
		b.upTo = t
	}
	return b
}

// lateness is why the next tick is a misfire.
func (s situation) lateness() string {
	switch due := s.due(s.next); {
	case due <= s.full:
		return wire.ReasonCapacity
	case due <= s.overloaded:
		return wire.ReasonOverload
	}
	return wire.ReasonMisfire
}
