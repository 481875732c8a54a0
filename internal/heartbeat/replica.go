// Package heartbeat has what the replicas of a fleet say about themselves, and how they say it:
// package scheduler sends heartbeats, package fleet shows them.
//
// A heartbeat lists a few jobs itself; of more it names the set, which [JobSets] keeps in the store
// once for all who have it. While a set cannot be read its replica counts as one whose jobs are not
// known. It may serve any job, and no job is reported as unserved for it.
//
//	what fails                                   what follows
//	the store has lost a set, or evicted it      unknown to replicas that have not read it; its own put it again within 30 s
//	a set cannot be put (no memory, no answer)   not known; it is tried again with each heartbeat
//	a set is not what its digest says            not known
//	two releases, or two sets of groups          two sets, which have most of their parts in common
//	a heartbeat of the older form                its list of jobs is read; above [MostJobs] it has none: not known
//	the store keeps no sets                      heartbeats list up to [MostJobs] jobs
//	more than [MaxJobs] jobs on one replica      not known
//	two halves of a fleet see different members  each counts the jobs of those that it sees
package heartbeat

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/solotick/solotick/internal/wire"
)

// Replica is the heartbeat of a replica, sent every few seconds by [protocol.Store]. Its
// fields are those of fleet.Replica, which says what each means: the one is converted into the
// other.
type Replica struct {
	ID          string
	Groups      []string
	Started     time.Time
	Version     string
	Module      string
	ClockOffset time.Duration
	TTL         time.Duration
	Running     int
	MaxRuns     int
	Used        int
	Waiting     int
	Stopping    bool
	Instance    string
	Others      map[string]int64

	// The heartbeat does not hold these two: the store knows them.
	LastHeartbeat time.Time
	Gone          bool

	// Jobs is nil after decoding where the heartbeat names a Set, until [JobSets.Resolve] fills it
	// in, and where they were too many for a heartbeat. While it has fewer than JobCount they are
	// not known. It must not be changed.
	Jobs     map[string]string
	JobCount int    // filled in by Encode
	Set      string // what [JobSets.Publish] returned; empty when the heartbeat lists the jobs

	Failing []wire.FailingRun // at most MostFailing

	Life   time.Duration
	Clock  string
	Step   time.Duration
	Steady time.Duration
}

// The values of Clock.
const (
	ClockTrusted = "trusted"
	ClockStepped = "stepped" // it has stepped by more than the TTL and 5 s
	ClockDoubted = "doubted" // the replica has just started, and the clock disagrees with its machine's
)

// replicaJSON is how a Replica is announced. It is read by other versions of this program: a field
// may be added, and none changes its meaning.
type replicaJSON struct {
	ID          string            `json:"id"`
	Groups      []string          `json:"groups,omitempty"`
	Started     int64             `json:"started_ms"` // Unix time
	Version     string            `json:"version,omitempty"`
	Module      string            `json:"module,omitempty"`
	ClockOffset int64             `json:"clock_offset_ms"`
	TTL         int64             `json:"term_ms"`
	Running     int               `json:"running"`
	MaxRuns     int               `json:"max_runs,omitempty"`
	Used        int               `json:"used,omitempty"`
	Waiting     int               `json:"waiting,omitempty"`
	Stopping    bool              `json:"stopping,omitempty"`
	Instance    string            `json:"instance,omitempty"`
	Others      map[string]int64  `json:"others,omitempty"`
	Jobs        map[string]string `json:"jobs,omitempty"`
	JobCount    int               `json:"job_count"`
	Set         string            `json:"set,omitempty"`
	Life        int64             `json:"life_ms,omitempty"`
	Clock       string            `json:"clock,omitempty"`
	Step        int64             `json:"clock_step_ms,omitempty"`
	Steady      int64             `json:"clock_steady_ms,omitempty"`
	Failing     []failingJSON     `json:"failing,omitempty"`
}

// MostFailing is how many of its runs a replica says fail, at most: all others read that.
const MostFailing = 64

// failingJSON is how a wire.FailingRun is announced. Times are Unix milliseconds.
type failingJSON struct {
	Job      string `json:"job"`
	Token    int64  `json:"token"`
	Attempt  int    `json:"attempt"`
	Failures int    `json:"failures"`
	Since    int64  `json:"since_ms"`
	Error    string `json:"error"`
	Next     int64  `json:"next_ms"`
}

// MostJobs is how many jobs a heartbeat lists at most, where the store keeps no sets: all replicas
// read what each says every few seconds.
const MostJobs = 1000

