package notify

import (
	"cmp"
	"slices"
	"time"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/wire"
)

// state has the conditions of a job that no outcome shows.
type state struct {
	overdue  *int64 // the tick, in Unix ms
	unserved *int64 // the newest settled tick
	at       time.Time
	run      *fleet.Entry // of a leader task, as if it were settled; nil where it neither fails nor does well
}

// found returns the state of a job. A condition counts only when it has lasted for confirm, unless a
// receiver already knows of it: then another notifier has confirmed it.
func (k *known) found(j fleet.JobStatus, confirm time.Duration, at, local time.Time) state {
	now := state{at: at}
	unserved, overdue := k.sent()
	muted := j.Paused != nil || j.Spec.Paused || !j.Given
	lasts := func(i int, is bool, sent *int64) bool {
		if !is || muted {
			k.since[i] = time.Time{}
			return false
		}
		if k.since[i].IsZero() {
			k.since[i] = local
		}
		return sent != nil || local.Sub(k.since[i]) >= confirm
	}
	if lasts(0, j.Unserved, unserved) {
		tick := int64(0)
		if j.Last != nil {
			tick = j.Last.Scheduled.UnixMilli()
		}
		now.unserved = &tick
	}
	switch {
	case lasts(1, !j.Overdue.IsZero() && !j.Unserved, overdue):
		tick := j.Overdue.UnixMilli()
		now.overdue = &tick
	case j.Unserved && !muted: // nobody can say more than that
		now.overdue = overdue
	}
	return now
}

// sent returns the states that some receiver knows the job to be in; nil where none does.
func (k *known) sent() (unserved, overdue *int64) {
	for _, r := range k.reached {
		unserved, overdue = cmp.Or(unserved, r.Unserved), cmp.Or(overdue, r.Overdue)
	}
	return unserved, overdue
}

// leaderRun returns the run of a leader task as failed once it has failed more than after times in a
// row, and for so long. A task that is known to do well has succeeded: since its replica may have
// begun to lead lately, its next attempt may fail otherwise.
func leaderRun(j fleet.JobStatus, confirm time.Duration, after int, at time.Time) *fleet.Entry {
	if !j.Given || !j.Spec.Leader {
		return nil
	}
	for _, e := range j.Open {
		switch f := e.Failing; {
		case !e.Held() || !slices.Contains(j.Replicas, e.Replica): // its heartbeat says nothing
		case f == nil && at.Sub(e.Started) >= wire.DoesWell(j.Spec.Retry):
			e.Outcome, e.SettledAt = wire.Succeeded, at
			return &e
		case f != nil && f.Failures > max(after, 1) && at.Sub(f.Since) >= confirm:
			e.Outcome, e.SettledAt = wire.Failed, f.Since
			return &e
		}
	}
	return nil
}
