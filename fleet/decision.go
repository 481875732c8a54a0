package fleet

import (
	"fmt"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
)

// decision names the policy that decided about a tick which no run ended, and what would have made
// it run. Both are "" of a tick that ran, and of one that is not known any more.
func (r *reasoner) decision(e Explanation) (policy, remedy string) {
	switch e.Verdict {
	case wire.NotScheduled:
		if r.Job != nil && r.Job.Spec().Leader {
			return "", ""
		}
		return r.named("schedule", func(jobs.Spec) any { return r.Job.Schedule() }), r.Say("A schedule that has it; to run the job now, trigger it.")
	case wire.Future, wire.NoTick, wire.NotKept:
		return "", ""
	case wire.Undecided, string(wire.StateWaiting), string(wire.StateFree):
		return r.pending(e.Verdict)
	case string(protocol.OutcomeSkipped):
		return r.skipDecision(*e.Entry)
	case string(protocol.OutcomeReplaced):
		return r.named("overlap", func(jobs.Spec) any { return jobs.Replace }), r.Say("A run that ends before the next tick, or overlap: queue.")
	case string(protocol.OutcomeCancelled):
		return "", r.Say("Nobody cancels it; to run the job now, trigger it.")
	case string(wire.Missed):
		return r.missDecision(*e.Entry)
	case string(protocol.OutcomeLost):
		return r.lostDecision(*e.Entry)
	}
	return "", ""
}

// named writes a policy as the configuration does: its value only where the definition is known.
func (r *reasoner) named(key string, of func(jobs.Spec) any) string {
	if r.Job == nil {
		return key
	}
	return fmt.Sprintf("%s: %v", key, of(r.Job.Spec()))
}

// pending is of a tick that may run yet.
func (r *reasoner) pending(verdict string) (policy, remedy string) {
	serving, unserved, _ := serviceOf(r.Replicas).Of(r.Record.Name)
	switch {
	case verdict == wire.Undecided && r.Record.Paused != nil:
		return r.Say("pause"), r.Say("Resume the job.")
	case unserved:
		return r.named("groups", func(s jobs.Spec) any { return s.Groups }), r.Say("A live replica that serves the job.")
	case r.full() != "":
		return r.named("weight", func(s jobs.Spec) any { return s.Weight }), r.Say("A replica with room: a run that ends, a higher max_runs, or one more replica.")
	case r.held(serving):
		return "", r.Say("A store whose clock the replicas trust: see doctor.")
	}
	for _, e := range r.inTurn() {
		if e.Held() {
			return r.named("overlap", func(s jobs.Spec) any { return s.Overlap }), r.Say("The run before it ends; or overlap: allow.")
		}
	}
	return "", ""
}

func (r *reasoner) skipDecision(e Entry) (policy, remedy string) {
	switch e.Reason {
	case protocol.NoteOverlap:
		return r.named("overlap", func(s jobs.Spec) any { return s.Overlap }),
			r.Say("A run that ends before the next tick; or overlap: queue or replace, which run it later, or allow, which runs it at once.")
	case protocol.NoteOpen:
		return r.Say("%d open ticks", protocol.MaxOpen), r.Say("Runs that end: see why so many ticks of the job are open.")
	case protocol.NotePaused:
		if e.IsRange() && e.Count > 0 {
			return "paused: true", r.Say("A configuration that does not pause the job.")
		}
		return r.Say("pause"), r.Say("Nobody pauses the job; to run it now, trigger it: a pause does not hold that back.")
	case protocol.NoteNewer:
		return r.named("overlap", func(jobs.Spec) any { return jobs.Queue }), r.Say("A run that ends before two more ticks come; or overlap: allow.")
	}
	return e.Reason, ""
}

func (r *reasoner) missDecision(e Entry) (policy, remedy string) {
	switch e.Reason {
	case wire.ReasonForgotten:
		return "", r.Say("A store that does not lose records.")
	case wire.ReasonEdited:
		return "", r.Say("Nothing: a tick from before an edit, which only the new schedule has, is not run; to run the job now, trigger it.")
	case wire.ReasonTooOld:
		return r.named("catch_up_window", func(s jobs.Spec) any { return s.CatchUpWindow }), r.Say("A replica that starts it in time; or a longer catch_up_window.")
	case wire.ReasonTooMany:
		return r.named("max_catch_up", func(s jobs.Spec) any { return s.MaxCatchUp }), r.Say("A replica that starts it in time; or a higher max_catch_up.")
	}
	policy = r.named("misfire", func(s jobs.Spec) any { return s.Misfire })
	within := r.policy(" within its misfire_grace, %s", func(s jobs.Spec) any { return s.MisfireGrace })
	switch e.Reason {
	case wire.ReasonCapacity:
		return policy, r.Say("A replica with room for it%s: a higher max_runs, a lower weight, or one more replica; or misfire: all.", within)
	case wire.ReasonOverload:
		return policy, r.Say("A store that answers its claim%s: a faster one, or fewer jobs at a time, by H or jitter; or misfire: all.", within)
	}
	return policy, r.Say("A replica that starts it%s; or misfire: latest, which runs the newest that is late, or all.", within)
}

func (r *reasoner) lostDecision(e Entry) (policy, remedy string) {
	if r.Job != nil && r.Job.Spec().Delivery == jobs.AtLeastOnce {
		return r.named("max_takeovers", func(s jobs.Spec) any { return s.MaxTakeovers }),
			r.Say("A replica that keeps its lease until the run ends; or a higher max_takeovers, where the job itself does not end its process.")
	}
	if e.Reason == wire.ReasonStopping {
		return r.named("delivery", func(s jobs.Spec) any { return s.Delivery }), r.Say("A longer shutdown_grace; or delivery: at_least_once, which runs it again elsewhere.")
	}
	return r.named("delivery", func(s jobs.Spec) any { return s.Delivery }),
		r.Say("A replica that keeps its lease until the run ends; or delivery: at_least_once, which runs it again.")
}
