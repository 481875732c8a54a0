package notify

import (
	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/notified"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
)

// maxChanges is how many changes of a job's outcome wait for a receiver at most.
const maxChanges = 16

// reached says how far a receiver has come with a job.
type reached notified.Reached

// change is a notification, and how far the receiver has come when it has got that.
type change struct {
	Notification
	then reached
}

// outcomeOf returns the condition that an outcome stands for; empty for one that says nothing about
// the job's health.
func outcomeOf(e fleet.Entry) Condition {
	switch e.Outcome {
	case wire.Succeeded:
		return OK
	case wire.Failed:
		return Failed
	case wire.Missed:
		if e.Reason == wire.ReasonEdited || e.Reason == wire.ReasonPast {
			return "" // of a schedule that is not in force any more, or was over when the job was first known
		}
		return Missed
	case protocol.OutcomeLost:
		return Lost
	default:
		return ""
	}
}

// outcome is the condition by the outcomes.
func (r reached) outcome() Condition {
	if r.Outcome == "" {
		return OK
	}
	return Condition(r.Outcome)
}

// changes returns what a receiver that has come to r is to get: the changes of the outcome, oldest
// first, then those of the states. settledTicks are in the order in which they were settled; those
// up to since, in Unix microseconds, were settled before the receiver was there. A condition is
// entered after so many ticks in a row.
func (r reached) changes(namespace string, list []fleet.Entry, since int64, after int, now state, job string) []change {
	all := r.byOutcome(namespace, list[r.first(list, since):], max(after, 1))
	if len(all) > maxChanges {
		omitted := len(all) - maxChanges
		all = all[omitted:]
		all[0].Omitted = omitted
	}
	newest := r
	if len(all) > 0 {
		newest = all[len(all)-1].then
	}
	if c, ok := newest.byRun(namespace, now.run); ok {
		all, newest = append(all, c), c.then
	}
	return append(all, newest.byState(Notification{Namespace: namespace, Job: job, At: now.at}, now)...)
}

// byRun returns the change by the run of a leader task, which is nil when it says nothing. It has no
// tick: since when it fails identifies it.
func (r reached) byRun(namespace string, run *fleet.Entry) (c change, ok bool) {
	if run == nil || outcomeOf(*run) == r.outcome() {
		return c, false
	}
	found, then := outcomeOf(*run), r
	then.Outcome, then.Settled, then.Tick = string(found), run.SettledAt.UnixMicro(), run.Scheduled.UnixMilli()
	failed := then.Settled
	if found == OK {
		failed = r.Settled
	}
	return change{settled(namespace, *run, found, r.outcome(), 1).identify(int(failed)), then}, true
}

// first returns the place of the first tick that the receiver has not seen. The place of the last
// one counts and not its time, since a clock can go back.
func (r reached) first(list []fleet.Entry, since int64) int {
	for i, e := range list {
		if r.Settled != 0 && e.SettledAt.UnixMicro() == r.Settled && e.Scheduled.UnixMilli() == r.Tick {
			return i + 1
		}
	}
	for i, e := range list {
		if e.SettledAt.UnixMicro() > max(since, r.Settled) {
			return i
		}
	}
	return len(list)
}

func (r reached) byOutcome(namespace string, list []fleet.Entry, after int) (all []change) {
	now := r
	row := 0 // ticks that went wrong, one after the other
	if r.outcome() != OK {
		row = after
	}
	ticks := 0
	for _, e := range list {
		found := outcomeOf(e)
		ticks++
		switch found {
		case "":
			continue
		case OK:
			row = 0
		default:
			row++
		}
		if found == now.outcome() || found != OK && row < after {
			continue
		}
		was := now.outcome()
		now.Outcome, now.Settled, now.Tick = string(found), e.SettledAt.UnixMicro(), e.Scheduled.UnixMilli()
		all = append(all, change{settled(namespace, e, found, was, ticks), now})
		ticks = 0
	}
	return all
}

// byState returns the changes of states. n has what they share.
func (r reached) byState(n Notification, now state) (all []change) {
	then := r
	for _, s := range []struct {
		condition Condition
		known     func(*reached) **int64
		found     *int64
	}{
		{Unserved, func(r *reached) **int64 { return &r.Unserved }, now.unserved},
		{Overdue, func(r *reached) **int64 { return &r.Overdue }, now.overdue},
	} {
		known := s.known(&then)
		if (*known == nil) == (s.found == nil) {
			continue
		}
		n.Condition, n.Was = s.condition, OK
		tick := s.found
		if s.found == nil {
			n.Condition, n.Was, tick = OK, s.condition, *known
		}
		n.Tick = wire.FromMilli(*tick)
		made := n.identify(then.Times)
		*known = s.found
		then.Times++
		all = append(all, change{made, then})
	}
	return all
}
