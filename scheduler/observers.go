package scheduler

import (
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/solotick/solotick/internal/eventqueue"
)

// maxQueued is how many events wait for one observer before more are dropped. A few thousand ticks
// at one instant make as many.
const maxQueued = 1 << 14

// flushTimeout is how long Run waits at its end until observers have received the queued events.
const flushTimeout = time.Second

// observers passes events to the functions of [WithObserver] and [WithSyncObserver].
type observers struct {
	sync   []func(Event)
	queues []*eventqueue.Queue[Event]
}

func newObservers(sync, queued []func(Event)) *observers {
	o := &observers{sync: sync}
	gap := func(dropped int) Event { return EventsDropped{Count: dropped} }
	for i, f := range queued {
		broken := func(value any) { o.broke(-1, i, value) }
		o.queues = append(o.queues, eventqueue.New(maxQueued, eventqueue.One, f, gap, broken))
	}
	return o
}

// observe passes an event on. It never waits, and recovers from a panic of an observer.
func (o *observers) observe(e Event) {
	for i := range o.sync {
		o.call(i, e)
	}
	for _, q := range o.queues {
		if !q.Put(e) {
			o.count(-1, EventsDropped{Count: 1})
		}
	}
}

// count tells the synchronous observers, except one, how many events an observer has lost.
func (o *observers) count(except int, e EventsDropped) {
	for i := range o.sync {
		if i != except {
			o.call(i, e)
		}
	}
}

// call calls a synchronous observer.
func (o *observers) call(i int, e Event) {
	defer func() {
		if value := recover(); value != nil {
			if _, again := e.(EventsDropped); !again {
				o.broke(i, -1, value)
			}
		}
	}()
	o.sync[i](e)
}

// broke reports that an observer lost an event because it panicked: to the other observers, or to
// the default logger if there are none.
func (o *observers) broke(sync, queued int, value any) {
	e := EventsDropped{Count: 1, Panic: "it ended its goroutine"}
	if value != nil {
		e.Panic = strings.Join(strings.Fields(fmt.Sprint(value)), " ")
	}
	o.count(sync, e)
	for i, q := range o.queues {
		if i != queued {
			q.Put(e)
		}
	}
	if queued >= 0 && len(o.sync)+len(o.queues) == 1 {
		slog.Default().Error("solotick: an observer panicked", slog.String("panic", e.Panic))
	}
}

// flush waits up to flushTimeout until the observers have received the queued events. Later events
// are dropped.
func (o *observers) flush() {
	until := time.Now().Add(flushTimeout)
	for _, q := range o.queues {
		q.Close(time.Until(until))
	}
}
