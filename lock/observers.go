package lock

import (
	"time"

	"github.com/solotick/solotick/internal/eventqueue"
)

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
