package admission

import (
	"runtime"
	"sync"
	"time"
)

// Queue runs workers that are due, as many at a time as the [Inflight] allows. The others wait in
// the queue, where they cost nothing. A goroutine that has finished one worker goes on with the
// next.
//
// Recording the end of a run waits until the first claims of that moment were admitted, or for a
// thirtieth of the TTL. So ticks that come due together all start before the first of them is
// settled. If the replica dies meanwhile, a run that has ended is not recorded, as with a slow
// store: another replica runs it again, or settles it as lost.
//
// A goroutine starts the next one when it begins, if there is more work. So there are as many
// goroutines as calls wait for the store, and few if the store is in this process and answers at
// once.
type Queue[W Worker] struct {
	inflight  *Inflight
	endWithin time.Duration  // the most that an end waits
	Serving   sync.WaitGroup // the goroutines of those that were admitted

	mu       sync.Mutex
	queues   [2]fifo[dueWorker[W]] // of the replicas' first claims, and of backups
	turns    uint                  // contenders that were admitted
	starting bool                  // a goroutine for a contender was started, and has not begun

	ends       fifo[func()]
	endStarts  bool        // the same of a goroutine for an end
	endsAtOnce *time.Timer // nil before the first that waited
	late       bool        // one has waited for long enough, and none waits until there is no more
}

// Worker is a contender: it acts when it is due.
type Worker interface {
	// IsBackup reports whether other replicas act before this one, as far as it knows.
	IsBackup() bool
	// Work does everything that is due now. waited is how long the worker had to wait for its
	// admission, or 0 if that was short.
	Work(waited time.Duration)
}

// dueWorker is a worker in the queue, and when it came there.
type dueWorker[W Worker] struct {
	*Slot[W]
	since time.Time
}

// NewQueue returns an empty Queue for a replica with leases of that TTL.
func NewQueue[W Worker](limit *Inflight, ttl time.Duration) *Queue[W] {
	return &Queue[W]{inflight: limit, endWithin: ttl / 30}
}

// Add puts workers that are due into the queue. It ignores those that are in it.
func (a *Queue[W]) Add(due []*Slot[W]) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	for _, s := range due {
		if s.queued { // it has been woken while it waits
			continue
		}
		s.queued = true
		queue := 0
		if s.Owner.IsBackup() {
			queue = 1
		}
		a.queues[queue].push(dueWorker[W]{s, now})
	}
	a.startLocked()
}

// startLocked starts a goroutine if a worker waits and may be admitted.
func (a *Queue[W]) startLocked() {
	if !a.starting && a.queues[0].len()+a.queues[1].len() > 0 && a.inflight.enter() {
		a.starting = true
		a.Serving.Go(a.serve)
	}
}

// serve runs one worker after another, until none waits or no more may be under way.
func (a *Queue[W]) serve() {
	a.mu.Lock()
	a.starting = false
	a.mu.Unlock()
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
		next.Owner.Work(late)
		runtime.Gosched() // a granted run begins before the next claim
		a.inflight.leave()
		if !a.inflight.enter() { // others are under way, and go on with what waits
			return
		}
	}
}

// backupTurn is how often a backup goes first. While the store is overloaded every claim is late,
// so a backup would mostly be too late, and only add to the load.
const backupTurn = 8

// next removes the next worker from the queue. If none waits, it gives up the place of the calling
// goroutine.
func (a *Queue[W]) next() (next dueWorker[W], ok bool) {
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
	a.startLocked()
	a.startEndLocked()
	return next, true
}

// End calls f, which records the end of a run, in another goroutine.
func (a *Queue[W]) End(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ends.push(f)
	if a.startEndLocked(); a.endStarts || a.ends.len() > 1 {
		return
	}
	if a.endsAtOnce == nil {
		a.endsAtOnce = time.AfterFunc(a.endWithin, a.endNow)
	} else {
		a.endsAtOnce.Reset(a.endWithin)
	}
}

// endNow lets the ends that wait go ahead, and those that follow until there is none.
func (a *Queue[W]) endNow() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.late = a.ends.len() > 0
	a.startEndLocked()
}

// startEndLocked starts a goroutine if an end waits and need not wait for workers.
func (a *Queue[W]) startEndLocked() {
	if !a.endStarts && a.ends.len() > 0 && (a.late || a.queues[0].len() == 0) {
		a.endStarts = true
		go a.serveEnds()
	}
}

// serveEnds records the ends that wait, one after another.
func (a *Queue[W]) serveEnds() {
	a.mu.Lock()
	a.endStarts = false
	for a.ends.len() > 0 {
		f := a.ends.pop()
		a.startEndLocked()
		a.mu.Unlock()
		f()
		a.mu.Lock()
	}
	a.late = false
	a.mu.Unlock()
}

// Waiting returns how many workers are due and not admitted.
func (a *Queue[W]) Waiting() int {
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
