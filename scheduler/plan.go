package scheduler

import (
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/protocol"
)

// minGrace is the least misfire grace: a claim needs a moment to travel.
const minGrace = 1000 // ms

// promptly is how late a claim is when it is not made at its tick's instant, but later because something was in the way.
const promptly = 500 // ms

// editGrace is for how long a tick that is not owed is left to replicas of another schedule: they claim theirs when it is
// due. It is shorter than the time between two ticks, so that the next one does not wait for it.
const editGrace = promptly

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
	// full is until when there was no room for a tick that was due: those that were due by then have waited for room.
	full int64
	// held is until when a claim of what was due was held back because the store was slower than it was asked.
	held int64
	// edited is when the schedule became what it is. Of the ticks that were due before, had reports whether the schedule
	// of that time had them too; nil when that is not known.
	edited int64
	had    func(tick int64) bool
	// settling tells that the store was in trouble a moment ago: an earlier tick that is open may have ended meanwhile,
	// and be settled as soon as that is possible.
	settling bool
}

// step is what is to be done next. The zero step is nothing.
type step struct {
	claim   int64 // the tick to claim
	overlap protocol.Overlap
	latest  int64 // the claim's NotAfter; 0 for none

	pass    int64 // settle every tick up to this one without a run
	count   int   // how many they are
	outcome protocol.Outcome
	reason  Reason

	wait int64 // nothing before this time

	caughtUp int64 // the new value of state.caughtUp
}

// plan decides about the ticks after the mark that are due.
//
//	lateness          misfire policy   what happens
//	prompt            any              claimed, with the job's overlap policy; but it waits for its turn if it is being
//	                                   caught up, or overlap is forbid and the store was in trouble a moment ago
//	within the grace  any              claimed; waits for its turn if an earlier tick runs, with forbid; with queue, in the
//	                                   queue, unless older ones are being caught up
//	later             skip             settled as missed
//	later             latest           the newest is claimed and waits for its turn; the older ones are missed
//	later             all              claimed one by one, oldest first; each waits for its turn. With overlap replace it
//	                                   is the same as latest
//	beyond window     any              missed
//	                  all              the oldest beyond max_catch_up are missed
//	not owed          any              missed: the schedule was another when it was due, and did not have it; but it is
//	                                   left for a moment to those whose schedule has it
//
// A tick from before an edit that the schedule of its time had too is owed: it is decided as if there had been no edit.
// Where several ticks are settled together, those among them that are not owed are counted with the others.
//
// With overlap allow no tick waits for its turn, and with replace none does either: it replaces what runs. A tick that
// comes due while one that is being caught up waits for its turn has come due while an earlier tick was running. With
// forbid it waits for a moment, should that be over soon, and is then skipped; with queue only the newest of them is
// left.
func plan(s state) step {
	tick := s.next(s.mark)
	if tick == 0 || s.due(tick) > s.now {
		return step{}
	}
	if s.spec.Paused {
		return s.passUpTo(s.now, Skipped, ReasonPaused)
	}
	late := s.now - s.due(tick)
	if !s.owed(tick) {
		if late < editGrace {
			return step{wait: s.due(tick) + editGrace, caughtUp: s.caughtUp}
		}
		return s.passEdited(tick)
	}
	grace := max(s.spec.MisfireGrace.Milliseconds(), minGrace)
	overlapped := tick > s.caughtUp && s.due(tick) <= s.blocked
	switch {
	case overlapped && s.spec.Overlap == jobs.Forbid && late > promptly && !s.settling:
		return s.passUpTo(min(s.blocked, s.now-promptly-1), Skipped, ReasonOverlap)
	case overlapped && s.spec.Overlap == jobs.Queue && late > grace:
		if st := s.passBeforeNewest(); st.pass != 0 {
			return st
		}
		return step{claim: tick, overlap: protocol.OverlapQueue, caughtUp: s.caughtUp}
	case late > grace:
		return s.misfire(tick, grace)
	}
	st := step{claim: tick, overlap: overlapOf(s.spec.Overlap), latest: s.due(tick) + grace, caughtUp: s.caughtUp}
	if late > promptly && tick > st.caughtUp && s.spec.Overlap != jobs.Queue {
		st.caughtUp = s.now
	}
	switch s.spec.Overlap {
	case jobs.Forbid:
		if tick <= st.caughtUp || overlapped || s.settling {
			st.overlap = protocol.OverlapWait
		}
	case jobs.Queue:
		if tick <= st.caughtUp {
			st.overlap = protocol.OverlapWait
		}
	case jobs.Allow, jobs.Replace:
	}
	return st
}

