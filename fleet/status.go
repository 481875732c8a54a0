package fleet

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/jobs/schedule"
	"github.com/solotick/solotick/lease"
)

// Status shows a fleet at an instant.
type Status struct {
	Namespace string    `api:"namespace"`
	Now       time.Time `api:"now"`      // fleet time
	Since     time.Time `api:"since"`    // since when the store remembers the fleet
	Replicas  []Replica `api:"replicas"` // that live, sorted by id
	// Silent are the replicas that are gone without having signed off, the newest first, as long as
	// the store knows them. When none lives, the one that lived last comes first, however it ended.
	Silent []Replica   `api:"silent"`
	Jobs   []JobStatus `api:"jobs"` // the given ones in their order, then those that only replicas or the store know, sorted by name
}

// JobStatus shows one job of a fleet.
type JobStatus struct {
	Name  string `api:"job"`
	Given bool   `api:"configured"` // Status was given the job; see Spec for one that only replicas or the store know
	// Spec is the zero Spec unless Given; Next is then that of the schedule in the record.
	Spec jobs.Spec `api:"-"`
	// Schedule and Timezone are those of the given job, or else those that the record knows; empty
	// when it knows none.
	Schedule string `api:"schedule"`
	Timezone string `api:"timezone"`

	Known bool `api:"known"` // the store has a record: some replica has contended for the job

	Open []Entry `api:"open"` // the ticks that are not settled, newest first
	Last *Entry  `api:"last"` // the tick settled last, within the history; nil when there is none

	// LastRun is the newest settled tick that was run, and LastSuccess the newest that succeeded;
	// nil when none is kept.
	LastRun     *Entry `api:"last_run"`
	LastSuccess *Entry `api:"last_success"`

	// Newest are the outcomes of the ticks and ranges that were settled last, newest last: at most
	// 12.
	Newest []lease.Outcome `api:"newest_outcomes"`

	Next    time.Time `api:"next"`    // the first tick after now; zero when there is none, or it is not known
	Overdue time.Time `api:"overdue"` // the oldest tick that should have been decided by now, and waits for no other; zero when there is none
	// Ahead is how far the job's watermark lies in the future, where a wrong clock has left it: no
	// tick up to then runs unless somebody calls [Fleet.Repair]. 0 when it is 5 s at most.
	Ahead  time.Duration `api:"watermark_ahead_ms"`
	Paused *Pause        `api:"paused"` // for the whole fleet; nil when it is not. Spec.Paused is the configuration's

	Replicas []string `api:"replicas"` // that live and serve the job, without those that are stopping
	Unserved bool     `api:"unserved"` // no replica that lives serves the job: nobody runs it
	// Revisions has the replicas of each revision of the job, where those that live disagree about
	// how it is defined; otherwise it is nil.
	Revisions map[string][]string `api:"revisions"`
}

// LeftOver reports whether only the store knows the job: it has a record, and no replica that lives
// serves it.
func (s JobStatus) LeftOver() bool { return !s.Given && s.Known && s.Unserved }

// ScheduleOf returns the job's schedule; nil of a leader task, and where it is not known, or this
// machine does not know the zone. Name, Schedule and Timezone decide it.
func (s JobStatus) ScheduleOf() *schedule.Schedule {
	if s.Spec.Leader || s.Schedule == "" {
		return nil
	}
	known, err := wire.ParseSchedule(s.Name, s.Timezone+" "+s.Schedule)
	if err != nil {
		return nil
	}
	return known
}

// slack is how long a tick may be undecided after its time and its misfire grace before it counts
// as overdue.
const slack = 5 * time.Second

// Status looks at the replicas, the given jobs, the jobs that replicas serve besides, and those
// that only the store knows. Where names are given, it looks only at the jobs of those names, in
// their order. Jobs that only the store knows are left out where it keeps no summaries.
func (f *Fleet) Status(ctx context.Context, given []*jobs.Job, names ...string) (Status, error) {
	s, all, err := f.present(ctx, given)
	if err != nil {
		return Status{}, err
	}
	if len(names) > 0 {
		chosen := make([]asked, len(names))
		for i, name := range names {
			chosen[i].name = name
			for _, a := range all {
				if a.name == name {
					chosen[i] = a
				}
			}
		}
		all = chosen
	}
	all, err = f.withLeftOver(ctx, all, len(names) > 0)
	if err != nil {
		return Status{}, err
	}
	s.Jobs = make([]JobStatus, len(all))
	service := serviceOf(s.Replicas)
	err = f.summaries(ctx, all, func(i int, r protocol.Summary) {
		s.Jobs[i] = f.jobStatus(all[i].name, all[i].job, r, service, s.Now)
	})
	return s, err
}

// present returns a status without its jobs, and the given jobs with those that replicas serve
// besides.
func (f *Fleet) present(ctx context.Context, given []*jobs.Job) (s Status, all []asked, err error) {
	now, since, err := f.store.Time(ctx)
	if err != nil {
		return s, nil, err
	}
	s = Status{Namespace: f.namespace, Now: now, Since: since}
	if s.Replicas, err = f.Replicas(ctx); err != nil {
		return s, nil, err
	}
	if s.Silent, err = f.silent(ctx, s.Replicas); err != nil {
		return s, nil, err
	}
	others := map[string]bool{}
	looked := map[string]bool{}
	for _, r := range s.Replicas {
		if r.Set != "" && looked[r.Set] {
			continue
		}
		looked[r.Set] = true
		for name := range r.Jobs {
			others[name] = true
		}
	}
	for _, j := range given {
		all = append(all, asked{j.Name(), j})
		delete(others, j.Name())
	}
	for _, name := range slices.Sorted(maps.Keys(others)) {
		all = append(all, asked{name: name})
	}
	return s, all, nil
}

