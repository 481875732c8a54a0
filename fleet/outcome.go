package fleet

import (
	"fmt"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
)

// entry explains a tick that the store has something of.
func (r *reasoner) entry(e Entry) (string, string) {
	text := ""
	if e.Triggered {
		text = r.triggered(e)
	}
	if e.State != wire.StateSettled {
		return e.State, text + r.open(e) + r.takeovers(e) + r.clockChange()
	}
	return string(e.Outcome), text + r.outcome(e) + r.takeovers(e) + r.clockChange() + below(e.Error)
}

func (r *reasoner) open(e Entry) string {
	switch e.State {
	case wire.StateRunning:
		return r.Say("%s has run it since %s: attempt %d, token %d. Its lease runs out in %s unless it is renewed.",
			e.Replica, r.when(e.Started), e.Attempts, e.Token, rough(e.Remaining)) + r.failing(e) + r.cancelling(e)
	case wire.StateRetrying:
		return r.Say("%s holds it, and makes attempt %d at %s: token %d.", e.Replica, e.Attempts+1, r.when(e.Failing.Next), e.Token) +
			r.failing(e) + r.cancelling(e)
	case wire.StateFree:
		return r.Say("%s began to run it at %s (attempt %d, token %d), and gave it up, or let its lease run out. "+
			"The next replica to claim it runs attempt %d. %s", e.Replica, r.when(e.Started), e.Attempts, e.Token, e.Attempts+1, r.service())
	default:
		for _, other := range r.inTurn() {
			if other.Held() || other.State == wire.StateFree {
				return r.Say("It waits for its turn behind the tick of %s, which %s. %s asked for it.",
					r.at(other.Scheduled), r.doing(other), e.Replica)
			}
		}
		return r.Say("It waits to be claimed. %s asked for it. %s", e.Replica, r.service())
	}
}

// failing says of a tick that is held how many attempts have failed, and with what the last one
// did.
func (r *reasoner) failing(e Entry) string {
	switch f := e.Failing; {
	case f == nil:
		return ""
	case f.Failures == 1:
		return r.Say(" Attempt %d failed at %s%s", f.Attempt, r.when(f.Since), r.quoted(f.Error))
	default:
		return r.Say(" The last %d attempts have failed, the first of them at %s%s", f.Failures, r.when(f.Since), r.quoted(f.Error))
	}
}

// doing says what an open tick does.
func (r *reasoner) doing(e Entry) string {
	switch e.State {
	case wire.StateRunning, wire.StateRetrying:
		return r.Say("runs on %s since %s", e.Replica, r.when(e.Started)) + r.again(e)
	case wire.StateFree:
		return r.Say("%s gave up, or let its lease run out", e.Replica)
	default:
		return r.Say("waits itself")
	}
}

// again says when the next attempt of a tick begins that waits for it.
func (r *reasoner) again(e Entry) string {
	if e.State != wire.StateRetrying {
		return ""
	}
	return r.Say(" and waits for its next attempt, at %s", r.when(e.Failing.Next))
}

func (r *reasoner) outcome(e Entry) string {
	switch e.Outcome {
	case wire.Succeeded:
		return r.Say("%s started it at %s, and it succeeded after %s: attempt %d, token %d.",
			e.Replica, r.when(e.Started), rough(e.Took()), e.Attempts, e.Token)
	case wire.Failed:
		return r.Say("%s started it at %s, and it failed after %s: attempt %d, token %d%s",
			e.Replica, r.when(e.Started), rough(e.Took()), e.Attempts, e.Token, r.quoted(e.Error))
	case protocol.OutcomeSkipped:
		return r.skipped(e)
	case protocol.OutcomeReplaced:
		return r.replaced(e)
	case protocol.OutcomeCancelled:
		return r.cancelled(e)
	case wire.Missed:
		return r.missed(e)
	case protocol.OutcomeLost:
		return r.lost(e)
	}
	return r.Say("%s settled it at %s as %s%s", e.Replica, r.when(e.Ended), r.Say(string(e.Outcome)), r.quoted(e.Error))
}

