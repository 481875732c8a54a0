package scheduler

import (
	"github.com/solotick/solotick/scheduler/internal/plan"

	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease"
)

// jobSet is what a replica knows of its jobs at one time. It is never changed, only replaced.
type jobSet struct {
	contenders []*contender
	stored     []*contender // those whose schedules lie in the store
	leaders    []*leader
	byName     map[string]*contender
	leading    map[string]*leader
	all        map[string]string // the revisions of all jobs of the registry
	revisions  map[string]string // of those that this replica serves; the same map where it serves all
}

func newJobSet() *jobSet {
	return &jobSet{
		byName: map[string]*contender{}, leading: map[string]*leader{},
		all: map[string]string{}, revisions: map[string]string{},
	}
}

// each calls f with each contender, which is locked.
func (s *jobSet) each(f func(c *contender)) {
	for _, c := range s.contenders {
		c.locked(func() { f(c) })
	}
}

// Changes lists what [Scheduler.Update] has done: the names of jobs, sorted.
type Changes struct {
	Added, Redefined, Removed []string
}

// Update replaces the jobs of the scheduler with those of the registry, before or while it runs. It
// adds, redefines and removes jobs that differ by name or [jobs.Job.Revision]. Other jobs get their
// new handlers, which the next runs call. A nil registry is an empty one. Ticks of new jobs are
// claimed a moment later: see [Scheduler.WaitReady].
//
// Runs of a job that was redefined or removed go on, and are settled. A leader task is cancelled
// with [ErrRemoved], and starts again if it was redefined. A job with a new schedule does not catch
// up ticks that only the new schedule had in the past.
func (s *Scheduler) Update(registry *jobs.Registry) Changes {
	s.updating.Lock()
	defer s.updating.Unlock()
	s.registry = new(jobs.Registry)
	if registry != nil {
		s.registry.Set(registry.All()...)
	}
	return s.updateLocked()
}

// Add adds all of the jobs or none, as [Scheduler.Update] does. The error joins a fault for each
// name that is in use and each job that is nil.
func (s *Scheduler) Add(list ...*jobs.Job) error {
	s.updating.Lock()
	defer s.updating.Unlock()
	if err := keepsSchedules(s.store, list); err != nil {
		return err
	}
	if err := s.registry.Add(list...); err != nil {
		return fmt.Errorf("scheduler: add: %w", err)
	}
	s.updateLocked()
	return nil
}

// keepsSchedules returns an error if the store keeps no schedules and one of the jobs runs by such.
func keepsSchedules(store lease.Store, list []*jobs.Job) error {
	for _, job := range list {
		if job == nil || !job.Schedule().Stored() {
			continue
		}
		if _, err := store.GetSchedules(context.Background(), nil); errors.Is(err, protocol.ErrNoIndex) {
			return fmt.Errorf("scheduler: job %q: %w", job.Name(), err)
		}
		break
	}
	return nil
}

// Remove removes a job from this replica, as [Scheduler.Update] does, and reports whether there was
// one with that name. Other replicas keep it.
func (s *Scheduler) Remove(name string) (removed bool) {
	s.updating.Lock()
	defer s.updating.Unlock()
	if removed = s.registry.Remove(name); removed {
		s.updateLocked()
	}
	return removed
}

// updateLocked replaces the jobs with those of s.registry. s.updating must be locked.
func (s *Scheduler) updateLocked() Changes {
	var changes Changes
	s.common = plan.Common{}
	before, after, list := s.jobs.Load(), newJobSet(), s.registry.All()
	after.all, after.byName = make(map[string]string, len(list)), make(map[string]*contender, len(list))
	for _, job := range list {
		after.all[job.Name()] = job.Revision()
	}
	list = slices.DeleteFunc(list, func(job *jobs.Job) bool { return !serves(s.groups, job.Spec().Groups) })
	after.revisions = after.all
	if len(list) < len(after.all) {
		after.revisions = make(map[string]string, len(list))
	}
	for _, job := range list {
		name, revision := job.Name(), after.all[job.Name()]
		after.revisions[name] = revision
		was, known := before.revisions[name]
		switch {
		case !known:
			changes.Added = append(changes.Added, name)
		case was != revision:
			changes.Redefined = append(changes.Redefined, name)
		}
		if job.Spec().Leader {
			l := before.leading[name]
			if l == nil || was != revision {
				l = newLeader(s, job)
			} else {
				l.setHandler(job)
			}
			after.leaders = append(after.leaders, l)
			after.leading[name] = l
			continue
		}
		c := before.byName[name]
		switch {
		case c == nil:
			c = newContender(s, job)
		case was != revision:
			c.redefine(job)
		default:
			c.setHandler(job)
		}
		after.contenders = append(after.contenders, c)
		if job.Schedule().Stored() {
			after.stored = append(after.stored, c)
		}
		after.byName[name] = c
	}
	for name := range before.revisions {
		if _, ok := after.revisions[name]; !ok {
			changes.Removed = append(changes.Removed, name)
		}
	}
	slices.Sort(changes.Removed)

	s.jobs.Store(after)
	s.loader.update(after.byName)
	for name, c := range before.byName {
		if after.byName[name] != c {
			c.remove()
		}
	}
	for name, l := range before.leading {
		if after.leading[name] != l {
			l.end(ErrRemoved)
		}
	}
	if s.leads != nil {
		s.startLeaders()
	}
	s.syncer.wanted.Set()
	s.announcer.wanted.Set()
	return changes
}

