// Package eventqueue hands events to an observer without ever waiting for it.
package eventqueue

import (
	"sync"
	"time"
)

// Queue hands events to one function, one at a time and in the order in which they were put. It
// does so on a goroutine of its own, which exists only while there is something to hand over. Put
// never waits. An event that does not fit is dropped and counted, and so is one on which the
// function panicked or ended its goroutine.
//
// Make one with [New]. It is safe for concurrent use.
type Queue[E any] struct {
	bound  int
	size   func(E) int
	handle func(E)
	gap    func(dropped int) E
	broken func(value any)

	mu      sync.Mutex
	events  []E // from head on
	head    int
	queued  int // the size of events
	dropped int // since handle was called with the last gap
	busy    bool
	closed  bool
	idle    chan struct{} // closed when busy becomes false; nil when nobody waits
}

// New returns a queue for handle that holds events of at most bound in size altogether. When it has
// room again after it had none, handle gets gap(dropped) before all that is queued. broken is
// called when handle has panicked with value, or has ended its goroutine, in which case value is
// nil. gap and broken must not block.
func New[E any](bound int, size func(E) int, handle func(E), gap func(dropped int) E, broken func(value any)) *Queue[E] {
	return &Queue[E]{bound: bound, size: size, handle: handle, gap: gap, broken: broken}
}

// One is the size of an event in a queue whose bound is a number of events.
func One[E any](E) int { return 1 }

// Put queues e and reports whether there was room for it.
func (q *Queue[E]) Put(e E) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	size := q.size(e)
	if q.queued+size > q.bound {
		q.dropped++
		return false
	}
	q.queued += size
	q.events = append(q.events, e)
	if !q.busy {
		q.busy = true
		go q.work()
	}
	return true
}

// Close waits until all events were handed over, for at most d, and reports whether they were. The
// others are dropped, as is all that is put later. A call of the function that does not return is
// left behind.
func (q *Queue[E]) Close(d time.Duration) bool {
	q.mu.Lock()
	if q.busy && q.idle == nil {
		q.idle = make(chan struct{})
	}
	idle := q.idle
	q.mu.Unlock()
	if idle != nil {
		timeout := time.NewTimer(d)
		defer timeout.Stop()
		select {
		case <-idle:
		case <-timeout.C:
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.events, q.head, q.queued, q.dropped = nil, 0, 0, 0
	return !q.busy
}

// work hands events over until there is none.
func (q *Queue[E]) work() {
	returned := false
	defer func() {
		if returned {
			return
		}
		value := recover()
		go q.work() // this goroutine may be about to end
		q.broken(value)
	}()
	for {
		e, ok := q.next()
		if !ok {
			returned = true
			return
		}
		q.handle(e)
	}
}

func (q *Queue[E]) next() (e E, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if n := q.dropped; n > 0 {
		q.dropped = 0
		return q.gap(n), true
	}
	if q.head == len(q.events) {
		q.busy = false
		if q.idle != nil {
			close(q.idle)
			q.idle = nil
		}
		return e, false
	}
	var zero E
	e, q.events[q.head] = q.events[q.head], zero
	q.head++
	q.queued -= q.size(e)
	switch {
	case q.head == len(q.events):
		q.events, q.head = q.events[:0], 0
	case q.head >= 1024 && q.head > len(q.events)/2: // one that is never empty must not grow for ever
		n := copy(q.events, q.events[q.head:])
		clear(q.events[n:])
		q.events, q.head = q.events[:n], 0
	}
	return e, true
}