func (r *reasoner) skipped(e Entry) string {
	switch e.Reason {
	case protocol.NoteOverlap:
		because := r.Say("an earlier tick was still open, which is not in the history any more")
		if b, ok := r.blocker(e); ok {
			because = r.obstacle(b)
		}
		return r.Say("It was skipped because %s%s.", because, r.overlap()) + r.together(e)
	case protocol.NoteOpen:
		return r.Say("It was skipped because %d ticks of the job were open, and no more may be.", protocol.MaxOpen)
	case protocol.NotePaused:
		return r.paused(e)
	case protocol.NoteNewer:
		if n, ok := r.newer(e); ok {
			return r.Say("It was skipped: while it waited for its turn, a newer one took its place, %s.", r.at(n.Scheduled))
		}
		return r.Say("It was skipped: while it waited for its turn, a newer one took its place.")
	}
	return r.Say("%s skipped it at %s%s", e.Replica, r.when(e.Ended), r.reason(e)) + r.together(e)
}

// overlap names the policy that skips a tick. The one of now may be another: it was changed since.
func (r *reasoner) overlap() string {
	if r.Job != nil && r.Job.Spec().Overlap == jobs.Allow {
		return r.Say(", and the job's overlap policy was another one than now, which is %s", jobs.Allow)
	}
	return r.policy(", and the job's overlap policy is %s", func(s jobs.Spec) any { return s.Overlap })
}

// obstacle says how b stood in the way of the tick.
func (r *reasoner) obstacle(b Entry) string {
	switch {
	case b.State == wire.StateFree:
		return r.Say("the tick of %s was still open: %s gave it up, or let its lease run out", r.at(b.Scheduled), b.Replica)
	case b.State != wire.StateSettled && b.State != wire.StateWaiting:
		return r.Say("%s still ran %s, and it still does", b.Replica, r.at(b.Scheduled))
	case b.Ended.Before(r.tick) && !b.Ended.IsZero(): // the store was away
		return r.Say("%s had run %s until %s, and could not settle it before %s",
			b.Replica, r.at(b.Scheduled), r.when(b.Ended), r.when(r.settledAt(b)))
	case !b.Ended.IsZero():
		return r.Say("%s still ran %s, until %s", b.Replica, r.at(b.Scheduled), r.when(b.Ended))
	}
	return r.Say("%s still ran %s", b.Replica, r.at(b.Scheduled))
}

// inTurn returns the ticks that others of the job wait for: none where they may overlap.
func (r *reasoner) inTurn() []Entry {
	if r.Job != nil && r.Job.Spec().Overlap == jobs.Allow {
		return nil
	}
	return r.list
}

// blocker finds the tick that stood in the way of e when that was skipped: the newest earlier one
// that was open then.
func (r *reasoner) blocker(e Entry) (found Entry, ok bool) {
	// What follows a skip of several ticks may have been decided when the obstacle was gone: look
	// at the tick's own time.
	then := e.Ended
	if e.IsRange() {
		then = r.tick
	}
	for _, b := range r.list {
		if b.IsRange() || b.Token == 0 || b.ID == e.ID || !b.Scheduled.Before(r.tick) {
			continue
		}
		began := b.Started
		if b.Attempts > 1 { // only the last one's start is known
			began = b.Scheduled
		}
		// A replica's estimate of fleet time is off by a moment.
		if began.After(then.Add(time.Second)) || b.State == wire.StateSettled && r.settledAt(b).Before(then) {
			continue
		}
		if !ok || b.Scheduled.After(found.Scheduled) {
			found, ok = b, true
		}
	}
	return found, ok
}

// settledAt returns when e was settled, which may be later than when its run ended.
func (r *reasoner) settledAt(e Entry) time.Time {
	for _, s := range r.Record.Settled {
		if s.From == 0 && s.Tick == e.Scheduled.UnixMilli() {
			return s.At
		}
	}
	return e.Ended
}

