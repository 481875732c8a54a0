package processes

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/solotest"
	"github.com/solotick/solotick/solotest/internal/observed"
)

// StopLimit is how long a handler may go on after its context has ended before [Fleet.AssertStops]
// fails.
const StopLimit = 2 * time.Second

// Trigger asks the fleet to run a job once, now, and returns its tick. It does not wait for the
// run.
func (f *Fleet) Trigger(job string) time.Time {
	f.t.Helper()
	asked, err := fleet.New(f.store)
	if err != nil {
		f.t.Fatal(err)
	}
	answer, err := asked.Trigger(f.t.Context(), job, fleet.TriggerOptions{By: "solotest"})
	if err == nil && !answer.Accepted() {
		err = fmt.Errorf("it was refused: %s", answer.Refusal())
	}
	if err != nil {
		f.t.Fatalf("solotest: trigger %s: %v", job, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.triggered == nil {
		f.triggered = map[string][]time.Time{}
	}
	if !slices.Contains(f.triggered[job], answer.Tick) {
		f.triggered[job] = append(f.triggered[job], answer.Tick)
	}
	return answer.Tick
}

// Runs returns the runs of a job so far, in the order in which the test learned of them.
func (f *Fleet) Runs(job string) (runs []solotest.Execution) {
	for _, e := range f.runs.Job(job) {
		runs = append(runs, solotest.Execution(e))
	}
	return runs
}

// AwaitRun waits until a run of the job is under way, and returns it.
func (f *Fleet) AwaitRun(job string) (run solotest.Execution) {
	f.t.Helper()
	f.Await("no run of "+job+" is under way", func() bool {
		for _, e := range f.Runs(job) {
			if e.Ended.IsZero() && f.lives(e.Replica) {
				run = e
				return true
			}
		}
		return false
	})
	return run
}

func (f *Fleet) lives(replica string) bool {
	select {
	case <-f.member(replica).Done():
		return false
	default:
		return true
	}
}

// AwaitSucceeded waits until n ticks of the job have been settled as succeeded.
func (f *Fleet) AwaitSucceeded(job string, n int) {
	f.t.Helper()
	succeeded := 0
	defer func() {
		if succeeded < n {
			f.t.Logf("solotest: %d ticks of %s have succeeded", succeeded, job)
		}
	}()
	f.Await(fmt.Sprintf("not %d ticks of %s have succeeded", n, job), func() bool {
		ticks, err := f.runs.Succeeded(f.t.Context(), f.store, job)
		succeeded = len(ticks)
		return err == nil && succeeded >= n
	})
}

// Await waits until done returns true, for at most a minute. Then the test ends with the failure.
func (f *Fleet) Await(failure string, done func() bool) {
	f.t.Helper()
	for end := time.Now().Add(patience); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			f.t.Fatalf("solotest: %s, after %s", failure, patience)
		}
	}
}

// AssertOnce fails the test unless every tick of the job from one time to another, both included,
// was settled as succeeded, by one run each. It counts the ticks of its schedule, and those of
// Trigger.
func (f *Fleet) AssertOnce(job string, from, to time.Time) {
	f.t.Helper()
	for _, fault := range f.notOnce(job, from, to) {
		f.t.Error(fault)
	}
}

func (f *Fleet) notOnce(job string, from, to time.Time) []string {
	f.mu.Lock()
	known, ok := f.jobs[job]
	ticks := slices.DeleteFunc(slices.Clone(f.triggered[job]), func(tick time.Time) bool {
		return tick.Before(from.Truncate(time.Millisecond)) || tick.After(to)
	})
	f.mu.Unlock()
	if !ok {
		return []string{fmt.Sprintf("solotest: no replica has the job %q", job)}
	}
	if known.Schedule != "" {
		// Only the schedule counts, so the handler is a placeholder.
		defined, err := jobs.New(job, known.Schedule, func(context.Context, jobs.Run) error { return nil }, jobs.WithTimezone(known.Timezone))
		if err != nil {
			return []string{err.Error()}
		}
		ticks = append(ticks, observed.Ticks(defined.Schedule(), from, to)...)
	}
	if len(ticks) == 0 {
		return []string{fmt.Sprintf("solotest: %s: there is no tick from %s to %s", job, from, to)}
	}
	return f.runs.NotOnce(f.t.Context(), f.store, job, ticks)
}

// AssertStops waits until the context of a run of the job has ended: its lease was lost, its time
// was over or its replica was stopped. It fails the test if the handler went on for longer than
// [StopLimit].
func (f *Fleet) AssertStops(job string) {
	f.t.Helper()
	if fault := f.overrun(job); fault != "" {
		f.t.Error(fault)
	}
}

func (f *Fleet) overrun(job string) (fault string) {
	f.t.Helper()
	f.Await("no context of a run of "+job+" has ended before the run", func() (found bool) {
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, s := range f.stopped {
			if s.Job == job && s.Overrun && fault == "" {
				fault = fmt.Sprintf("solotest: the handler of %s goes on %s after its context has ended (%s): it must return when ctx.Done() is closed", job, StopLimit, s.Cause)
			}
			found = found || s.Job == job
		}
		return found
	})
	return fault
}
