// Package solocron has the surface of github.com/robfig/cron/v3, and runs each tick on one replica
// of a fleet.
//
//	c := solocron.New(client, "billing", solocron.WithSeconds())
//	c.AddFunc("invoices", "0 0 2 * * *", invoices)
//	c.Start()
//	defer c.Stop()
//
// A program that moves changes this. Each job has a name, which is its name in the fleet, and New
// takes the Redis client and the namespace that the replicas share. Otherwise:
//
//   - A job does not overlap with itself, on any replica. jobs.WithOverlap allows that again.
//   - Ticks that came due while no replica lived are caught up: the newest one, if it is not older
//     than an hour. jobs.WithMisfire and jobs.WithCatchUp say otherwise.
//   - @every is aligned to the Unix epoch, not to the start of the process.
//   - The default time zone is UTC, not that of the machine: replicas must agree.
//   - Panics are failures with a stack, with and without the chain of WithChain.
//   - At a clock change, a job at a fixed time runs once: see package jobs/schedule.
//   - A func() cannot be stopped. When its lease is lost, or the replica stops, it goes on:
//     AddHandler adds a function that is given a context and a fencing token.
package solocron

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/robfig/cron/v3"

	"github.com/solotick/solotick"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease"
)

// These types are robfig/cron's own, so that a program needs one import.
type (
	// EntryID is the number of a job in one process.
	EntryID = cron.EntryID
	// Entry is a job in this process, with its next tick.
	Entry = cron.Entry
	// Job has a Run method.
	Job = cron.Job
	// FuncJob is a func() as a Job.
	FuncJob = cron.FuncJob
	// Schedule has the next tick after a time.
	Schedule = cron.Schedule
	// JobWrapper wraps a Job: see WithChain.
	JobWrapper = cron.JobWrapper
)

// Cron is a scheduler of named jobs. It is safe for concurrent use, and can be started once.
type Cron struct {
	scheduler *solotick.Scheduler
	settings  settings
	err       error // of New's arguments

	mu      sync.Mutex
	last    EntryID
	entries map[EntryID]*entry
}

type entry struct {
	name string
	Entry
}

type settings struct {
	seconds  bool
	location *time.Location
	chain    cron.Chain
	options  []solotick.Option
}

// Option changes a default of [New].
type Option func(*settings)

// WithSeconds makes the field of seconds required. Without it, a schedule may have five fields or
// six, the first of which is seconds.
func WithSeconds() Option { return func(s *settings) { s.seconds = true } }

// WithLocation sets the time zone of schedules that name none. It must have a name that every
// replica knows: time.Local has none. The default is UTC.
func WithLocation(location *time.Location) Option { return func(s *settings) { s.location = location } }

// WithChain wraps each func and Job, the first wrapper outermost. What a wrapper knows is known in
// this process only; the policies of package jobs hold for the fleet.
func WithChain(wrappers ...JobWrapper) Option {
	return func(s *settings) { s.chain = cron.NewChain(wrappers...) }
}

// WithOptions passes options to package solotick: the logger, the scheduler, the store.
func WithOptions(options ...solotick.Option) Option {
	return func(s *settings) { s.options = append(s.options, options...) }
}

// New makes a replica of the fleet that the namespace names, in the Redis of client. Faults of the
// arguments are returned by Start and Run; those of options of this package by each AddFunc, too.
func New(client redis.UniversalClient, namespace string, options ...Option) *Cron {
	set, err := apply(options)
	return newCron(solotick.New(client, namespace, set.options...), set, err)
}

// On is [New] on any store, such as memory in tests.
func On(store lease.Store, options ...Option) *Cron {
	set, err := apply(options)
	return newCron(solotick.On(store, set.options...), set, err)
}

func apply(options []Option) (set settings, err error) {
	set.location = time.UTC
	for i, option := range options {
		if option == nil {
			err = errors.Join(err, fmt.Errorf("solocron: options[%d]: nil must be an option", i))
			continue
		}
		option(&set)
	}
	if set.location == nil || set.location == time.Local {
		err = errors.Join(err, fmt.Errorf("solocron: location: %q must be a time zone that all replicas know by its name, such as Europe/Berlin", fmt.Sprint(set.location)))
		set.location = time.UTC
	}
	return set, err
}

func newCron(s *solotick.Scheduler, set settings, err error) *Cron {
	return &Cron{scheduler: s, settings: set, err: err, entries: map[EntryID]*entry{}}
}

// AddFunc adds a function that is called at each tick of the schedule, on one replica. The name is
// the job's on all replicas; policies are options of package jobs. The schedule may begin with
// CRON_TZ= or TZ= and a time zone. Jobs can be added before the start and after.
func (c *Cron) AddFunc(name, spec string, cmd func(), options ...jobs.Option) (EntryID, error) {
	if cmd == nil {
		return c.add(name, spec, nil, nil, options)
	}
	return c.AddJob(name, spec, FuncJob(cmd), options...)
}

