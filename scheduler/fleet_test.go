package scheduler_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/scheduler"
)

// ttl is the TTL of every fleet whose test does not say otherwise.
const ttl = 3 * time.Second

// fleet is a number of replicas in one synctest bubble, over one store that writes down what it
// does.
type fleet struct {
	t     *testing.T
	store *audit
	runs  recorder
	jobs  []*jobs.Job

	// observe, set before replicas are started, is notified every event, by many goroutines.
	observe func(replica string, e scheduler.Event)

	mu       sync.Mutex
	replicas []*replica
	events   []seen
}

// replica is one Scheduler with its own way to the store.
type replica struct {
	*scheduler.Scheduler
	link  *link
	alias string // see renamed
	stop  context.CancelFunc
	done  chan struct{} // closed when Run has returned
	err   error         // what it returned
}

// seen is an event with its replica and time.
type seen struct {
	replica string
	at      time.Time
	event   scheduler.Event
}

// inFleet runs a test in a bubble. At its end it stops everything that still runs, and judges the
// ledger.
func inFleet(t *testing.T, test func(f *fleet)) {
	inLossyFleet(t, func(f *fleet) {
		defer func() {
			f.stopAll()
			for _, fault := range f.broken() {
				f.t.Error(fault)
			}
		}()
		test(f)
	})
}

// inLossyFleet is inFleet for a test in which the store breaks a promise.
func inLossyFleet(t *testing.T, test func(f *fleet)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{t: t, store: newAudit()}
		defer func() { // after a failed test too: goroutines that are left would hide why it failed
			f.stopAll()
		}()
		test(f)
	})
}

// job adds a job, of every replica that is started from now on.
func (f *fleet) job(name, schedule string, handler jobs.Handler, options ...jobs.Option) {
	f.t.Helper()
	f.jobs = append(f.jobs, f.newJob(name, schedule, handler, options...))
}

func (f *fleet) newJob(name, schedule string, handler jobs.Handler, options ...jobs.Option) *jobs.Job {
	f.t.Helper()
	job, err := jobs.New(name, schedule, f.runs.wrap(handler), options...)
	require.NoError(f.t, err)
	return job
}

// start starts a replica of the fleet's jobs.
func (f *fleet) start(id string, options ...scheduler.Option) *replica {
	f.t.Helper()
	return f.startWith(id, f.jobs, options...)
}

func (f *fleet) startWith(id string, list []*jobs.Job, options ...scheduler.Option) *replica {
	f.t.Helper()
	return f.startBoth(id, list, func(l *link) protocol.Store { return l }, options...)
}

// startMany starts replicas named a, b, c and so on.
func (f *fleet) startMany(n int, options ...scheduler.Option) []*replica {
	f.t.Helper()
	var list []*replica
	for i := range n {
		list = append(list, f.start(string(rune('a'+i)), options...))
	}
	return list
}

func (f *fleet) note(replica string, e scheduler.Event) {
	switch e.(type) {
	case scheduler.ClockSampled, scheduler.Renewed, scheduler.Claimed:
		return // so many that a day of them would not be looked through
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events = append(f.events, seen{replica, time.Now(), e})
}

// halt stops a replica and waits for it.
func (f *fleet) halt(r *replica) {
	r.stop()
	<-r.done
	r.link.calls.Wait()
}

func (f *fleet) stopAll() {
	f.mu.Lock()
	list := f.replicas
	f.mu.Unlock()
	for _, r := range list {
		r.link.heal()
		r.stop()
	}
	for _, r := range list {
		f.halt(r)
		if r.err != nil {
			f.t.Error(r.err)
		}
	}
}

// replica returns the one with that id that was started last.
func (f *fleet) replica(id string) *replica {
	f.t.Helper()
	for _, r := range slices.Backward(f.replicas) {
		if r.Replica() == id || r.alias == id {
			return r
		}
	}
	require.Fail(f.t, "no such replica", id)
	return nil
}

// sleepTo sleeps until so long after the bubble began, which is a whole day of Unix time.
func (f *fleet) sleepTo(d time.Duration) {
	time.Sleep(time.Until(epoch.Add(d)))
	synctest.Wait()
}

// epoch is when every bubble begins.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// since says how long after the bubble began.
func since(t time.Time) string { return t.Sub(epoch).String() }

// story lists for each attempt of a job, in order, when it began and which tick it was for: "10s"
// or, where the two differ or it is not the first, "10s at 12s #2".
func (f *fleet) story(job string) string {
	var s []string
	for _, a := range f.runs.of(job) {
		text := since(a.Tick)
		if !a.start.Equal(a.Tick) {
			text += " at " + since(a.start)
		}
		if a.Attempt != 1 {
			text += fmt.Sprintf(" #%d", a.Attempt)
		}
		s = append(s, text)
	}
	return strings.Join(s, ", ")
}

// passed sums up what the replicas say they settled of a job without a run: outcome, reason and
// count.
func (f *fleet) passed(job string) map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	sums := map[string]int{}
	for _, s := range f.events {
		if e, ok := s.event.(scheduler.TicksSkipped); ok && e.Job == job {
			sums[string(e.Outcome)+" "+e.Reason] += e.Count
		}
	}
	return sums
}

// eventsOf returns the events of one type, with when they came.
func eventsOf[E scheduler.Event](f *fleet) (events []E, at []time.Time) {
	return eventsWhere(f, func(E) bool { return true })
}

// eventsWhere returns the events of a type that fit.
func eventsWhere[E scheduler.Event](f *fleet, fits func(E) bool) (events []E, at []time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.events {
		if e, ok := s.event.(E); ok && fits(e) {
			events, at = append(events, e), append(at, s.at)
		}
	}
	return events, at
}

func storeDown(e scheduler.StoreChanged) bool { return !e.Up && e.Away == 0 }

// fates counts what became of a job's ticks up to now, by the store's own ledger: those that are
// not decided count as empty.
func (f *fleet) fates(job string) map[protocol.Outcome]int {
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	counts := map[protocol.Outcome]int{}
	j, now := f.store.job(job), time.Now()
	for _, spec := range f.jobs {
		if spec.Name() != job {
			continue
		}
		for t := spec.Schedule().Next(time.UnixMilli(j.first)); !t.After(now); t = spec.Schedule().Next(t) {
			counts[j.fate(t.UnixMilli())]++
		}
	}
	return counts
}

// renamed lets replica find the one with an id under another.
func (f *fleet) renamed(id, as string) {
	f.t.Helper()
	f.replica(id).alias = as
}
