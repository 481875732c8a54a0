// Package solotick runs a service's cron jobs on all of its replicas, so that each tick takes
// effect once.
//
//	func main() {
//		client := redis.NewClient(&redis.Options{Addr: "localhost:6379"})
//		s := solotick.New(client, "billing")
//		_ = s.Func("nightly-report", "0 2 * * *", func(ctx context.Context, run solotick.Run) error {
//			return makeReport(ctx, run.Tick, run.Token) // ctx ends when the lease is lost
//		}) // Run returns the error of a wrong schedule, too
//		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
//		defer stop()
//		if err := s.Run(ctx); err != nil {
//			log.Fatal(err)
//		}
//	}
//
// Every replica runs the same program. It only ties other packages together, and each can be used
// without it. Package jobs has the definition of a job and its policies, and scheduler runs jobs
// and has the promises. Package fleet shows and controls them, lock has locks, limit has rate
// limits, and lease/redislease is the store. Package console, which this one does not import,
// serves all of it as web pages.
package solotick

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/redislease"
	"github.com/solotick/solotick/limit"
	"github.com/solotick/solotick/lock"
	"github.com/solotick/solotick/scheduler"
	"github.com/solotick/solotick/schedules"
)

// Schedule makes ticks of a job for a key, in the store: see [Scheduler.Schedules].
type Schedule = schedules.Schedule

// Run says which tick a handler is called for, under which token, and at which attempt.
type Run = jobs.Run

// Handler does a job's work. Its context ends when the lease is lost: see [jobs.Handler].
type Handler = jobs.Handler

// Scheduler runs jobs as one replica of a fleet. Make one with [New] or [On]; it is safe for
// concurrent use, and can be started once.
type Scheduler struct {
	store   lease.Store
	close   func() error // of the store, when New has made it
	options []scheduler.Option
	locks   *lock.Locks
	fleet   *fleet.Fleet

	mu       sync.Mutex
	registry jobs.Registry
	faults   []error              // of arguments, and of jobs that came before the start
	inner    *scheduler.Scheduler // nil before the start
	stopped  bool
	once     sync.Once
	closed   error // valid after once
	logger   *slog.Logger
}

// Option changes a default of [New] or [On].
type Option func(*settings)

type settings struct {
	logger *slog.Logger
	inner  []scheduler.Option
	redis  []redislease.Option
}

// WithLogger sets what failures, losses, skipped ticks and runs are logged to. The default is
// slog.Default().
func WithLogger(logger *slog.Logger) Option { return func(s *settings) { s.logger = logger } }

// WithScheduler passes options to the scheduler: the replica's id, the lease's TTL, groups, the
// runs at a time, observers.
func WithScheduler(options ...scheduler.Option) Option {
	return func(s *settings) { s.inner = append(s.inner, options...) }
}

// WithRedis passes options to the store that [New] makes. [On] refuses it.
func WithRedis(options ...redislease.Option) Option {
	return func(s *settings) { s.redis = append(s.redis, options...) }
}

// New makes a replica of the fleet that the namespace names, in the Redis of client: a single
// server, Sentinel or a Cluster. Services that share a Redis need a namespace each. It calls
// nothing and starts nothing. The client stays the caller's, and is not called: the store makes
// itself a small one with the same settings, so that a busy pool delays no renewal. Hooks of the
// caller's client see nothing; redislease.WithHook adds them. It needs a real Redis: miniredis does
// not know the scripts.
//
// Faults of the arguments, and of jobs that are added before the start, are returned by Start and
// Run, all at once.
func New(client redis.UniversalClient, namespace string, options ...Option) *Scheduler {
	set, faults := apply(options)
	store, err := redislease.New(client, namespace, set.redis...)
	if err != nil {
		return with(nil, nil, set, append(faults, err))
	}
	return with(store, store.Close, set, faults)
}

// On is [New] on any store: a quorum of servers, or memory, which is for tests and for a service
// of one process. The store stays the caller's.
func On(store lease.Store, options ...Option) *Scheduler {
	set, faults := apply(options)
	if len(set.redis) > 0 {
		faults = append(faults, errors.New("solotick: On: WithRedis must be left out: the store is made already"))
	}
	return with(store, nil, set, faults)
}

