package fleet

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease"
)

// Status is what a fleet does at an instant.
type Status struct {
	Namespace string
	Now       time.Time   // fleet time
	Since     time.Time   // since when the store remembers the fleet
	Replicas  []Replica   // that live, sorted by id
	Jobs      []JobStatus // the given ones in their order, then those that only replicas know, sorted by name
}

// JobStatus is what a fleet does about one job.
type JobStatus struct {
	Name  string
	Given bool // Status was given the job; otherwise only replicas know it, so Spec is the zero Spec and Next unknown
	Spec  jobs.Spec
	Known bool // the store has a record: some replica has contended for the job

	Open []Entry // the ticks that are not settled, newest first
	Last *Entry  // what was settled last, not longer ago than the history goes; nil when nothing was

	Next    time.Time    // the first tick after now; zero when there is none, or it is not known
	Overdue time.Time    // the oldest tick that should have been decided by now, and waits for no other; zero when there is none
	Paused  *lease.Pause // for the whole fleet; nil when it is not. Spec.Paused is what the configuration says

	Replicas []string // that live and serve the job, without those that are stopping
	Unserved bool     // no replica that lives serves the job: nobody runs it
	// Revisions has the replicas of each revision of the job, where those that live disagree about how it is defined;
	// otherwise it is nil.
	Revisions map[string][]string
}

// slack is how long a tick may be undecided after its time and its misfire grace before it counts as overdue.
const slack = 5 * time.Second

// Status looks at the replicas, the given jobs, and the jobs that replicas serve besides.
func (f *Fleet) Status(ctx context.Context, given []*jobs.Job) (Status, error) {
	now, since, err := f.store.Time(ctx)
	if err != nil {
		return Status{}, err
	}
	s := Status{Namespace: f.namespace, Now: now, Since: since}
	if s.Replicas, err = f.Replicas(ctx); err != nil {
		return Status{}, err
	}
	others := map[string]bool{}
	for _, r := range s.Replicas {
		for name := range r.Jobs {
			others[name] = true
		}
	}
	type asked struct {
		name string
		job  *jobs.Job
	}
	var all []asked
	for _, j := range given {
		all = append(all, asked{j.Name(), j})
		delete(others, j.Name())
	}
	for _, name := range slices.Sorted(maps.Keys(others)) {
		all = append(all, asked{name: name})
	}
	s.Jobs = make([]JobStatus, len(all))
	err = together(ctx, len(all), func(ctx context.Context, i int) error {
		r, err := f.inspect(ctx, all[i].name)
		if err == nil {
			s.Jobs[i] = f.jobStatus(all[i].name, all[i].job, r, s.Replicas, now)
		}
		return err
	})
	return s, err
}

func (f *Fleet) jobStatus(name string, job *jobs.Job, r lease.Record, replicas []Replica, now time.Time) JobStatus {
	s := JobStatus{Name: name, Given: job != nil, Known: r.Mark != 0 || r.Token != 0, Paused: r.Paused}
	list := entries(f.namespace, r)
	s.Open = list[:len(r.Open):len(r.Open)]
	for i, e := range list[len(r.Open):] {
		if !e.IsEmpty(job) && !e.Ended.Before(now.Add(-f.age)) {
			s.Last = &list[len(r.Open)+i]
			break
		}
	}
	if job != nil {
		s.Spec = job.Spec()
		s.Next = job.Schedule().Next(now)
		if r.Mark != 0 {
			s.Overdue = overdue(job, r, now)
		}
	}
	s.Replicas, s.Unserved, s.Revisions = service(name, replicas)
	return s
}

// overdue returns the oldest tick that is undecided although its time has long come; zero when there is none. Ticks that
// are caught up wait for what is open.
func overdue(job *jobs.Job, r lease.Record, now time.Time) time.Time {
	spec := job.Spec()
	due := job.Schedule().Next(time.UnixMilli(r.Mark))
	if due.IsZero() || len(r.Open) > 0 || now.Sub(due) <= spec.MisfireGrace+spec.Jitter+slack {
		return time.Time{}
	}
	return due
}

// Serving returns which of the replicas serve a job, and whether it is certain that none does.
func Serving(job string, replicas []Replica) (serving []string, unserved bool) {
	serving, unserved, _ = service(job, replicas)
	return serving, unserved
}

// service tells who serves a job, whether nobody does, and who disagrees about it.
func service(job string, replicas []Replica) (serving []string, unserved bool, revisions map[string][]string) {
	unserved = true
	by := map[string][]string{}
	for _, r := range replicas {
		if r.Stopping {
			continue // it claims nothing more, and the next release may well differ
		}
		serves, known := r.serves(job)
		unserved = unserved && !serves && known
		if serves {
			serving = append(serving, r.ID)
			by[r.Jobs[job]] = append(by[r.Jobs[job]], r.ID)
		}
	}
	if len(by) > 1 {
		revisions = by
	}
	return serving, unserved, revisions
}

// askedAtOnce is how many records are asked for at a time: they travel together.
const askedAtOnce = 32

// together calls do for 0 to n-1, several at once, and returns the first error, which ends the others.
func together(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(n, askedAtOnce) {
		workers.Go(func() {
			for i := range next {
				if err := do(ctx, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	for i := 0; i < n && ctx.Err() == nil; i++ {
		select {
		case next <- i:
		case <-ctx.Done():
		}
	}
	close(next)
	workers.Wait()
	return context.Cause(ctx)
}