func (r *reasoner) paused(e Entry) string {
	if e.IsRange() && e.Count > 0 { // a replica counted them by the schedule: no store does
		return r.Say("It was skipped because the configuration of %s pauses the job.", e.Replica) + r.together(e)
	}
	if p := r.Record.Paused; p != nil && !p.Since.After(e.Ended) {
		return r.Say("It was skipped because the job is paused: %s.", r.pause(*p)) + r.together(e)
	}
	paused, resumer, until := r.pauseAt(e.Ended)
	was := r.Say("It was skipped because the job was paused, ")
	if paused != nil {
		was = r.Say("It was skipped because the job was paused by %s at %s%s, ", paused.By, r.when(paused.From), r.because(paused.Why))
	}
	// A pause is over when somebody ends it, which settles what came due in it and was not claimed.
	for _, over := range r.Record.Settled {
		if over.From != 0 && over.Token == 0 && over.Note == protocol.NotePaused && !over.At.Before(e.Ended) {
			return was + r.Say("until %s resumed it at %s.", over.Holder, r.when(over.At))
		}
	}
	switch {
	case paused != nil && resumer != "" && !until.IsZero():
		return was + r.Say("until %s resumed it at %s.", resumer, r.when(until)) + r.together(e)
	case paused != nil:
		return was + r.Say("and was resumed since; when and by whom is not known.") + r.together(e)
	}
	return r.Say("It was skipped by %s at %s because the job was paused then.", e.Replica, r.when(e.Ended)) + r.together(e)
}

func (r *reasoner) pause(p protocol.Pause) string {
	return r.Say("by %s since %s%s", p.By, r.when(p.Since), r.because(p.Reason))
}

func (r *reasoner) replaced(e Entry) string {
	by := r.Say("a newer one")
	if n, ok := r.newer(e); ok {
		by = r.Say("the newer one of %s", r.at(n.Scheduled))
	}
	if e.Token == 0 {
		return r.Say("It never ran: while it waited for its turn, %s took its place.", by)
	}
	if e.Reason == protocol.NoteExpired {
		return r.Say("%s was granted it at %s (attempt %d, token %d), and its lease had run out by %s: %s had died, was frozen, or did not reach Redis%s. "+
			"It was not run again, to make room for %s.", e.Replica, r.when(e.Started), e.Attempts, e.Token, r.when(e.Ended), e.Replica, r.lastHeard(e.Replica), by)
	}
	return r.Say("%s ran it from %s until it was stopped at %s to make room for %s: attempt %d, token %d.",
		e.Replica, r.when(e.Started), r.when(e.Ended), by, e.Attempts, e.Token)
}

// newer finds the tick that e had to make room for: the next one that was granted or waits.
func (r *reasoner) newer(e Entry) (found Entry, ok bool) {
	for _, n := range r.list {
		if !n.IsRange() && n.Scheduled.After(e.Scheduled) && (n.Token != 0 || n.State == wire.StateWaiting || n.Reason == protocol.NoteNewer) &&
			(!ok || n.Scheduled.Before(found.Scheduled)) {
			found, ok = n, true
		}
	}
	return found, ok
}