// Encode writes r for [protocol.Store], times and durations in whole milliseconds. It leaves
// the jobs out when it names a Set, or they are more than [MostJobs].
func (r Replica) Encode() []byte {
	w := replicaJSON{
		ID: r.ID, Groups: r.Groups, Started: wire.UnixMilli(r.Started), Version: r.Version, Module: r.Module,
		ClockOffset: r.ClockOffset.Round(time.Millisecond).Milliseconds(), TTL: r.TTL.Milliseconds(),
		Running: r.Running, MaxRuns: r.MaxRuns, Used: r.Used, Waiting: r.Waiting,
		Stopping: r.Stopping, Instance: r.Instance, Others: r.Others, Jobs: r.Jobs, JobCount: len(r.Jobs), Set: r.Set,
		Life: r.Life.Milliseconds(), Clock: r.Clock, Step: r.Step.Milliseconds(), Steady: r.Steady.Milliseconds(),
	}
	if w.Set != "" || len(w.Jobs) > MostJobs {
		w.Jobs = nil
	}
	for _, f := range r.Failing[:min(len(r.Failing), MostFailing)] {
		w.Failing = append(w.Failing, failingJSON{f.Job, f.Token, f.Attempt, f.Failures, wire.UnixMilli(f.Since), f.Error, wire.UnixMilli(f.Next)})
	}
	text, _ := json.Marshal(w) //nolint:errchkjson // of strings and numbers: it cannot fail
	return text
}

// Decode reads what Encode wrote.
func Decode(text []byte) (Replica, error) { return JobLists{}.Decode(text) }

// JobLists holds the jobs that heartbeats list, by their text. The replicas of a fleet list the
// same jobs most often: such a list is decoded once, and shared.
type JobLists map[string]map[string]string

// Decode reads what Encode wrote. The Jobs of replicas that name the same are one map, which nobody
// may change.
func (s JobLists) Decode(text []byte) (Replica, error) {
	var r struct {
		replicaJSON
		JobsText json.RawMessage `json:"jobs"` // hides that of replicaJSON
	}
	err := json.Unmarshal(text, &r)
	if err == nil && r.JobsText != nil {
		r.Jobs, err = s.list(r.JobsText)
	}
	if err != nil {
		return Replica{}, fmt.Errorf("heartbeat: what a replica says about itself: %w", err)
	}
	var failing []wire.FailingRun
	for _, f := range r.Failing {
		failing = append(failing, wire.FailingRun{
			Job: f.Job, Token: f.Token, Attempt: f.Attempt, Failures: f.Failures, Since: wire.FromMilli(f.Since), Error: f.Error, Next: wire.FromMilli(f.Next),
		})
	}
	return Replica{
		ID: r.ID, Groups: r.Groups, Started: wire.FromMilli(r.Started), Version: r.Version, Module: r.Module,
		ClockOffset: time.Duration(r.ClockOffset) * time.Millisecond, TTL: time.Duration(r.TTL) * time.Millisecond,
		Running: r.Running, MaxRuns: r.MaxRuns, Used: r.Used, Waiting: r.Waiting,
		Stopping: r.Stopping, Instance: r.Instance, Others: r.Others, Jobs: r.Jobs, JobCount: r.JobCount, Set: r.Set, Failing: failing,
		Life: time.Duration(r.Life) * time.Millisecond, Clock: r.Clock,
		Step: time.Duration(r.Step) * time.Millisecond, Steady: time.Duration(r.Steady) * time.Millisecond,
	}, nil
}

func (s JobLists) list(text []byte) (jobs map[string]string, err error) {
	if jobs, ok := s[string(text)]; ok {
		return jobs, nil
	}
	if err = json.Unmarshal(text, &jobs); err == nil {
		s[string(text)] = jobs
	}
	return jobs, err
}

// Processes is how many processes use the replica's id: 1, unless that is a mistake.
func (r Replica) Processes() int { return 1 + len(r.Others) }

// Silent reports whether a replica that counts as live has missed a heartbeat by now: it may be
// dead, frozen or cut off.
func (r Replica) Silent(now time.Time) bool {
	every := wire.HeartbeatInterval(r.TTL)
	return !r.Gone && !r.LastHeartbeat.IsZero() && r.TTL > 0 && now.Sub(r.LastHeartbeat) > every+every/2+time.Second
}

// Outlived reports whether r seems alive only because the store's clock was ahead when it was
// announced. remaining is the rest of its life by the store. A live replica announces itself again
// as soon as the clock is back.
func (r Replica) Outlived(remaining time.Duration) bool {
	return r.Life > 0 && remaining > r.Life+time.Second
}
