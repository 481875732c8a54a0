package console

import (
	"time"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/protocol"
)

// change is how one read of the fleet differs from the one before: an event of the stream.
type change struct {
	At       time.Time       `json:"at"` // fleet time
	Jobs     []jobChange     `json:"jobs"`
	Replicas []replicaChange `json:"replicas"`
}

func (c *change) empty() bool { return len(c.Jobs) == 0 && len(c.Replicas) == 0 }

// jobChange is the state of a job after a change.
type jobChange struct {
	Job      string           `json:"job"`
	State    string           `json:"state"`   // running, retrying, waiting, free or idle; gone when nobody knows the job any more
	Tick     string           `json:"tick"`    // the id of the newest tick that is open, or else of the one that was settled last
	Outcome  protocol.Outcome `json:"outcome"` // of the tick that was settled last; empty when none was
	Ended    time.Time        `json:"ended"`   // of the same
	Next     time.Time        `json:"next"`
	Paused   bool             `json:"paused"`
	Unserved bool             `json:"unserved"`
	Overdue  bool             `json:"overdue"`
}

// replicaChange is the state of a replica after a change.
type replicaChange struct {
	Replica string `json:"replica"`
	State   string `json:"state"` // live, stopping or gone
	Running int    `json:"running"`
}

// stateIdle and stateGone are the states of a job without an open tick, and of a job or replica
// that is not there any more.
const (
	stateIdle = "idle"
	stateGone = "gone"
)

// changesBetween compares two reads.
func changesBetween(before, after *fleet.Status) change {
	c := change{At: after.Now, Jobs: []jobChange{}, Replicas: []replicaChange{}}
	jobs, gone := differences(before.Jobs, after.Jobs, func(j *fleet.JobStatus) string { return j.Name }, sameJob)
	for _, job := range jobs {
		c.Jobs = append(c.Jobs, changeOf(job))
	}
	for _, name := range gone {
		c.Jobs = append(c.Jobs, jobChange{Job: name, State: stateGone})
	}
	replicas, gone := differences(before.Replicas, after.Replicas, func(r *fleet.Replica) string { return r.ID }, sameReplica)
	for _, r := range replicas {
		c.Replicas = append(c.Replicas, replicaChange{r.ID, stateOf(r), r.Running})
	}
	for _, id := range gone {
		c.Replicas = append(c.Replicas, replicaChange{Replica: id, State: stateGone})
	}
	return c
}

// differences returns what is new or not the same as before, and the names of what is gone.
func differences[T any](before, after []T, name func(*T) string, same func(a, b *T) bool) (changed []*T, gone []string) {
	known := make(map[string]*T, len(before))
	for i := range before {
		known[name(&before[i])] = &before[i]
	}
	for i := range after {
		was := known[name(&after[i])]
		delete(known, name(&after[i]))
		if was == nil || !same(was, &after[i]) {
			changed = append(changed, &after[i])
		}
	}
	for i := range before { // in their order
		if n := name(&before[i]); known[n] != nil {
			gone = append(gone, n)
		}
	}
	return changed, gone
}

func changeOf(job *fleet.JobStatus) jobChange {
	c := jobChange{
		Job: job.Name, State: stateIdle, Next: job.Next, Paused: job.Paused != nil, Unserved: job.Unserved, Overdue: !job.Overdue.IsZero(),
	}
	if job.Last != nil {
		c.Tick, c.Outcome, c.Ended = job.Last.ID, job.Last.Outcome, job.Last.Ended
	}
	if len(job.Open) > 0 {
		c.State, c.Tick = job.Open[0].State, job.Open[0].ID
	}
	return c
}

// sameJob reports whether a page shows the same of a job, but for what passes by itself, such as
// the rest of a lease.
func sameJob(a, b *fleet.JobStatus) bool {
	if len(a.Open) != len(b.Open) || a.Unserved != b.Unserved || !a.Next.Equal(b.Next) || !a.Overdue.Equal(b.Overdue) ||
		a.Schedule != b.Schedule || a.Timezone != b.Timezone || len(a.Revisions) != len(b.Revisions) || len(a.Replicas) != len(b.Replicas) {
		return false
	}
	for i := range a.Open {
		if x, y := &a.Open[i], &b.Open[i]; x.ID != y.ID || x.State != y.State || x.Token != y.Token || x.Attempts != y.Attempts || x.CancelledBy != y.CancelledBy || failures(x) != failures(y) {
			return false
		}
	}
	for i := range a.Replicas {
		if a.Replicas[i] != b.Replicas[i] {
			return false
		}
	}
	return samePause(a.Paused, b.Paused) && sameEntry(a.Last, b.Last)
}

func failures(e *fleet.Entry) int {
	if e.Failing == nil {
		return 0
	}
	return e.Failing.Failures
}

func samePause(a, b *fleet.Pause) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.By == b.By && a.Reason == b.Reason && a.Since.Equal(b.Since)
}

func sameEntry(a, b *fleet.Entry) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.ID == b.ID && a.Outcome == b.Outcome && a.Ended.Equal(b.Ended) && a.Token == b.Token
}

func stateOf(r *fleet.Replica) string {
	if r.Stopping {
		return "stopping"
	}
	return "live"
}

func sameReplica(a, b *fleet.Replica) bool {
	return a.Stopping == b.Stopping && a.Running == b.Running && a.Used == b.Used && a.Waiting == b.Waiting && a.Clock == b.Clock &&
		a.Version == b.Version && a.JobCount == b.JobCount && a.Started.Equal(b.Started) && len(a.Others) == len(b.Others)
}
