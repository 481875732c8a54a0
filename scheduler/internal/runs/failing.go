package runs

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/solotick/solotick/internal/heartbeat"
	"github.com/solotick/solotick/internal/naming"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
)

// Failing keeps the runs of this replica whose last attempt failed, for its heartbeats. It costs
// nothing while nothing fails. The zero value is empty.
type Failing struct {
	mu   sync.Mutex
	runs map[grant]failingRun
}

// grant identifies a run. Two keys of a job may have grants of one token.
type grant struct {
	record string // JOB, or JOB/KEY
	token  int64
}

func grantOf(run jobs.Run) grant { return grant{naming.Keyed(run.Job, run.Key), run.Token} }

type failingRun struct {
	wire.FailingRun
	leader bool
	well   time.Duration // an attempt that runs for so long does well
}

// in reports whether the run still counts as failing.
func (r *failingRun) in(now time.Time) bool { return now.Sub(r.Next) <= r.well }

// Add records that an attempt failed, and that the next one begins after wait.
func (f *Failing) Add(run jobs.Run, spec *jobs.Spec, err error, now time.Time, wait time.Duration) {
	now = now.Truncate(time.Millisecond)
	f.mu.Lock()
	defer f.mu.Unlock()
	key := grantOf(run)
	r, known := f.runs[key]
	if !known || !r.in(now) {
		r = failingRun{FailingRun: wire.FailingRun{Job: key.record, Token: run.Token, Since: now}, leader: spec.Leader, well: wire.DoesWell(spec.Retry)}
	}
	r.Attempt, r.Error, r.Next = run.Attempt, wire.FailingError(err.Error()), now.Add(wait).Truncate(time.Millisecond)
	r.Failures++
	if f.runs == nil {
		f.runs = map[grant]failingRun{}
	}
	f.runs[key] = r
}

// End records that a run has ended.
func (f *Failing) End(run jobs.Run) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.runs, grantOf(run))
}

// List returns the runs that fail now, for a heartbeat: leader tasks first, since nothing else
// shows that they fail, then the runs that have failed longest.
func (f *Failing) List(now time.Time) (list []wire.FailingRun) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.runs) == 0 {
		return nil
	}
	all := make([]failingRun, 0, len(f.runs))
	for _, r := range f.runs {
		if r.in(now) {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b failingRun) int {
		if a.leader != b.leader {
			if a.leader {
				return -1
			}
			return 1
		}
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Job, b.Job), cmp.Compare(a.Token, b.Token))
	})
	for _, r := range all[:min(len(all), heartbeat.MostFailing)] {
		list = append(list, r.FailingRun)
	}
	return list
}

// Since returns, for each job with a run that has failed more than once, since when.
func (f *Failing) Since(now time.Time) map[string]time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	by := map[string]time.Time{}
	for _, r := range f.runs {
		job, _ := naming.SplitKeyed(r.Job)
		if first, known := by[job]; r.Failures > 1 && r.in(now) && (!known || r.Since.Before(first)) {
			by[job] = r.Since
		}
	}
	return by
}
