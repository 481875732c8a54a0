package console

import (
	"time"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/protocol"
)

// change is how one read of the fleet differs from the one before: an event of the stream.
type change struct {
	At       stamp           `json:"at"` // fleet time
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
	Ended    stamp            `json:"ended"`   // of the same
	Next     stamp            `json:"next"`
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

// stamp is a time in JSON: RFC 3339 with milliseconds in UTC, or null.
type stamp time.Time

// MarshalJSON implements json.Marshaler.
func (s stamp) MarshalJSON() ([]byte, error) {
	t := time.Time(s)
	if t.IsZero() {
		return []byte("null"), nil
	}
	return []byte(t.UTC().Format(`"2006-01-02T15:04:05.000Z07:00"`)), nil
}

// stateIdle and stateGone are the states of a job without an open tick, and of a job or replica
// that is not there any more.
const (
	stateIdle = "idle"
	stateGone = "gone"
)

// changesBetween compares two reads.
func changesBetween(before, after *fleet.Status) change {
	c := change{At: stamp(after.Now), Jobs: []jobChange{}, Replicas: []replicaChange{}}
	known := make(map[string]*fleet.JobStatus, len(before.Jobs))
	for i := range before.Jobs {
		known[before.Jobs[i].Name] = &before.Jobs[i]
	}
	for i := range after.Jobs {
		job := &after.Jobs[i]
		was := known[job.Name]
		delete(known, job.Name)
		if was == nil || !sameJob(was, job) {
			c.Jobs = append(c.Jobs, changeOf(job))
		}
	}
	for i := range before.Jobs { // in their order
		if name := before.Jobs[i].Name; known[name] != nil {
			c.Jobs = append(c.Jobs, jobChange{Job: name, State: stateGone})
		}
	}
	c.Replicas = append(c.Replicas, replicaChanges(before.Replicas, after.Replicas)...)
	return c
}

func changeOf(job *fleet.JobStatus) jobChange {
	c := jobChange{
		Job: job.Name, State: stateIdle, Next: stamp(job.Next), Paused: job.Paused != nil, Unserved: job.Unserved, Overdue: !job.Overdue.IsZero(),
	}
	if job.Last != nil {
		c.Tick, c.Outcome, c.Ended = job.Last.ID, job.Last.Outcome, stamp(job.Last.Ended)
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

func replicaChanges(before, after []fleet.Replica) (list []replicaChange) {
	known := make(map[string]*fleet.Replica, len(before))
	for i := range before {
		known[before[i].ID] = &before[i]
	}
	for i := range after {
		r := &after[i]
		was := known[r.ID]
		delete(known, r.ID)
		if was == nil || !sameReplica(was, r) {
			list = append(list, replicaChange{r.ID, stateOf(r), r.Running})
		}
	}
	for i := range before {
		if id := before[i].ID; known[id] != nil {
			list = append(list, replicaChange{Replica: id, State: stateGone})
		}
	}
	return list
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
