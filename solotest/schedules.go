package solotest

import (
	"context"
	"time"

	"github.com/solotick/solotick/internal/naming"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/schedules"
)

// patience is how long RunNext waits, in virtual time, for a run after its tick.
const patience = time.Hour

// Schedules returns the schedules of a job that was added with jobs.WithSchedules: to put, delete and
// pause them as the code under test does.
func (f *Fleet) Schedules(job string) *schedules.Schedules {
	f.t.Helper()
	defined, ok := f.registry.Get(job)
	if !ok {
		f.t.Fatalf("solotest: job %q was not added", job)
	}
	all, err := schedules.Of(f.shared, defined)
	if err != nil {
		f.t.Fatal(err)
	}
	return all
}

// Put puts a schedule of a job. A fault of it ends the test.
func (f *Fleet) Put(job string, row schedules.Schedule, options ...schedules.Option) {
	f.t.Helper()
	if _, err := f.Schedules(job).Put(context.Background(), row, options...); err != nil {
		f.t.Fatal(err)
	}
}

// RunNext lets time pass until a run of the next tick of a schedule has ended, whatever its outcome, and
// returns that run. Other schedules run meanwhile. [Fleet.Runs] and [Fleet.AssertOnce] know the runs of a
// schedule by the name JOB/KEY.
func (f *Fleet) RunNext(job, key string) Execution {
	f.t.Helper()
	row, err := f.Schedules(job).Get(context.Background(), key)
	if err != nil {
		f.t.Fatal(err)
	}
	name := naming.Keyed(job, key)
	if row.Next.IsZero() {
		f.t.Fatalf("solotest: %s: no tick is to come", name)
	}
	for f.Advance(max(0, row.Next.Sub(f.Now()))); ; f.Advance(100 * time.Millisecond) {
		for _, e := range f.Runs(name) {
			if !e.Ended.IsZero() && !e.Tick.Before(row.Next) {
				return e
			}
		}
		if f.Now().After(row.Next.Add(patience)) {
			f.t.Fatalf("solotest: %s: the tick %s has no run that ended", name, row.Next.Format(time.RFC3339))
		}
	}
}

// defined returns a job, or as it runs for a key.
func (f *Fleet) defined(name string) (*jobs.Job, bool) {
	job, key := naming.SplitKeyed(name)
	defined, ok := f.registry.Get(job)
	if !ok || key == "" {
		return defined, ok
	}
	all, err := schedules.Of(f.shared, defined)
	if err == nil {
		defined, err = all.JobOf(context.Background(), key)
	}
	return defined, err == nil
}
