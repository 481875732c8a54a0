package fleet

import (
	"time"

	"github.com/solotick/solotick/internal/wire"
)

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