func (r *reasoner) missed(e Entry) string {
	if e.Reason == wire.ReasonForgotten {
		return r.Say("Whether it ran is not known: Redis had lost the record of the job, and %s settled it as missed at %s.", e.Replica, r.when(e.Ended)) +
			r.together(e)
	}
	if e.Reason == wire.ReasonTooOld && e.Token != 0 {
		text := r.Say("Its run by %s was interrupted, and nobody took it over in time: when it was found, at %s, its lease had run out for too long",
			e.Replica, r.when(e.Ended))
		return text + r.policy(" to catch up, which ends after %s", func(s jobs.Spec) any { return s.CatchUpWindow }) + r.Say(".")
	}
	found := r.Say("%s found it at %s, %s after its time", e.Replica, r.when(e.Ended), rough(e.Ended.Sub(r.tick)))
	misfire := r.policy("; the job's misfire policy is %s", func(s jobs.Spec) any { return s.Misfire })
	var text string
	switch e.Reason {
	case wire.ReasonEdited:
		return r.Say("It was missed because %s: ticks from before an edit that only the new schedule has are not run. %s.", r.edit(e), found) + r.together(e)
	case wire.ReasonCapacity:
		text = r.Say("It was missed because no replica had room for it in time: what they ran filled their max_runs. %s", found) +
			misfire + r.policy(", and its weight %d", func(s jobs.Spec) any { return s.Weight })
	case wire.ReasonOverload:
		text = r.Say("It was missed because the store was slower than it was asked, and claims had to wait. %s", found) + misfire
	case wire.ReasonMisfire:
		text = r.unstarted(e, found) + misfire
	case wire.ReasonTooOld:
		text = r.unstarted(e, found) + r.Say("; that is too late to catch up") +
			r.policy(", which ends after %s", func(s jobs.Spec) any { return s.CatchUpWindow })
	case wire.ReasonTooMany:
		text = r.unstarted(e, found) + r.Say("; there were too many to catch up") +
			r.policy(", at most %d", func(s jobs.Spec) any { return s.MaxCatchUp })
	default:
		text = r.unstarted(e, found)
	}
	return text + r.Say(".") + r.together(e)
}

// unstarted says why nobody started a tick in time, as far as that is known.
func (r *reasoner) unstarted(e Entry, found string) string {
	switch cause, explains := r.hindered(e.Ended); {
	case explains:
		return r.Say("It was missed because %s. %s", cause, found)
	case cause != "":
		return r.Say("It was missed: nobody started it in time, and why is not known for all of that time. What is known: %s. %s", cause, found)
	}
	return r.Say("It was missed: nobody started it in time, and why is not known.%s %s", r.partly(e.Ended), found)
}

func (r *reasoner) lost(e Entry) string {
	if e.Reason == wire.ReasonStopping {
		return r.Say("%s ran it from %s and stopped at %s, before the work was done (attempt %d, token %d), and it may not be run again%s%s",
			e.Replica, r.when(e.Started), r.when(e.Ended), e.Attempts, e.Token, r.limit(), r.quoted(e.Error))
	}
	if e.Error != "" || e.Reason == "" {
		return r.Say("%s ran it from %s and lost its lease (attempt %d, token %d), and it may not be run again%s%s", e.Replica,
			r.when(e.Started), e.Attempts, e.Token, r.limit(), r.quoted(e.Error))
	}
	times := r.Say("its lease ran out")
	if e.Attempts > 1 {
		times = r.Say("after %d attempts the last lease ran out", e.Attempts)
	}
	return r.Say("It was lost: %s, that of %s since %s (token %d), and it may not be run again%s. That was noticed at %s.",
		times, e.Replica, r.when(e.Started), e.Token, r.limit(), r.when(e.Ended))
}

// limit says why a tick that was lost is not run again.
func (r *reasoner) limit() string {
	if r.Job == nil {
		return ""
	}
	if spec := r.Job.Spec(); spec.Delivery == jobs.AtMostOnce {
		return " (delivery: at_most_once)"
	}
	return fmt.Sprintf(" (max_takeovers: %d)", r.Job.Spec().MaxTakeovers)
}

// policy returns one policy of the job in words, if its definition is known.
func (r *reasoner) policy(format string, of func(jobs.Spec) any) string {
	if r.Job == nil {
		return ""
	}
	return r.Say(format, of(r.Job.Spec()))
}

// together says that e was settled with others.
func (r *reasoner) together(e Entry) string {
	if !e.IsRange() || e.Count == 1 {
		return ""
	}
	what := r.Say("all that were undecided")
	if e.Count > 1 {
		what = r.Say("%d ticks", e.Count)
	}
	return r.Say(" %s settled %s after %s up to %s together.", e.Replica, what, r.at(e.From), r.at(e.Scheduled))
}

// reason ends a sentence with the word why a tick was settled.
func (w said) reason(e Entry) string {
	if e.Reason == "" {
		return w.Say(".")
	}
	return w.Say(": %s.", e.Reason)
}