func (f *Fleet) jobStatus(name string, job *jobs.Job, summary protocol.Summary, service *service, now time.Time) JobStatus {
	r := summary.Record
	s := JobStatus{
		Name: name, Given: job != nil, Known: r.Watermark != 0 || r.Token != 0, Ahead: ahead(r, now), Paused: pauseOf(r.Paused), Newest: summary.Newest,
	}
	list := entries(f.namespace, r)
	s.Open = service.failing.mark(list[:len(r.Open):len(r.Open)], now)
	for i, e := range list[len(r.Open):] {
		if e.IsEmpty(job) || e.Ended.Before(now.Add(-f.age)) {
			continue
		}
		newest := &list[len(r.Open)+i]
		s.Last = cmp.Or(s.Last, newest)
		if e.Token != 0 {
			s.LastRun = cmp.Or(s.LastRun, newest)
		}
		if e.Outcome == wire.Succeeded {
			s.LastSuccess = cmp.Or(s.LastSuccess, newest)
		}
	}
	if job == nil {
		s.Timezone, s.Schedule, _ = strings.Cut(scheduleIn(r), " ")
		if known := s.ScheduleOf(); known != nil {
			s.Next = known.Next(now)
		}
	} else {
		s.Spec = job.Spec()
		s.Schedule, s.Timezone = job.Schedule().String(), job.Schedule().Location().String()
		s.Next = job.Schedule().Next(now)
		if r.Watermark != 0 {
			s.Overdue = overdue(job, r, now)
		}
	}
	s.Replicas, s.Unserved, s.Revisions = service.Of(name)
	return s
}

// scheduleIn returns the zone and the schedule in force by a record, with a space between them; ""
// when it does not say.
func scheduleIn(r protocol.Record) string {
	if n := len(r.Schedules); n > 0 {
		return r.Schedules[n-1].Text
	}
	return ""
}

// silent returns the replicas that are gone without having signed off, and whose ids no other has
// taken since. When none lives, it keeps the one that lived last.
func (f *Fleet) silent(ctx context.Context, live []Replica) ([]Replica, error) {
	former, err := f.FormerReplicas(ctx)
	last := ""
	if len(live) == 0 && len(former) > 0 {
		last = former[0].Instance
	}
	return slices.DeleteFunc(former, func(r Replica) bool {
		return r.Stopping && r.Instance != last || r.JobCount < 0 || slices.ContainsFunc(live, func(l Replica) bool { return l.ID == r.ID })
	}), err
}

// overdue returns the oldest tick that is undecided although its time has long come; zero when
// there is none. Ticks that are caught up wait for open ticks.
func overdue(job *jobs.Job, r protocol.Record, now time.Time) time.Time {
	spec := job.Spec()
	due := job.Schedule().Next(time.UnixMilli(r.Watermark))
	if due.IsZero() || len(r.Open) > 0 || now.Sub(due) <= spec.MisfireGrace+spec.Jitter+slack {
		return time.Time{}
	}
	return due
}

// askedAtOnce is how many records are asked for at a time: they travel together.
const askedAtOnce = 32

// together calls do for 0 to n-1, several at once, and returns the first error, which ends the
// others.
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

// asked is a job that Status looks at.
type asked struct {
	name string
	job  *jobs.Job // nil when it was not given
}

// namesAtOnce is how many keys the store looks through for each page of names.
const namesAtOnce = 1000

// withLeftOver adds the jobs that only the store knows, sorted by name: those with a watermark.
// Other records are of leases that no job has. named says that only certain names are wanted.
func (f *Fleet) withLeftOver(ctx context.Context, all []asked, named bool) ([]asked, error) {
	if named {
		return all, nil
	}
	known := make(map[string]bool, len(all))
	for _, a := range all {
		known[a.name] = true
	}
	var unknown []string
	for cursor := ""; ; {
		names, next, err := f.store.Names(ctx, cursor, namesAtOnce)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if !known[name] {
				known[name] = true
				unknown = append(unknown, name)
			}
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	slices.Sort(unknown)
	for page := range slices.Chunk(unknown, protocol.MaxSummaries) {
		list, err := f.store.Summarize(ctx, page)
		if err != nil {
			return nil, err
		}
		for _, r := range list {
			if r.Watermark != 0 {
				all = append(all, asked{name: r.Name})
			}
		}
	}
	return all, nil
}

// summaries calls do with the summary of each job, in any order but one after the other.
func (f *Fleet) summaries(ctx context.Context, all []asked, do func(i int, r protocol.Summary)) error {
	pages := (len(all) + protocol.MaxSummaries - 1) / protocol.MaxSummaries
	var one sync.Mutex
	return together(ctx, pages, func(ctx context.Context, n int) error {
		from := n * protocol.MaxSummaries
		page := all[from:min(from+protocol.MaxSummaries, len(all))]
		names := make([]string, len(page))
		for i, a := range page {
			names[i] = a.name
		}
		list, err := f.store.Summarize(ctx, names)
		if err != nil {
			return err
		}
		one.Lock()
		defer one.Unlock()
		for i, r := range list {
			do(from+i, r)
		}
		return nil
	})
}