// overlapOf is what the policy asks of the store.
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

// misfire decides about a late tick and those after it.
func (s state) misfire(first, grace int64) step {
	caughtUp := s.caughtUp
	if first > caughtUp || s.due(first) <= max(s.full, s.held) { // the gap goes on as long as nothing can be claimed
		caughtUp = s.now
	}
	if s.spec.Misfire == jobs.MisfireSkip {
		return s.passUpTo(s.now-grace-1, Missed, s.lateFor(first))
	}
	if oldest := s.now - s.spec.CatchUpWindow.Milliseconds(); s.due(first) < oldest {
		return s.passUpTo(min(oldest, s.now-grace)-1, Missed, ReasonTooOld)
	}

	// What is left may run, newest max_catch_up of it at most.
	keep := s.spec.MaxCatchUp
	reason := ReasonTooMany
	if s.spec.Misfire == jobs.MisfireLatest || s.spec.Overlap == jobs.Replace { // else each would be stopped by the next
		keep = min(keep, 1)
		reason = s.lateFor(first)
	}
	type misfired struct {
		tick int64
		nth  int
	}
	var late []misfired
	nth := 0
	for t := first; t != 0 && t <= caughtUp && s.due(t) < s.now-grace; t = s.next(t) {
		nth++
		if s.owed(t) {
			late = append(late, misfired{t, nth})
		}
	}
	if n := len(late) - keep; n > 0 {
		last := late[n-1]
		return step{pass: last.tick, count: last.nth, outcome: Missed, reason: reason, caughtUp: caughtUp}
	}
	st := step{claim: first, overlap: overlapOf(s.spec.Overlap), caughtUp: caughtUp}
	if s.spec.Overlap == jobs.Forbid || s.spec.Overlap == jobs.Queue {
		st.overlap = protocol.OverlapWait
	}
	return st
}

// lateFor is why a tick is a misfire.
func (s state) lateFor(tick int64) Reason {
	switch due := s.due(tick); {
	case due <= s.full:
		return ReasonCapacity
	case due <= s.held:
		return ReasonOverload
	}
	return ReasonMisfire
}

// owed reports whether somebody was to run the tick at its time.
func (s state) owed(tick int64) bool {
	return s.due(tick) >= s.edited || s.had != nil && s.had(tick)
}

// passEdited settles the ticks from first up to the next one that is owed, as missed for the edit.
func (s state) passEdited(first int64) step {
	then := min(s.edited-1, s.now-editGrace)
	// What is too old to run is not looked at one by one.
	grace := max(s.spec.MisfireGrace.Milliseconds(), minGrace)
	old := s.now - max(s.spec.CatchUpWindow.Milliseconds(), grace) - 1
	if s.had == nil || s.due(first) <= old {
		if s.had != nil {
			then = min(then, old)
		}
		return s.passUpTo(then, Missed, ReasonEdited)
	}
	st := step{outcome: Missed, reason: ReasonEdited, caughtUp: s.caughtUp}
	for t := first; t != 0 && s.due(t) <= then && !s.owed(t) && st.count < MostCounted; t = s.next(t) {
		st.pass = t
		st.count++
	}
	return st
}

// passBeforeNewest settles the ticks that are due but for the newest that is owed, as skipped in its favour.
func (s state) passBeforeNewest() step {
	st := s.passUpTo(s.now, Skipped, ReasonNewer)
	newest := st.pass
	if !s.owed(newest) { // nor is any tick after it that is due
		for t, n := s.next(s.mark), 0; t != 0 && t < st.pass && n < MostCounted; t, n = s.next(t), n+1 {
			if s.owed(t) {
				newest = t
			}
		}
	}
	st.pass, st.count = 0, 0
	for t := s.next(s.mark); t != 0 && t < newest && st.count < MostCounted; t = s.next(t) {
		st.pass = t
		st.count++
	}
	return st
}

// passUpTo settles the ticks that were due by then.
func (s state) passUpTo(then int64, outcome protocol.Outcome, reason Reason) step {
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
