package scheduler

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// crew is the goroutines that ask the store: they contend for ticks that are due, and decide about ticks whose handlers
// have returned. Handlers have goroutines of their own, so that none can hold up another.
//
// When thousands of ticks are due at one instant, a goroutine for each would cost more than its work. So few do it, and
// each goes on with what is next. They would have to wait for a store that is far away, so a further one joins in when
// one begins to wait: with work left, there are always as many at work as there are processors.
type crew struct {
	gate *inflight

	procs  int32
	free   atomic.Int32 // hands that are awake, or being woken, and do not wait for the store
	queued atomic.Int32 // the length of due and later
	starts atomic.Int32 // contenders that are at it, and handlers whose goroutines have not got going yet

	mu     sync.Mutex
	due    fifo[*contender]
	held   [2]fifo[held] // those that are due and that the gate does not let in yet: the first to claim, and backups
	turns  uint          // contenders that were let in
	later  fifo[after]
	idle   []*hand // the last has been so for the shortest time
	spare  int     // how many were idle all the time since the last trim
	closed bool
	alive  tally
}

// hand is one goroutine of the crew.
type hand struct {
	wake chan struct{} // of size 1; closed when it is to end
}

// patience is how long what can wait does so at most, while there are ticks to be started.
const patience = 50 * time.Millisecond

func newCrew(gate *inflight) *crew { return &crew{gate: gate, procs: int32(runtime.GOMAXPROCS(0))} }

// contend has contenders act that are due.
func (w *crew) contend(due []*contender) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range due {
		if c.queued { // it has been woken while it waits
			c.s.contends.Done()
			continue
		}
		c.queued = true
		queue := 0
		if c.backup.Load() {
			queue = 1
		}
		w.held[queue].push(held{c, time.Now()})
	}
	w.admitLocked()
}

// held is a contender that is due, and since when it is.
type held struct {
	c     *contender
	since time.Time
}

// admitLocked lets contenders in, as many as the gate allows.
func (w *crew) admitLocked() {
	n := int32(0)
	for w.heldLocked() > 0 && w.gate.enter() {
		h := w.nextLocked()
		if waited := time.Since(h.since); waited > heldFor {
			h.c.late = waited
			w.gate.delayed(waited)
		}
		w.due.push(h.c)
		n++
	}
	w.queued.Add(n)
	w.joinLocked()
}

// left takes in that a contender that was let in has asked the store what it wanted to.
func (w *crew) left() {
	w.gate.leave()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.heldLocked() > 0 {
		w.admitLocked()
	}
}

// backupTurn is how often a backup goes before those that are the first to claim. Mostly it is too late by then: while the
// store is overloaded every claim is late, and a backup's would be one more.
const backupTurn = 8

func (w *crew) nextLocked() held {
	w.turns++
	if first := w.held[0].len() > 0; first && (w.held[1].len() == 0 || w.turns%backupTurn != 0) {
		return w.held[0].pop()
	}
	return w.held[1].pop()
}

func (w *crew) heldLocked() int { return w.held[0].len() + w.held[1].len() }

// waiting returns how many contenders are due and not let in.
func (w *crew) waiting() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.heldLocked()
}

// after is what can wait until the ticks that are due have been started: one of the two.
type after struct {
	began *contender // a run of it has begun: what does it do next?
	ended *run       // what becomes of its tick?
	since time.Time
}

// put has it done.
func (w *crew) put(a after) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.later.push(a)
	w.queued.Add(1)
	w.joinLocked()
}

// away is called by a hand that is about to wait for the store, and back when it is done.
func (w *crew) away() {
	// Whoever queues something looks at free after that; so one of the two sees that a hand is missing.
	if w.free.Add(-1) < w.procs && w.queued.Load() > 0 {
		w.mu.Lock()
		w.joinLocked()
		w.mu.Unlock()
	}
}

func (w *crew) back() { w.free.Add(1) }

// joinLocked sees to it that enough hands are free for what is queued.
func (w *crew) joinLocked() {
	for n := w.queued.Load(); n > 0 && w.free.Load() < w.procs; n-- {
		w.free.Add(1)
		if last := len(w.idle) - 1; last >= 0 {
			h := w.idle[last]
			w.idle = w.idle[:last]
			w.spare = min(w.spare, last)
			h.wake <- struct{}{}
			continue
		}
		w.alive.add()
		go w.serve(&hand{wake: make(chan struct{}, 1)})
	}
}

// serve is what a hand does.
func (w *crew) serve(h *hand) {
	defer w.alive.remove()
	for {
		c, late, a, ok := w.take(h)
		if c == nil && w.starts.Load() > 0 {
			runtime.Gosched() // what can wait must not keep them from a processor
		}
		switch {
		case c != nil:
			began := c.contend(late)
			w.starts.Add(-1)
			w.left()
			if began {
				runtime.Gosched() // to its handler: it is what all this is for
				w.put(after{began: c, since: time.Now()})
			} else {
				c.s.contends.Done()
			}
		case a.began != nil:
			a.began.goOn()
			a.began.s.contends.Done()
		case a.ended != nil:
			a.ended.settle()
		case !ok:
			return
		default:
			if _, ok := <-h.wake; !ok {
				return
			}
		}
	}
}

// take returns what is to be done next. If that is nothing, the hand is idle then, or has to end when ok is false.
func (w *crew) take(h *hand) (c *contender, late time.Duration, a after, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.later.len() > 0 && (w.due.len() == 0 || time.Since(w.later.first().since) > patience):
		a = w.later.pop()
	case w.due.len() > 0:
		c = w.due.pop()
		late, c.late, c.queued = c.late, 0, false
		w.starts.Add(1)
	default:
		w.free.Add(-1)
		if w.closed {
			return nil, 0, a, false
		}
		w.idle = append(w.idle, h)
		return nil, 0, a, true
	}
	w.queued.Add(-1)
	return c, late, a, true
}

// trim ends the hands that were not needed since the last trim.
func (w *crew) trim() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dismissLocked(w.spare)
}

// dismissLocked ends those that have been idle for the longest time.
func (w *crew) dismissLocked(n int) {
	for _, h := range w.idle[:n] {
		close(h.wake)
	}
	left := copy(w.idle, w.idle[n:])
	clear(w.idle[left:])
	w.idle = w.idle[:left]
	w.spare = left
}

// close lets the hands end as soon as nothing is left to do, and waits for that, for limit at most.
func (w *crew) close(limit time.Duration) {
	w.mu.Lock()
	w.closed = true
	w.dismissLocked(len(w.idle))
	w.mu.Unlock()
	w.alive.wait(limit, nil)
}

// fifo is a queue. The zero value is empty.
type fifo[T any] struct {
	list []T
	head int
}

func (q *fifo[T]) len() int { return len(q.list) - q.head }
func (q *fifo[T]) first() T { return q.list[q.head] }
func (q *fifo[T]) push(v T) { q.list = append(q.list, v) }

func (q *fifo[T]) pop() T {
	var zero T
	v := q.list[q.head]
	q.list[q.head] = zero
	q.head++
	switch {
	case q.head == len(q.list):
		q.list, q.head = q.list[:0], 0
	case q.head > 1024 && q.head > len(q.list)/2: // one that is never empty must not grow for ever
		n := copy(q.list, q.list[q.head:])
		clear(q.list[n:])
		q.list, q.head = q.list[:n], 0
	}
	return v
}
