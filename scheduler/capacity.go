package scheduler

import (
	"container/heap"
	"sync"
	"sync/atomic"
)

// capacity admits runs by their weight, so that those under way never weigh more than max in all.
//
// Who finds no room waits. Room that is freed goes to the waiter whose tick came due first, and is
// reserved for it until that one accepts it or withdraws. A waiter that needs more room than there
// is keeps lighter ones behind it waiting. Otherwise they would take the room that it waits for,
// again and again.
type capacity struct {
	max   int           // the weight that runs at a time; 0: no limit
	freed chan struct{} // of size 1: there may be room for a waiter

	mu      sync.Mutex
	used    int // the weight of runs, of claims that are pending, and of offers
	waiting waiters
}

// waiter is who asks for room, again and again, for one tick after the other. Its fields are
// guarded by capacity.mu.
type waiter struct {
	wake   func() // makes the waiter accept its offer, or withdraw, soon; it is called without a lock
	verify func() // makes it see whether its tick is still to be run; the same

	due     int64  // of the tick that waits, Unix ms
	order   uint64 // among those that came due at one instant: random, so that replicas do not all claim the same tick
	weight  int
	index   int         // in capacity.waiting, from 1; 0 when it does not wait
	offer   int         // the room that is reserved for it
	offered atomic.Bool // offer is not 0
}

func newCapacity(limit int) *capacity { return &capacity{max: limit, freed: make(chan struct{}, 1)} }

// acquire takes room for a tick that came due then, and reports whether there was any. Else w waits
// for it, unless it can never have it. Without a limit there is no w.
func (k *capacity) acquire(w *waiter, due int64, weight int) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.max == 0 {
		k.used += weight
		return true
	}
	defer k.notifyLocked() // the room of its offer, and another one that comes first now
	k.returnLocked(w)
	w.due, w.weight = due, weight
	switch {
	case k.fitsLocked(weight) && (len(k.waiting) == 0 || !w.after(k.waiting[0])):
		k.leaveLocked(w)
		k.used += weight
		return true
	case weight > k.max:
		k.leaveLocked(w)
	case w.index == 0:
		heap.Push(&k.waiting, w)
	default:
		heap.Fix(&k.waiting, w.index-1)
	}
	return false
}

// take takes room whether or not there is any.
func (k *capacity) take(weight int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.used += weight
}

// release gives room back.
func (k *capacity) release(weight int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.used -= weight
	k.notifyLocked()
}

// withdraw removes w from the queue, and gives back the room that is reserved for it.
func (k *capacity) withdraw(w *waiter) {
	if k.max == 0 {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if w.index != 0 || w.offer != 0 {
		k.returnLocked(w)
		k.leaveLocked(w)
		k.notifyLocked()
	}
}

// offer reserves room for the first waiter and returns it; nil when nobody waits or there is no
// room.
func (k *capacity) offer() *waiter {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.waiting) == 0 || !k.fitsLocked(k.waiting[0].weight) {
		return nil
	}
	w := k.waiting[0]
	k.leaveLocked(w)
	w.offer = w.weight
	w.offered.Store(true)
	k.used += w.offer
	return w
}

// first returns the waiters at the head of the queue, n at most.
func (k *capacity) first(n int) []*waiter {
	k.mu.Lock()
	defer k.mu.Unlock()
	return append([]*waiter(nil), k.waiting[:min(n, len(k.waiting))]...) // the top of a heap: near enough
}

// load returns the room in use, and the number of waiters.
func (k *capacity) load() (used, waiting int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.used, len(k.waiting)
}

func (k *capacity) fitsLocked(weight int) bool { return k.used <= k.max-weight }

func (k *capacity) returnLocked(w *waiter) {
	k.used -= w.offer
	w.offer = 0
	w.offered.Store(false)
}

func (k *capacity) leaveLocked(w *waiter) {
	if w.index != 0 {
		heap.Remove(&k.waiting, w.index-1)
	}
}

func (k *capacity) notifyLocked() {
	if len(k.waiting) == 0 || !k.fitsLocked(k.waiting[0].weight) {
		return
	}
	select {
	case k.freed <- struct{}{}:
	default: // wake-ups may coalesce
	}
}

// after reports whether v is before w in the queue.
func (w *waiter) after(v *waiter) bool {
	if w.due != v.due {
		return w.due > v.due
	}
	return w.order > v.order
}

// waiters is a heap of waiters, in queue order; each knows its index.
type waiters []*waiter

func (h waiters) Len() int           { return len(h) }
func (h waiters) Less(i, j int) bool { return h[j].after(h[i]) }
func (h waiters) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i+1, j+1
}

// Push implements heap.Interface.
func (h *waiters) Push(x any) {
	w := x.(*waiter)
	*h = append(*h, w)
	w.index = len(*h)
}

// Pop implements heap.Interface.
func (h *waiters) Pop() any {
	last := len(*h) - 1
	w := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	w.index = 0
	return w
}