func apply(options []Option) (set settings, faults []error) {
	for i, option := range options {
		if option == nil {
			faults = append(faults, fmt.Errorf("solotick: options[%d]: nil must be an option", i))
			continue
		}
		option(&set)
	}
	return set, faults
}

func with(store lease.Store, closeStore func() error, set settings, faults []error) *Scheduler {
	s := &Scheduler{store: store, close: closeStore, faults: faults, locks: lock.New(store), logger: cmp.Or(set.logger, slog.Default())}
	logs := scheduler.WithObserver(scheduler.LogEvents(set.logger))
	s.options = append([]scheduler.Option{logs}, set.inner...)
	if store != nil {
		var err error
		if s.fleet, err = fleet.New(store); err != nil {
			s.faults = append(s.faults, err)
		}
	}
	return s
}

// Func adds a job that calls f at each tick of the schedule, on one replica. The schedule has five
// fields as in cron, six with leading seconds, @hourly and the like, or @every 90s. The name is the
// job's on all replicas, and in the store. Policies are options of package jobs.
//
// Before the start the error may be ignored: Start and Run return it, too.
func (s *Scheduler) Func(name, schedule string, f Handler, options ...jobs.Option) error {
	job, err := jobs.New(name, schedule, f, options...)
	if err != nil {
		return s.refuse(err)
	}
	return s.Job(job)
}

// Job adds jobs, all or none of them; while the scheduler runs, too. A name that is taken is an
// error: see [Scheduler.Replace]. As for Func, the error may be ignored before the start.
func (s *Scheduler) Job(list ...*jobs.Job) error {
	if err := s.registry.Add(list...); err != nil {
		return s.refuse(err)
	}
	s.update()
	return nil
}

// Replace adds jobs, each in place of the one that has its name. A run goes on with the handler
// that it began with; the next one calls the new handler.
func (s *Scheduler) Replace(list ...*jobs.Job) {
	s.registry.Set(list...)
	s.update()
}

// Remove removes the job of that name from this replica, and reports whether there was one. A run
// of it that is under way goes on, and is settled; a leader task is cancelled. Replicas that still
// have the job go on with it.
func (s *Scheduler) Remove(name string) (removed bool) {
	if removed = s.registry.Remove(name); removed {
		s.update()
	}
	return removed
}

func (s *Scheduler) refuse(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inner == nil {
		s.faults = append(s.faults, err)
	}
	return err
}

func (s *Scheduler) update() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inner != nil {
		s.inner.Update(&s.registry)
	}
}

// Start starts the scheduler and returns at once, also when Redis does not answer yet: see
// [Scheduler.WaitReady]. The error joins all faults of arguments and jobs. Stop it with
// [Scheduler.Shutdown].
func (s *Scheduler) Start() error {
	inner, err := s.begin("Start")
	if err != nil {
		return err
	}
	err = inner.Start()
	if err == nil {
		s.warnOfSettings(inner)
	}
	return err
}

// Run runs jobs until ctx ends or Shutdown is called. Then it claims nothing more, lets runs
// finish within the shutdown grace, and closes the locks and the store. The error joins all
// faults of arguments and jobs, or names handlers that ignored their context.
func (s *Scheduler) Run(ctx context.Context) error {
	if ctx == nil {
		return errors.New("solotick: Run: ctx: nil must be a context")
	}
	inner, err := s.begin("Run")
	if err != nil {
		return err
	}
	s.warnOfSettings(inner)
	return errors.Join(inner.Run(ctx), s.end())
}

// warnOfSettings logs, once the store answers, which settings of its server endanger the fleet.
func (s *Scheduler) warnOfSettings(inner *scheduler.Scheduler) {
	go func() {
		if inner.WaitReady(context.Background()) != nil {
			return // it stops
		}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		for _, w := range s.store.Warnings(ctx) {
			s.logger.Warn("the store is not as it should be", slog.String("check", w.Check), slog.String("finding", w.Text), slog.String("change", w.Change))
		}
	}()
}

func (s *Scheduler) begin(method string) (*scheduler.Scheduler, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.inner != nil:
		return nil, fmt.Errorf("solotick: %s: it was started before; make another Scheduler", method)
	case s.stopped:
		return nil, fmt.Errorf("solotick: %s: Shutdown was called before; make another Scheduler", method)
	}
	inner, err := scheduler.New(s.store, &s.registry, s.options...)
	if err := errors.Join(errors.Join(s.faults...), err); err != nil {
		return nil, err
	}
	s.inner = inner
	return inner, nil
}

