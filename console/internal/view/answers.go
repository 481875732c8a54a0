package view

import (
	"slices"
	"time"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/heartbeat"
	"github.com/solotick/solotick/internal/naming"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/internal/wording"
)

// Answer is the answer to somebody who asked for a tick, or would ask.
type Answer string

// The answers that are known of the past, and what holds of each live replica where the tick may
// run yet.
const (
	AnswerOpened   Answer = "opened"    // the trigger has opened it
	AnswerServed   Answer = "served"    // a trigger that a tick opened before has served
	AnswerGranted  Answer = "granted"   // the first holder
	AnswerTookOver Answer = "took_over" // a later one
	AnswerSettled  Answer = "settled"   // settled without a run: the outcome of the tick

	AnswerMayClaim Answer = "may_claim"  // it serves the job, and has room
	AnswerNoRoom   Answer = "no_room"    // its runs fill its max_runs
	AnswerTooHeavy Answer = "too_heavy"  // the job weighs more than its max_runs
	AnswerStopping Answer = "stopping"   // it claims nothing more
	AnswerClock    Answer = "clock"      // it does not trust the store's clock
	AnswerSilent   Answer = "silent"     // it has missed a heartbeat
	AnswerNotHere  Answer = "serves_not" // it does not serve the job
	AnswerUnknown  Answer = "unknown"    // which jobs it serves is not known
)

// answers says who asked for a tick, as far as the store keeps that: claims that lost leave no
// trace.
func answers(w wording.Wording, e fleet.Explanation, zone *time.Location) []Asked {
	list := []Asked{}
	add := func(by string, at time.Time, answer Answer, text string) {
		list = append(list, Asked{By: by, At: at, Answer: answer, Text: text})
	}
	for _, f := range slices.Backward(e.Facts) { // newest first
		if f.Kind != wire.FactTriggered || !f.Tick.Equal(e.Tick) {
			continue
		}
		if len(list) == 0 {
			add(f.By, f.At, AnswerOpened, w.Say("The trigger of %s opened the tick.", f.By))
		} else {
			add(f.By, f.At, AnswerServed, w.Say("The trigger of %s was served by the same tick.", f.By))
		}
	}
	if e.Entry == nil {
		return list
	}
	token := int64(0)
	for _, a := range attempts(*e.Entry) {
		if a.Token == token { // a retry, under the same lease
			continue
		}
		token = a.Token
		at := a.Granted.In(zone).Format(clockLayout)
		if a.Attempt == 1 {
			add(a.Replica, a.Granted, AnswerGranted, w.Say("%s was granted it at %s, with token %d.", a.Replica, at, a.Token))
		} else {
			add(a.Replica, a.Granted, AnswerTookOver, w.Say("%s took it over at %s, with token %d.", a.Replica, at, a.Token))
		}
	}
	if x := e.Entry; x.State == wire.StateSettled && x.Token == 0 {
		outcome := w.Say(string(x.Outcome))
		text := w.Say("%s settled it as %s.", x.Replica, outcome)
		if x.Reason != "" && x.Reason != string(x.Outcome) {
			text = w.Say("%s settled it as %s: %s.", x.Replica, outcome, w.Say(wire.Words(x.Reason)))
		}
		add(x.Replica, x.Ended, AnswerSettled, text)
	}
	return list
}

const clockLayout = "15:04:05.000"

// candidates says what each live replica could do with a tick of a job, or of a schedule of one.
func (s *Snapshot) candidates(name string) (list []Asked) {
	name, _ = naming.SplitKeyed(name)
	weight := 1
	if job := s.Given[name]; job != nil {
		weight = job.Spec().Weight
	}
	for i := range s.Status.Replicas {
		r := &s.Status.Replicas[i]
		answer, text := s.candidate(r, name, weight)
		list = append(list, Asked{By: r.ID, Answer: answer, Text: text})
	}
	const most = 50
	if len(list) > most { // those that serve it come first
		slices.SortStableFunc(list, func(a, b Asked) int { return boolInt(a.Answer == AnswerNotHere) - boolInt(b.Answer == AnswerNotHere) })
		list = list[:most]
	}
	return list
}

func (s *Snapshot) candidate(r *fleet.Replica, name string, weight int) (Answer, string) {
	_, serves := r.Jobs[name]
	switch {
	case !serves && len(r.Jobs) != r.JobCount:
		return AnswerUnknown, s.Say("Which jobs it serves is not known.")
	case !serves:
		return AnswerNotHere, s.Say("It does not serve the job.")
	case r.Stopping:
		return AnswerStopping, s.Say("It is stopping, and claims nothing more.")
	case r.Clock != "" && r.Clock != heartbeat.ClockTrusted:
		return AnswerClock, s.Say("It claims nothing, since it does not trust the store's clock.")
	case r.Silent(s.Status.Now):
		return AnswerSilent, s.Say("It serves the job, and has missed a heartbeat.")
	case !r.Fits(weight):
		return AnswerTooHeavy, s.Say("The job weighs %d, more than its max_runs, %d.", weight, r.MaxRuns)
	case !r.HasRoom(weight):
		return AnswerNoRoom, s.Say("It has no room: it runs %d of %d, and the job weighs %d.", r.Used, r.MaxRuns, weight)
	}
	return AnswerMayClaim, s.Say("It serves the job, and has room.")
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
