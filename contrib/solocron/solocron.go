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
//   - Of the ticks that came due while no replica lived, those up to 10 s late run, and of older ones
//     the newest, if it is not older than an hour. jobs.WithMisfire and jobs.WithCatchUp say
//     otherwise.
//   - @every is aligned to the Unix epoch, not to the start of the process.
//   - The default time zone is UTC, not that of the machine: replicas must agree.
//   - Panics are failures with a stack, with and without the chain of WithChain.
//   - At a clock change, a job at a fixed time runs once: see package jobs/schedule.
//   - A job whose day never comes, such as 30 February, never runs as there, and can be triggered.
//   - A func() cannot be stopped. When its lease is lost, or the replica stops, it goes on:
//     AddHandler adds a function that is given a context and a fencing token.
package solocron

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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
	// Logger is what robfig/cron logs to: see WithLogger.
	Logger = cron.Logger
)

// Cron is a scheduler of named jobs. It is safe for concurrent use, and can be started again after
// Stop.
type Cron struct {
	fresh    func() *solotick.Scheduler // one that has no jobs
	settings settings
	err      error // of New's arguments

	mu        sync.Mutex
	scheduler *solotick.Scheduler // nil after Stop, until it is needed
	running   bool
	ended     context.Context // of the last Stop; nil before
	last      EntryID
	entries   map[EntryID]*entry
}

type entry struct {
	job *jobs.Job
	Entry
}

type settings struct {
	seconds  bool
	location *time.Location
	chain    cron.Chain
	logger   Logger // that of WithLogger, or one that discards
	logged   bool   // by that of WithLogger
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
// arguments are returned by each AddFunc, and by Start and Run. These log them as an error, too, for
// a program that ignores what robfig's Start does not return.
func New(client redis.UniversalClient, namespace string, options ...Option) *Cron {
	set, err := apply(options)
	return newCron(func() *solotick.Scheduler { return solotick.New(client, namespace, set.options...) }, set, err)
}

// On is [New] on any store, such as memory in tests.
func On(store lease.Store, options ...Option) *Cron {
	set, err := apply(options)
	return newCron(func() *solotick.Scheduler { return solotick.On(store, set.options...) }, set, err)
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
		given := "nil" // which calls itself UTC
		if set.location != nil {
			given = set.location.String()
		}
		err = errors.Join(err, fmt.Errorf("solocron: location: %q must be a time zone that all replicas know by its name, such as Europe/Berlin", given))
		set.location = time.UTC
	}
	if set.logged = set.logger != nil; set.logged {
		set.options = append(set.options, solotick.WithLogger(slog.New(handler{logger: set.logger})))
	} else {
		set.logger = cron.DiscardLogger
	}
	return set, err
}

func newCron(fresh func() *solotick.Scheduler, set settings, err error) *Cron {
	s := fresh()
	if _, missing := s.Fleet(); missing != nil {
		err = errors.Join(err, missing)
	}
	return &Cron{fresh: fresh, scheduler: s, settings: set, err: err, entries: map[EntryID]*entry{}}
}

// schedulerLocked returns the scheduler that runs, or that the next Start starts.
func (c *Cron) schedulerLocked() *solotick.Scheduler {
	if c.scheduler == nil {
		c.scheduler = c.fresh()
		for _, e := range c.entries {
			c.scheduler.Replace(e.job)
		}
	}
	return c.scheduler
}