// WaitReady waits until the store has answered and has a record of every job. The error is what
// the store answered last, and what to change. Before the start it is an error.
func (s *Scheduler) WaitReady(ctx context.Context) error {
	inner := s.running()
	if inner == nil {
		return errors.New("solotick: WaitReady: call Start before")
	}
	return inner.WaitReady(ctx)
}

// Ready reports whether the store answers and takes writes, and the schedule runs: for a readiness check.
func (s *Scheduler) Ready() bool {
	inner := s.running()
	return inner != nil && inner.Ready()
}

func (s *Scheduler) running() *scheduler.Scheduler {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inner
}

// Shutdown claims nothing more, lets runs finish, cancels the others in time before ctx ends, and
// gives up their ticks, so that another replica runs them. Then it closes the locks and the store;
// where handlers ignore their context, once the replica has let go of them. It may be called before
// the start, and again.
func (s *Scheduler) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	inner := s.inner
	s.stopped = true
	s.mu.Unlock()
	if inner == nil {
		return s.end()
	}
	err := inner.Shutdown(ctx)
	if err == nil {
		return s.end()
	}
	select {
	case <-inner.Done():
		return errors.Join(err, s.end())
	default: // a handler ignores its context: its lease is renewed until the replica lets go of it
		go func() { <-inner.Done(); _ = s.end() }()
		return err
	}
}

// end closes what New has made, once.
func (s *Scheduler) end() error {
	s.once.Do(func() {
		s.locks.Close()
		if s.close != nil {
			s.closed = s.close()
		}
	})
	return s.closed
}

// TriggerOption adds something to a trigger.
type TriggerOption func(*fleet.TriggerOptions)

// WithPayload gives the run a text, as Run.Payload: see [jobs.Payload].
func WithPayload(text string) TriggerOption {
	return func(o *fleet.TriggerOptions) { o.Payload = jobs.Payload(text) }
}

// WithKey makes triggers with the same key within the window one: the first runs the job, the
// others get its tick. A window of 0 means 24 h.
func WithKey(key string, window time.Duration) TriggerOption {
	return func(o *fleet.TriggerOptions) { o.Key, o.Window = key, window }
}

// Trigger asks the fleet to run the job once, now, on one replica. by says who asks, and matches
// the pattern of a name. It returns before the run has started: Fleet().Await waits for its end.
// More is to be had of Fleet().Trigger.
func (s *Scheduler) Trigger(ctx context.Context, name, by string, options ...TriggerOption) (fleet.Triggered, error) {
	f, err := s.Fleet()
	if err != nil {
		return fleet.Triggered{}, err
	}
	o := fleet.TriggerOptions{By: by}
	for i, option := range options {
		if option == nil {
			return fleet.Triggered{}, fmt.Errorf("solotick: options[%d]: nil must be an option", i)
		}
		option(&o)
	}
	return f.Trigger(ctx, name, o)
}

// Fleet shows and controls the jobs of all replicas. The error is that of New's arguments.
func (s *Scheduler) Fleet() (*fleet.Fleet, error) {
	if s.fleet == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		return nil, errors.Join(errors.New("solotick: there is no store"), errors.Join(s.faults...))
	}
	return s.fleet, nil
}

// Schedules creates, edits and deletes the schedules of a job that has [jobs.WithSchedules]: one for
// each key, such as a customer. The job is one of this replica, or else one that other replicas
// have. Call it again after the job was replaced.
func (s *Scheduler) Schedules(job string) (*schedules.Schedules, error) {
	if _, err := s.Fleet(); err != nil {
		return nil, err
	}
	if j, ok := s.registry.Get(job); ok {
		return schedules.Of(s.store, j)
	}
	return schedules.New(s.store, job)
}

// Locks makes locks that the whole fleet shares: mutexes, semaphores, read-write locks. They are
// closed by Shutdown, and at the end of Run.
func (s *Scheduler) Locks() *lock.Locks { return s.locks }

// Limits makes limits that the whole fleet shares: how often something may happen.
func (s *Scheduler) Limits() *limit.Limits { return limit.New(s.store) }

// Store is what package console, elections and leases of your own need. It is nil when New could
// not make one, for the reason that Start returns.
func (s *Scheduler) Store() lease.Store { return s.store }
