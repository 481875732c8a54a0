package scheduler

import (
	"sync"
	"time"
)

// admission lets contenders that are due ask the store, as many at a time as inflight allows. The others wait in a queue,
// where they cost nothing. Each that is admitted has a goroutine, which goes on with the next one when it is done.
type admission struct {
	inflight *inflight
	serving  sync.WaitGroup

	mu     sync.Mutex
	queues [2]fifo[dueContender] // of the replicas' first claims, and of backups
	turns  uint                  // contenders that were admitted
}

// dueContender is a contender that is due, and since when it waits.
type dueContender struct {
	*contender
	since time.Time
}

func newAdmission(limit *inflight) *admission { return &admission{inflight: limit} }

// add has contenders work that are due.
func (a *admission) add(due []*contender) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	for _, c := range due {
		if c.queued { // it has been woken while it waits
			continue
		}
		c.queued = true
		queue := 0
		if c.backup.Load() {
			queue = 1
		}
		a.queues[queue].push(dueContender{c, now})
		if a.inflight.enter() {
			a.serving.Go(a.serve)
		}
	}
}

// serve has one contender work after the other, until none waits or fewer may be under way.
func (a *admission) serve() {
	for {
		next, ok := a.next()
		if !ok {
			return
		}
		late := time.Since(next.since)
		if late > heldFor {
			a.inflight.delayed(late)
		} else {
			late = 0
		}
		next.work(late)
		a.inflight.leave()
		if !a.inflight.enter() { // others are under way, and go on with what waits
			return
		}
	}
}

// backupTurn is how often a backup goes before those that are the first to claim. Mostly it is too late by then: while the
// store is overloaded every claim is late, and a backup's would be one more.
const backupTurn = 8

// next takes out the contender that works next. If none waits, it gives up the place of the one that asks.
func (a *admission) next() (next dueContender, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	first, backups := &a.queues[0], &a.queues[1]
	queue := first
	switch a.turns++; {
	case first.len()+backups.len() == 0:
		a.inflight.leave()
		return next, false
	case first.len() == 0, backups.len() > 0 && a.turns%backupTurn == 0:
		queue = backups
	}
	next = queue.pop()
	next.queued = false
	return next, true
}

// waiting returns how many contenders are due and not admitted.
func (a *admission) waiting() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.queues[0].len() + a.queues[1].len()
}

// fifo is a queue. The zero value is empty.
type fifo[T any] struct {
	list []T
	head int
}

func (q *fifo[T]) len() int { return len(q.list) - q.head }
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
