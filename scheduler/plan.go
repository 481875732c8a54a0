package scheduler

import (
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease"
)

// minGrace is the least misfire grace: a claim needs a moment to travel.
const minGrace = 1000 // ms

// promptly is how late a claim is when it is not made at its tick's instant, but later because something was in the way.
const promptly = 500 // ms

// state is what the decision about a job's next tick depends on. All times are Unix ms of fleet time.
type state struct {
	spec *jobs.Spec
	next func(after int64) int64 // the first tick after a time; 0 when there is none
	due  func(tick int64) int64  // when a tick is to start: the tick plus its jitter
	mark int64
	now  int64
	// caughtUp bounds what is being caught up: ticks up to it were due when the gap was found.
	caughtUp int64
	// blocked is until when an earlier tick was in the way of those being caught up: ticks after caughtUp that came due
	// by then overlapped it.
	blocked int64
	// settling tells that the store was in trouble a moment ago: an earlier tick that is open may have ended meanwhile,
	// and be settled as soon as that is possible.
	settling bool
}

// step is what is to be done next. The zero step is nothing.
type step struct {
	claim   int64 // the tick to claim
	overlap lease.Overlap
	latest  int64 // the claim's NotAfter; 0 for none

	pass    int64 // settle every tick up to this one without a run
	count   int   // how many they are
	outcome lease.Outcome
	reason  Reason

	caughtUp int64 // the new value of state.caughtUp
}

// plan decides about the ticks after the mark that are due.
//
//	lateness          misfire policy   what happens
//	prompt            any              claimed; skipped if an earlier tick runs, or waits if it is being caught up or the
//	                                   store was in trouble a moment ago
//	within the grace  any              claimed; waits for its turn if an earlier tick runs
//	later             skip             settled as missed
//	later             latest           the newest is claimed and waits for its turn; the older ones are missed
//	later             all              claimed one by one, oldest first; each waits for its turn
//	beyond window     any              missed
//	                  all              the oldest beyond max_catch_up are missed
//
// A tick that comes due while one that is being caught up waits for its turn has come due while an earlier tick was
// running: with overlap forbid it waits for a moment, should that be over soon, and is then skipped.
func plan(s state) step {
	tick := s.next(s.mark)
	if tick == 0 || s.due(tick) > s.now {
		return step{}
	}
	if s.spec.Paused {
		return s.passUpTo(s.now, Skipped, ReasonPaused)
	}
	overlapped := s.spec.Overlap == jobs.Forbid && tick > s.caughtUp && s.due(tick) <= s.blocked
	if overlapped && s.now-s.due(tick) > promptly && !s.settling {
		return s.passUpTo(min(s.blocked, s.now-promptly-1), Skipped, ReasonOverlap)
	}
	grace := max(s.spec.MisfireGrace.Milliseconds(), minGrace)
	if late := s.now - s.due(tick); late <= grace {
		st := step{claim: tick, overlap: lease.OverlapAllow, latest: s.due(tick) + grace, caughtUp: s.caughtUp}
		if late > promptly && tick > st.caughtUp {
			st.caughtUp = s.now
		}
		if s.spec.Overlap == jobs.Forbid {
			st.overlap = lease.OverlapSkip
			if late > promptly || tick <= st.caughtUp || overlapped || s.settling {
				st.overlap = lease.OverlapWait
			}
		}
		return st
	}
	return s.misfire(tick, grace)
}

// misfire decides about a late tick and those after it.
func (s state) misfire(first, grace int64) step {
	caughtUp := s.caughtUp
	if first > caughtUp {
		caughtUp = s.now
	}
	if s.spec.Misfire == jobs.MisfireSkip {
		return s.passUpTo(s.now-grace-1, Missed, ReasonMisfire)
	}
	if oldest := s.now - s.spec.CatchUpWindow.Milliseconds(); s.due(first) < oldest {
		return s.passUpTo(min(oldest, s.now-grace)-1, Missed, ReasonTooOld)
	}

	// What is left may run, newest max_catch_up of it at most.
	keep := s.spec.MaxCatchUp
	reason := ReasonTooMany
	if s.spec.Misfire == jobs.MisfireLatest {
		keep = min(keep, 1)
		reason = ReasonMisfire
	}
	var late []int64
	for t := first; t != 0 && t <= caughtUp && s.due(t) < s.now-grace; t = s.next(t) {
		late = append(late, t)
	}
	if n := len(late) - keep; n > 0 {
		return step{pass: late[n-1], count: n, outcome: Missed, reason: reason, caughtUp: caughtUp}
	}
	st := step{claim: first, overlap: lease.OverlapAllow, caughtUp: caughtUp}
	if s.spec.Overlap == jobs.Forbid {
		st.overlap = lease.OverlapWait
	}
	return st
}

// passUpTo settles the ticks that were due by then.
func (s state) passUpTo(then int64, outcome lease.Outcome, reason Reason) step {
	st := step{outcome: outcome, reason: reason, caughtUp: s.caughtUp}
	for t := s.next(s.mark); t != 0 && s.due(t) <= then; t = s.next(t) {
		st.pass = t
		if st.count++; st.count == MostCounted {
			// Too many to count one by one. Whatever number is the mark, the next tick is the first after it.
			st.pass = max(t, then-s.spec.Jitter.Milliseconds())
			break
		}
	}
	return st
}
