package solotest

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/solotick/solotick/internal/engine"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/scheduler"
	"github.com/solotick/solotick/solotest/internal/observed"
)

// TTL is the lease's TTL of every replica, unless an option of [Run] says otherwise.
const TTL = 3 * time.Second

const namespace = "test"

// Fleet is a number of replicas over one store. Its methods may be called by the test, and by code
// under test that a handler calls.
type Fleet struct {
	t        *testing.T
	shared   *memlease.Store
	server   *server
	people   *replica // those who pause, resume and trigger: their way to the store
	options  []scheduler.Option
	began    time.Time
	registry jobs.Registry
	runs     observed.Runs

	mu       sync.Mutex
	started  bool
	replicas []*replica // by their numbers
	faults   []Fault
}

type replica struct {
	id        string
	link      *link
	session   *engine.Session // over the link
	options   []scheduler.Option
	scheduler *scheduler.Scheduler // nil before the fleet is started
	left      bool                 // it was killed or stopped
}

// Execution is one run of a tick by one replica.
type Execution struct {
	jobs.Run

	Began   time.Time
	Ended   time.Time // zero while it runs, and of a replica that was killed
	Outcome lease.Outcome
	Lost    bool  // its lease was lost; another replica runs the tick
	Err     error // what the handler returned
}

// Run runs a test of n replicas, 1 to 100, in a testing/synctest bubble, which begins at midnight
// UTC of 2000-01-01. At its end it stops the replicas and waits for their handlers. Options are
// those of every replica.
func Run(t *testing.T, n int, test func(t *testing.T, f *Fleet), options ...scheduler.Option) {
	t.Helper()
	if n < 1 || n > 100 {
		t.Fatalf("solotest: replicas: %d must be from 1 to 100", n)
	}
	synctest.Test(t, func(t *testing.T) {
		shared, err := memlease.New(namespace)
		if err != nil {
			t.Fatal(err)
		}
		f := &Fleet{t: t, shared: shared, server: newServer(), options: options, began: time.Now()}
		f.people = f.connect(0)
		for range n {
			f.add(nil)
		}
		defer f.stop()
		test(t, f)
	})
}

// connect makes a replica with a way of its own to the store.
func (f *Fleet) connect(n int) *replica {
	f.t.Helper()
	l := newLink(f.server, f.shared.Memory(), uint64(n))
	s, err := engine.NewSession(l, namespace, engine.Options{})
	if err != nil {
		f.t.Fatal(err)
	}
	return &replica{id: fmt.Sprintf("r%d", n), link: l, session: s}
}

// Func adds a job to all replicas; see jobs.New. A fault of it ends the test.
func (f *Fleet) Func(name, schedule string, handler jobs.Handler, options ...jobs.Option) {
	f.t.Helper()
	job, err := jobs.New(name, schedule, handler, options...)
	if err != nil {
		f.t.Fatal(err)
	}
	f.Job(job)
}

// Job adds jobs to all replicas. A fault of one ends the test.
func (f *Fleet) Job(list ...*jobs.Job) {
	f.t.Helper()
	if err := f.registry.Add(list...); err != nil {
		f.t.Fatal(err)
	}
	f.update()
}

// Redefine gives a job another definition on all replicas, as a reload does.
func (f *Fleet) Redefine(job *jobs.Job) {
	f.registry.Set(job)
	f.begin(Fault{Kind: "edit", Job: job.Name()}, true)
	f.update()
}

func (f *Fleet) update() {
	for _, r := range f.alive() {
		if s := f.schedulerOf(r); s != nil {
			s.Update(&f.registry)
		}
	}
}

// alive returns the replicas that were neither killed nor stopped.
func (f *Fleet) alive() []*replica {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(f.replicas), func(r *replica) bool { return r.left })
}

// Advance lets d pass; the first one starts the replicas.
func (f *Fleet) Advance(d time.Duration) {
	f.t.Helper()
	f.start()
	time.Sleep(d)
	synctest.Wait()
}

