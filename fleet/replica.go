package fleet

import (
	"time"

	"github.com/solotick/solotick/internal/heartbeat"
	"github.com/solotick/solotick/internal/naming"
	"github.com/solotick/solotick/internal/wire"
)

// Replica holds the last heartbeat of a replica, which it sends every few seconds.
type Replica struct {
	ID          string           `api:"id"`
	Groups      []string         `api:"groups"`          // that it serves, besides the jobs that name none
	Started     time.Time        `api:"started"`         // by fleet time, in milliseconds
	Version     string           `api:"version"`         // of its program
	Module      string           `api:"-"`               // of its program, such as github.com/acme/billing; empty when it does not say
	ClockOffset time.Duration    `api:"clock_offset_ms"` // of fleet time from its machine's clock: above 0 where that one is slow
	TTL         time.Duration    `api:"term_ms"`         // of its leases
	Running     int              `api:"running"`         // how many runs it has under way
	MaxRuns     int              `api:"max_runs"`        // the weight of jobs that it runs at a time; 0: no limit, or a version that does not say
	Used        int              `api:"used"`            // the weight of the jobs that it runs
	Waiting     int              `api:"waiting"`         // how many jobs have a tick that is due and that it has no room for
	Stopping    bool             `api:"stopping"`        // it starts nothing more
	Instance    string           `api:"-"`               // distinguishes its process from others with the same id; empty from a version without it
	Others      map[string]int64 `api:"-"`               // instances that use the same id, which is a mistake, and how long ago each was noticed, in ms

	// LastHeartbeat is when its last heartbeat reached the store, by the store's clock; zero when
	// that is not known. Gone says that it has stopped or died since.
	LastHeartbeat time.Time `api:"last_heartbeat"`
	Gone          bool      `api:"gone"`

	// Jobs are those that it serves, each with its revision: 12 hexadecimal digits of a hash of the
	// job's definition. JobCount says how many there are. While Jobs has fewer, the store does not
	// have the list, and the replica may serve any job. Replicas with the same jobs share the map:
	// it must not be changed.
	Jobs     map[string]string `api:"-"`
	JobCount int               `api:"job_count"`
	Set      string            `api:"-"` // identifies them, where they are not listed in the heartbeat itself

	// Failing are runs of it whose last attempt failed, at most 64: leader tasks, then those that
	// have failed for the longest.
	Failing []FailingRun `api:"-"`

	Life time.Duration `api:"-"` // for how long a heartbeat lasts; 0 from a version that does not say
	// Clock is its opinion of the store's clock. It is trusted, stepped (by Step, more than the TTL
	// and 5 s), or empty from a version that does not say. It is doubted when the replica has just
	// started, and the clock disagrees with its machine's. While a replica does not trust that
	// clock it claims nothing.
	Clock  string        `api:"-"`
	Step   time.Duration `api:"-"` // above 0 when it stepped forward
	Steady time.Duration `api:"-"` // for how long it has not seen that clock step
}

// Processes is how many processes use the replica's id: 1, unless that is a mistake.
func (r Replica) Processes() int { return heartbeat.Replica(r).Processes() }

// Silent reports whether a replica that counts as live has missed a heartbeat by now: it may be
// dead, frozen or cut off.
func (r Replica) Silent(now time.Time) bool { return heartbeat.Replica(r).Silent(now) }

// Fits reports whether the replica can ever run a job of that weight.
func (r Replica) Fits(weight int) bool { return r.MaxRuns == 0 || weight <= r.MaxRuns }

// HasRoom reports whether, by its last heartbeat, it could run a job of that weight at once.
func (r Replica) HasRoom(weight int) bool { return r.MaxRuns == 0 || r.Used+weight <= r.MaxRuns }

// serves reports whether r serves a job, or that of a stored schedule JOB/KEY, and whether that is
// known.
func (r Replica) serves(name string) (serves, known bool) {
	job, _ := naming.SplitKeyed(name)
	_, serves = r.Jobs[job]
	return serves, serves || len(r.Jobs) == r.JobCount
}

// service says which of the live replicas serve a job, and which of their runs fail.
type service struct {
	*heartbeat.Service
	failing failingRuns
}

// Of looks up a job. For the name of a stored schedule, JOB/KEY, it looks up the job JOB.
func (s *service) Of(name string) (serving []string, unserved bool, revisions map[string][]string) {
	job, _ := naming.SplitKeyed(name)
	return s.Service.Of(job)
}

func serviceOf(replicas []Replica) *service {
	list := make([]heartbeat.Replica, len(replicas))
	for i, r := range replicas {
		list[i] = heartbeat.Replica(r)
	}
	return &service{heartbeat.NewService(list), failingOf(replicas)}
}

// FailingRun says that attempts of a run have failed, and that its replica makes another: it waits
// for that, or has begun it lately. It is known from the replica's heartbeats.
type FailingRun = wire.FailingRun

// failingRuns are those that live replicas have.
type failingRuns map[runKey]FailingRun

// runKey identifies a run.
type runKey struct {
	job   string
	token int64
}

func failingOf(replicas []Replica) failingRuns {
	all := failingRuns{}
	for _, r := range replicas {
		for _, f := range r.Failing {
			all[runKey{f.Job, f.Token}] = f
		}
	}
	return all
}

// mark adds to entries that run what is known of their attempts that failed.
func (all failingRuns) mark(list []Entry, now time.Time) []Entry {
	if len(all) == 0 {
		return list
	}
	for i := range list {
		e := &list[i]
		f, ok := all[runKey{e.Job, e.Token}]
		if !ok || e.State != wire.StateRunning {
			continue
		}
		e.Failing, e.Error, e.Attempts = &f, f.Error, max(e.Attempts, f.Attempt)
		if e.Attempts == f.Attempt && now.Before(f.Next) {
			e.State = wire.StateRetrying
			for n := range e.Runs {
				if e.Runs[n].Token == e.Token {
					e.Runs[n].End, e.Runs[n].Error = e.State, f.Error
				}
			}
		}
	}
	return list
}

// Held reports whether a replica holds the tick: it runs, or waits for its next attempt.
func (e Entry) Held() bool { return e.State == wire.StateRunning || e.State == wire.StateRetrying }