// AddJob adds a Job as AddFunc adds a function.
func (c *Cron) AddJob(name, spec string, cmd Job, options ...jobs.Option) (EntryID, error) {
	if cmd == nil {
		return c.add(name, spec, nil, nil, options)
	}
	wrapped := c.settings.chain.Then(cmd)
	handler := func(context.Context, jobs.Run) error {
		wrapped.Run()
		return nil
	}
	return c.add(name, spec, handler, &Entry{WrappedJob: wrapped, Job: cmd}, options)
}

// AddHandler adds a function whose context ends when the lease is lost or the replica stops, and
// which can fail. The chain does not wrap it.
func (c *Cron) AddHandler(name, spec string, handler jobs.Handler, options ...jobs.Option) (EntryID, error) {
	return c.add(name, spec, handler, new(Entry), options)
}

// Schedule adds a Job with a schedule that cron.ParseStandard or cron.Every has made. Replicas must
// agree on a schedule by its text, so others are refused.
func (c *Cron) Schedule(name string, schedule Schedule, cmd Job, options ...jobs.Option) (EntryID, error) {
	spec, err := specOf(schedule)
	if err != nil {
		return 0, errors.Join(c.err, fmt.Errorf("solocron: job %q: %w", name, err))
	}
	return c.AddJob(name, spec, cmd, options...)
}

func (c *Cron) add(name, spec string, handler jobs.Handler, e *Entry, options []jobs.Option) (EntryID, error) {
	zone, rest, err := c.zoneOf(spec)
	job, jobErr := jobs.New(name, rest, handler, append([]jobs.Option{jobs.WithTimezone(zone)}, options...)...)
	if err := errors.Join(c.err, err, jobErr); err != nil {
		return 0, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.scheduler.Job(job); err != nil {
		return 0, err
	}
	c.last++
	e.ID, e.Schedule = c.last, job.Schedule()
	c.entries[c.last] = &entry{name: name, Entry: *e}
	return c.last, nil
}

// zoneOf takes the time zone off a schedule's beginning.
func (c *Cron) zoneOf(spec string) (zone, rest string, err error) {
	zone, rest = c.settings.location.String(), strings.TrimSpace(spec)
	for _, prefix := range []string{"CRON_TZ=", "TZ="} {
		if after, ok := strings.CutPrefix(rest, prefix); ok {
			zone, rest, _ = strings.Cut(after, " ")
			rest = strings.TrimSpace(rest)
			break
		}
	}
	if fields := len(strings.Fields(rest)); c.settings.seconds && !strings.HasPrefix(rest, "@") && fields != 6 {
		err = fmt.Errorf("solocron: schedule: %q has %d fields, and must have six, seconds first: see WithSeconds", spec, fields)
	}
	return zone, rest, err
}

// Entries returns the jobs of this replica, the next one due first.
func (c *Cron) Entries() []Entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	list := make([]Entry, 0, len(c.entries))
	for _, e := range c.entries {
		list = append(list, at(e.Entry, now))
	}
	slices.SortFunc(list, func(a, b Entry) int {
		switch {
		case a.Next.IsZero() != b.Next.IsZero() && a.Next.IsZero():
			return 1
		case a.Next.IsZero() != b.Next.IsZero():
			return -1
		}
		return a.Next.Compare(b.Next)
	})
	return list
}

// Entry returns the job with that id; it is not Valid if there is none. Prev is always zero: which
// replica ran a tick is what package fleet knows.
func (c *Cron) Entry(id EntryID) Entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.entries[id]; ok {
		return at(e.Entry, time.Now())
	}
	return Entry{}
}

func at(e Entry, now time.Time) Entry {
	e.Next = e.Schedule.Next(now)
	return e
}

// Remove removes a job from this replica. Replicas that still have it go on with it.
func (c *Cron) Remove(id EntryID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.entries[id]; ok {
		delete(c.entries, id)
		c.scheduler.Remove(e.name)
	}
}

// Location returns the time zone of schedules that name none.
func (c *Cron) Location() *time.Location { return c.settings.location }

// Start starts the scheduler and returns at once. The error is that of New's arguments, or says
// that it was started before.
func (c *Cron) Start() error {
	if c.err != nil {
		return c.err
	}
	return c.scheduler.Start()
}

// Run starts the scheduler and returns when it is stopped.
func (c *Cron) Run() error {
	if c.err != nil {
		return c.err
	}
	return c.scheduler.Run(context.Background())
}

// Stop claims no more ticks. The context that it returns ends when the runs have ended: at most the
// shutdown grace of package scheduler, and 10 s, later. Ticks that have not begun are run by
// another replica.
func (c *Cron) Stop() context.Context {
	ctx, ended := context.WithCancel(context.Background())
	go func() {
		defer ended()
		_ = c.scheduler.Shutdown(context.Background()) // it is logged which handlers go on
	}()
	return ctx
}

// Scheduler is what c is made of: locks, triggers, and the fleet.
func (c *Cron) Scheduler() *solotick.Scheduler { return c.scheduler }