// Start adds a replica, and starts it if others have been started. Options are its own, after those
// of every replica. It returns its name.
func (f *Fleet) Start(options ...scheduler.Option) (replica string) {
	f.t.Helper()
	return f.add(options).id
}

func (f *Fleet) add(options []scheduler.Option) *replica {
	f.t.Helper()
	f.mu.Lock()
	r, started := f.connect(len(f.replicas)+1), f.started
	r.options = options
	f.replicas = append(f.replicas, r)
	f.mu.Unlock()
	if started {
		f.run(r)
	}
	return r
}

func (f *Fleet) start() {
	f.t.Helper()
	f.mu.Lock()
	started := f.started
	f.started = true
	f.mu.Unlock()
	if started {
		return
	}
	for _, r := range f.alive() {
		f.run(r)
	}
}

func (f *Fleet) run(r *replica) {
	f.t.Helper()
	own := []scheduler.Option{
		scheduler.WithReplica(r.id), scheduler.WithTTL(TTL),
		scheduler.WithSyncObserver(func(e scheduler.Event) { f.observe(r, e) }),
		scheduler.WithObserver(scheduler.LogEvents(slog.New(slog.NewTextHandler(f.t.Output(), nil)).With("on", r.id))),
	}
	s, err := scheduler.New(r.session, &f.registry, slices.Concat(own, f.options, r.options)...)
	if err == nil {
		err = s.Start()
	}
	if err != nil {
		f.t.Fatal(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	r.scheduler = s
}

func (f *Fleet) stop() {
	f.StartStore()
	var all sync.WaitGroup
	for _, r := range f.replicas {
		r.link.goOn()
		s := f.schedulerOf(r)
		if s == nil {
			continue
		}
		all.Go(func() {
			if err := s.Shutdown(context.Background()); err != nil {
				f.t.Errorf("solotest: %s: %v", r.id, err)
			}
		})
	}
	all.Wait()
}

func (f *Fleet) schedulerOf(r *replica) *scheduler.Scheduler {
	f.mu.Lock()
	defer f.mu.Unlock()
	return r.scheduler
}

// Now is fleet time: that of the store's clock.
func (f *Fleet) Now() time.Time {
	now, _, _ := f.shared.Memory().Time(context.Background())
	return now
}

// Began is when the bubble began.
func (f *Fleet) Began() time.Time { return f.began.UTC() }

// Store is the fleet's store, by a way without faults.
func (f *Fleet) Store() lease.Store { return f.shared }

// Runs returns the runs of a job so far, in the order in which they began: those of all its keys, or with
// JOB/KEY of one.
func (f *Fleet) Runs(job string) (runs []Execution) {
	for _, e := range f.runs.Job(job) {
		runs = append(runs, Execution(e))
	}
	return runs
}

// observe keeps how runs begin and end. What a killed replica does is not seen by anybody.
func (f *Fleet) observe(r *replica, e scheduler.Event) {
	if !r.link.isKilled() {
		f.runs.Observe(e)
	}
}

// AssertOnce fails the test unless every tick of the job from one time to another, both included,
// was settled as succeeded, by one run each. The job may be JOB/KEY: a schedule as it is now.
func (f *Fleet) AssertOnce(job string, from, to time.Time) {
	f.t.Helper()
	for _, fault := range f.notOnce(job, from, to) {
		f.t.Error(fault)
	}
}

func (f *Fleet) notOnce(job string, from, to time.Time) (faults []string) {
	defined, ok := f.defined(job)
	if !ok {
		return []string{fmt.Sprintf("solotest: job %q was not added", job)}
	}
	ticks := observed.Ticks(defined.Schedule(), from, to)
	if len(ticks) == 0 {
		return []string{fmt.Sprintf("solotest: %s: there is no tick from %s to %s", job, from, to)}
	}
	return f.runs.NotOnce(f.t.Context(), f.shared, job, ticks)
}