// startLeaders starts the leader tasks that have not been started.
func (s *Scheduler) startLeaders() {
	for _, l := range s.jobs.Load().leaders {
		if l.cancel == nil {
			ctx, cancel := context.WithCancelCause(s.leads)
			l.cancel = cancel
			s.ending.Add()
			go func() {
				defer s.ending.Remove()
				l.run(ctx)
			}()
		}
	}
}

// job returns a job that this replica serves.
func (s *jobSet) job(name string) *jobs.Job {
	if l := s.leading[name]; l != nil {
		return l.job
	}
	c := s.byName[name]
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Job
}

// working returns the names of jobs whose handlers run.
func (s *jobSet) working() []string {
	names := map[string]bool{}
	for _, c := range s.contenders {
		if c.working.Load() > 0 {
			names[c.Name] = true
		}
	}
	for _, l := range s.leaders {
		if l.leads.Load() {
			names[l.job.Name()] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// groupSets returns each set of groups that jobs of this replica name, sorted. The empty set, which
// every replica serves, comes first.
func (s *jobSet) groupSets() [][]string {
	sets := [][]string{nil}
	known := map[string]bool{"[]": true}
	add := func(groups []string) {
		groups = groupsOf(groups)
		if text := fmt.Sprint(groups); !known[text] {
			known[text] = true
			sets = append(sets, groups)
		}
	}
	s.each(func(c *contender) { add(c.Job.Spec().Groups) })
	for _, l := range s.leaders {
		add(l.job.Spec().Groups)
	}
	return sets
}

// JobStatus is this replica's knowledge of a job.
type JobStatus struct {
	Name      string
	Next      time.Time // the next tick that is not decided; zero when there is none, or before the store has answered
	Watermark time.Time // every tick up to it is decided; zero before the store has answered
	Leader    bool      // it is a leader task, which has no ticks
	Leads     bool      // and this replica runs it
	// Overdue is for how long a tick that neither runs nor is settled has been late, by the
	// schedule, the job's jitter and its misfire grace. It grows while the store is away and while
	// no replica has room. It is 0 if the next tick is paused or waits for one that runs, and for a
	// leader task.
	Overdue time.Duration
	// LastSuccess and LastFailure are when a tick was last settled as succeeded and as failed, by
	// fleet time, as far as this replica knows. The newer of the two is in the record.
	LastSuccess, LastFailure time.Time
	// FailingSince is since when attempts of a run by this replica fail, two in a row or more, of a
	// leader task too. It is zero once an attempt has run for 5 min and for two of the longest
	// waits of its retry policy.
	FailingSince time.Time
}

// Jobs returns the jobs that this replica contends for, sorted by name.
func (s *Scheduler) Jobs() []JobStatus {
	set := s.jobs.Load()
	list := make([]JobStatus, 0, len(set.contenders)+len(set.leaders))
	failing := s.failing.Since(s.clock.Now())
	reread := false
	for _, c := range set.contenders {
		status := JobStatus{Name: c.Name, FailingSince: failing[c.Name]}
		c.mu.Lock()
		status.LastSuccess, status.LastFailure = wire.FromMilli(c.Ended.Success), wire.FromMilli(c.Ended.Failure)
		reread = c.Refresh(s.clock.Ms()) || reread
		if next := c.Upcoming(s.clock.Ms()); next != 0 {
			status.Next = time.UnixMilli(next).UTC()
		}
		if watermark := c.Watermark(); watermark != 0 {
			status.Watermark = time.UnixMilli(watermark).UTC()
		}
		now, known := s.clock.Ms(), s.clock.MsAt(*c.KnownSince)
		if s.lookedAt.Load() == 0 { // the store has never said its time: this machine's has to do
			now, known = time.Now().UnixMilli(), c.KnownSince.UnixMilli()
		}
		status.Overdue = time.Duration(c.Overdue(now, known)) * time.Millisecond
		c.mu.Unlock()
		list = append(list, status)
	}
	if reread {
		s.syncer.wanted.Set()
	}
	for _, l := range set.leaders {
		name := l.job.Name()
		list = append(list, JobStatus{Name: name, Leader: true, Leads: l.leads.Load(), FailingSince: failing[name]})
	}
	slices.SortFunc(list, func(a, b JobStatus) int { return strings.Compare(a.Name, b.Name) })
	return list
}
