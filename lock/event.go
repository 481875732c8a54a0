package lock

import (
	"time"

	"github.com/solotick/solotick/internal/eventqueue"
	"github.com/solotick/solotick/lease"
)

// Event is something that happened to a lock in this process: one of the types below.
type Event interface{ event() }

// Waiting says that Acquire has to wait. Holder holds the lock.
type Waiting struct{ Name, Holder string }

// ClaimFailed says that the store failed during Acquire, which retries. Failures counts from 1
// since the store answered last: log the first one and count all.
type ClaimFailed struct {
	Name     string
	Failures int
	Waited   time.Duration
	Err      error
}

// Granted says that the lock is held.
type Granted struct {
	Name   string
	Token  int64
	Waited time.Duration
	// TakenOver has the holders whose expired leases were replaced: they died, or lost the store. Only
	// their names and tokens are known.
	TakenOver []Place
}

// GaveUp says that the lock was not granted. Err matches [lease.ErrHeld] when another held it.
type GaveUp struct {
	Name   string
	Waited time.Duration
	Err    error
}

// Renewed says that the lease was renewed while Remaining was left of it.
type Renewed struct {
	Name      string
	Token     int64
	Remaining time.Duration
}

// Lost says that the lease was lost while it was held. Err has the cause: it expired, was fenced
// (taken over or revoked), or was held for its maximum.
type Lost struct {
	Name  string
	Token int64
	Held  time.Duration
	Err   *lease.LostError
}

// Released says that the holder released the lock. Err is nil unless that failed: the lease then
// expires.
type Released struct {
	Name  string
	Token int64
	Held  time.Duration
	Err   error
}

// EventsDropped says that an observer lost Count events, because it panicked or its queue was full.
// An observer whose queue was full gets it as soon as it takes events again. Observers of
// [WithSyncObserver] get it for each event that another one lost.
type EventsDropped struct{ Count int }

func (EventsDropped) event() {}
func (Waiting) event()       {}
func (ClaimFailed) event()   {}
func (Granted) event()       {}
func (GaveUp) event()        {}
func (Renewed) event()       {}
func (Lost) event()          {}
func (Released) event()      {}

const (
	maxQueued    = 1 << 14     // events that wait for one observer
	flushTimeout = time.Second // how long Close waits for observers
)

// observers passes events to observers: see [WithObserver] and [WithSyncObserver].
type observers struct {
	sync   []func(Event)
	queues []*eventqueue.Queue[Event]
}

func (o *observers) add(f func(Event)) {
	gap := func(dropped int) Event { return EventsDropped{Count: dropped} }
	broken := func(any) { o.notify(EventsDropped{Count: 1}) }
	o.queues = append(o.queues, eventqueue.New(maxQueued, eventqueue.One, f, gap, broken))
}

func (o *observers) any() bool { return len(o.sync)+len(o.queues) > 0 }

// observe never blocks, and contains the panics of observers.
func (o *observers) observe(e Event) {
	o.notify(e)
	for _, q := range o.queues {
		if !q.Put(e) {
			o.notify(EventsDropped{Count: 1})
		}
	}
}

// notify calls the synchronous observers.
func (o *observers) notify(e Event) {
	for _, f := range o.sync {
		func() {
			defer func() { _ = recover() }()
			f(e)
		}()
	}
}

// flush waits until the queues are empty, at most for flushTimeout. Later events are dropped.
func (o *observers) flush() {
	until := time.Now().Add(flushTimeout)
	for _, q := range o.queues {
		q.Close(time.Until(until))
	}
}
