package solotest

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/driver"
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
	memory   *driver.Memory
	options  []scheduler.Option
	began    time.Time
	registry jobs.Registry
	replicas map[string]*replica
	order    []*replica

	started bool
	runs    observed.Runs
}

type replica struct {
	id        string
	link      *link
	scheduler *scheduler.Scheduler
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
		f := &Fleet{t: t, memory: new(driver.Memory), options: options, began: time.Now(), replicas: map[string]*replica{}}
		for i := range n {
			r := &replica{id: fmt.Sprintf("r%d", i+1), link: &link{store: f.memory}}
			f.replicas[r.id], f.order = r, append(f.order, r)
		}
		defer f.stop()
		test(t, f)
	})
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
	if f.started {
		for _, r := range f.order {
			r.scheduler.Update(&f.registry)
		}
	}
}

// Advance lets d pass; the first one starts the replicas.
func (f *Fleet) Advance(d time.Duration) {
	f.t.Helper()
	f.start()
	time.Sleep(d)
	synctest.Wait()
}

func (f *Fleet) start() {
	f.t.Helper()
	if f.started {
		return
	}
	f.started = true
	for _, r := range f.order {
		session, err := driver.NewSession(r.link, namespace)
		if err != nil {
			f.t.Fatal(err)
		}
		own := []scheduler.Option{
			scheduler.WithReplica(r.id), scheduler.WithTTL(TTL),
			scheduler.WithSyncObserver(func(e scheduler.Event) { f.observe(r, e) }),
			scheduler.WithObserver(scheduler.LogEvents(slog.New(slog.NewTextHandler(f.t.Output(), nil)).With("on", r.id))),
		}
		if r.scheduler, err = scheduler.New(session, &f.registry, append(own, f.options...)...); err != nil {
			f.t.Fatal(err)
		}
		if err := r.scheduler.Start(); err != nil {
			f.t.Fatal(err)
		}
	}
}

func (f *Fleet) stop() {
	for _, r := range f.order {
		f.goOn(r)
	}
	var all sync.WaitGroup
	for _, r := range f.order {
		if r.scheduler == nil {
			continue
		}
		all.Go(func() {
			if err := r.scheduler.Shutdown(context.Background()); err != nil {
				f.t.Errorf("solotest: %s: %v", r.id, err)
			}
		})
	}
	all.Wait()
}

// Now is fleet time, as long as the store's clock was not stepped.
func (f *Fleet) Now() time.Time { return time.Now().UTC() }

// Began is when the bubble began.
func (f *Fleet) Began() time.Time { return f.began.UTC() }

// Cut makes every call of a replica to the store fail, until Heal.
func (f *Fleet) Cut(replica string) { l := f.link(replica); l.set(func() { l.cut = true }) }

// LoseReplies has the store do what a replica asks, and the replica never learn so, until Heal.
func (f *Fleet) LoseReplies(replica string) { l := f.link(replica); l.set(func() { l.lose = true }) }

// Heal ends Cut and LoseReplies.
func (f *Fleet) Heal(replica string) {
	l := f.link(replica)
	l.set(func() { l.cut, l.lose = false, false })
}

// Kill ends a replica without a word: it calls the store no more, and its writes to a gate do not
// happen. It stays dead.
func (f *Fleet) Kill(replica string) { l := f.link(replica); l.set(func() { l.killed = true }) }

// Pause freezes a replica until Resume: its calls to the store and its writes to a gate wait.
func (f *Fleet) Pause(replica string) {
	l := f.link(replica)
	l.set(func() {
		if l.thaw == nil {
			l.thaw = make(chan struct{})
		}
	})
}

// Resume ends Pause. A write that waited at a gate happens first.
func (f *Fleet) Resume(replica string) {
	f.link(replica)
	f.goOn(f.replicas[replica])
}

func (f *Fleet) goOn(r *replica) {
	r.link.set(func() {
		if r.link.thaw != nil {
			close(r.link.thaw)
			r.link.thaw = nil
		}
	})
}

// Forget makes the store lose everything, as an emptied Redis does.
func (f *Fleet) Forget() { f.memory.Forget() }

// StepClock steps the store's clock by d.
func (f *Fleet) StepClock(d time.Duration) { f.memory.Step(d) }

func (f *Fleet) link(replica string) *link {
	f.t.Helper()
	r, ok := f.replicas[replica]
	if !ok {
		f.t.Fatalf("solotest: replica %q must be one of r1 to r%d", replica, len(f.order))
	}
	return r.link
}

// Runs returns the runs of a job so far, in the order in which they began.
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
// was settled as succeeded, by one run each.
func (f *Fleet) AssertOnce(job string, from, to time.Time) {
	f.t.Helper()
	for _, fault := range f.notOnce(job, from, to) {
		f.t.Error(fault)
	}
}

func (f *Fleet) notOnce(job string, from, to time.Time) (faults []string) {
	defined, ok := f.registry.Get(job)
	if !ok {
		return []string{fmt.Sprintf("solotest: job %q was not added", job)}
	}
	session, err := driver.NewSession(f.memory, namespace)
	if err != nil {
		return []string{err.Error()}
	}
	ticks := observed.Ticks(defined.Schedule(), from, to)
	if len(ticks) == 0 {
		return []string{fmt.Sprintf("solotest: %s: there is no tick from %s to %s", job, from, to)}
	}
	return f.runs.NotOnce(f.t.Context(), session, job, ticks)
}