// AddFunc adds a function that is called at each tick of the schedule, on one replica. The name is
// the job's on all replicas; policies are options of package jobs. The schedule may begin with
// CRON_TZ= or TZ= and a time zone. Jobs can be added before the start and after; those that are
// added after Stop run from the next start on.
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
	handler := func(_ context.Context, run jobs.Run) error {
		c.settings.logger.Info("run", "now", time.Now().In(c.settings.location), "entry", name, "tick", run.Tick)
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
	if neverFires(rest) {
		rest = "@at 1970-01-01T00:00:00Z"
	}
	job, jobErr := jobs.New(name, rest, handler, append([]jobs.Option{jobs.WithTimezone(zone)}, options...)...)
	if err := errors.Join(c.err, err, jobErr); err != nil {
		return 0, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.schedulerLocked().Job(job); err != nil {
		return 0, err
	}
	c.last++
	e.ID, e.Schedule = c.last, zoned{job.Schedule()}
	c.entries[c.last] = &entry{job: job, Entry: *e}
	c.settings.logger.Info("added", "now", time.Now().In(c.settings.location), "entry", name, "next", c.at(*e).Next)
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
	list := make([]Entry, 0, len(c.entries))
	for _, e := range c.entries {
		list = append(list, c.at(e.Entry))
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
		return c.at(e.Entry)
	}
	return Entry{}
}

// at returns the entry with its next tick, in the time zone of c as robfig has it.
func (c *Cron) at(e Entry) Entry {
	e.Next = e.Schedule.Next(time.Now().In(c.settings.location))
	return e
}

// Remove removes a job from this replica. Other replicas that have the job keep running it.
func (c *Cron) Remove(id EntryID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.entries[id]; ok {
		delete(c.entries, id)
		c.schedulerLocked().Remove(e.job.Name())
		c.settings.logger.Info("removed", "entry", e.job.Name())
	}
}

// Location returns the time zone of schedules that name none.
func (c *Cron) Location() *time.Location { return c.settings.location }

// Start starts the scheduler and returns at once. It does nothing when c runs already. The error,
// which is logged too, is that of New's arguments, and says which names are taken twice.
func (c *Cron) Start() error {
	s, err := c.begin()
	if s != nil {
		err = s.Start()
	}
	return c.report(s, err)
}

// Run starts the scheduler and returns when it is stopped, or at once when c runs already. The
// error is as that of Start.
func (c *Cron) Run() error {
	s, err := c.begin()
	if s != nil {
		err = s.Run(context.Background())
	}
	return c.report(s, err)
}

// begin returns the scheduler that is to be started; nil when c runs already, or cannot.
func (c *Cron) begin() (*solotick.Scheduler, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil || c.running {
		return nil, c.err
	}
	c.running = true
	c.settings.logger.Info("start")
	for _, e := range c.entries {
		c.settings.logger.Info("schedule", "entry", e.job.Name(), "next", c.at(e.Entry).Next)
	}
	return c.schedulerLocked(), nil
}

// report logs what a program that knows robfig's Start does not look at.
func (c *Cron) report(s *solotick.Scheduler, err error) error {
	if err == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if s == c.scheduler {
		c.running = false
	}
	const message = "the cron does not run"
	if c.settings.logged {
		c.settings.logger.Error(err, message)
	} else {
		slog.Error(message, "error", err) //nolint:sloglint // as all of package solotick without a logger
	}
	return err
}

// leaving is how long Stop waits for a cron to leave its fleet: some round trips.
const leaving = 100 * time.Millisecond

// Stop claims no more ticks. The context that it returns ends when the runs have ended and the other
// replicas know that this one has left: at most the shutdown grace of package scheduler, and 10 s,
// later. Stop itself waits up to 100 ms for that, so that the context has ended when nothing ran, as
// robfig's has. Ticks that have not begun are run by another replica. Start starts c again.
func (c *Cron) Stop() context.Context {
	ctx := c.stop()
	select {
	case <-ctx.Done():
	case <-time.After(leaving):
	}
	return ctx
}

func (c *Cron) stop() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.scheduler
	if s == nil {
		return c.ended
	}
	c.scheduler, c.running = nil, false
	c.settings.logger.Info("stop")
	ctx, ended := context.WithCancel(context.Background())
	c.ended = ctx
	go func() {
		defer ended()
		_ = s.Shutdown(context.Background()) // it is logged which handlers go on
	}()
	return ctx
}

// Scheduler is what c is made of: locks, triggers, and the fleet. After Stop it is another one,
// which the next Start starts.
func (c *Cron) Scheduler() *solotick.Scheduler {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.schedulerLocked()
}
