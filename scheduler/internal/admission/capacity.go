// Package admission decides which of a replica's workers may act now: those whose time has come
// ([Timers]), as many as the store can bear ([Queue], [Inflight]), and with room for what they run
// ([Capacity]).
package admission

import (
	"container/heap"
	"sync"
	"sync/atomic"
)

// Capacity admits runs by their weight: those under way never weigh more than Max in all.
//
// A waiter queues if there is no room for it. When room is freed, the waiter whose tick came due
// first gets an offer, and the room is reserved until it accepts or withdraws. A waiter that needs
// more room than there is blocks lighter ones behind it, because they would otherwise take the room
// again and again.
type Capacity struct {
	Max   int           // the weight that runs at a time; 0: no limit
	Freed chan struct{} // of size 1: there may be room for a waiter

	mu      sync.Mutex
	used    int // the weight of runs, of claims that are pending, and of offers
	waiting waiters
}

// Waiter asks for room, for one tick after another. Its fields are guarded by the mutex of the
// Capacity.
type Waiter struct {
	Wake   func() // makes the waiter accept its offer, or withdraw, soon; it is called without a lock
	Verify func() // makes it see whether its tick is still to be run; the same

	due     int64  // of the tick that waits, Unix ms
	Order   uint64 // among those that came due at one instant: random, so that replicas do not all claim the same tick
	weight  int
	index   int         // in capacity.waiting, from 1; 0 when it does not wait
	offer   int         // the room that is reserved for it
	Offered atomic.Bool // offer is not 0
}

// NewCapacity returns a Capacity with that limit on the weight of all runs. 0 means no limit.
func NewCapacity(limit int) *Capacity { return &Capacity{Max: limit, Freed: make(chan struct{}, 1)} }

// Acquire takes room for a tick that came due at due, and reports whether there was any. If not, w
// waits, unless weight exceeds the limit. Without a limit w may be nil.
func (k *Capacity) Acquire(w *Waiter, due int64, weight int) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.Max == 0 {
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
	case weight > k.Max:
		k.leaveLocked(w)
	case w.index == 0:
		heap.Push(&k.waiting, w)
	default:
		heap.Fix(&k.waiting, w.index-1)
	}
	return false
}

// Take takes room even if there is none.
func (k *Capacity) Take(weight int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.used += weight
}

// Release returns room.
func (k *Capacity) Release(weight int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.used -= weight
	k.notifyLocked()
}

// Withdraw removes w from the queue and returns the room that is reserved for it.
func (k *Capacity) Withdraw(w *Waiter) {
	if k.Max == 0 {
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

// Offer reserves room for the first waiter and returns it, or nil if nobody waits or there is too
// little room.
func (k *Capacity) Offer() *Waiter {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.waiting) == 0 || !k.fitsLocked(k.waiting[0].weight) {
		return nil
	}
	w := k.waiting[0]
	k.leaveLocked(w)
	w.offer = w.weight
	w.Offered.Store(true)
	k.used += w.offer
	return w
}

// First returns at most n waiters from the head of the queue.
func (k *Capacity) First(n int) []*Waiter {
	k.mu.Lock()
	defer k.mu.Unlock()
	return append([]*Waiter(nil), k.waiting[:min(n, len(k.waiting))]...) // the top of a heap: near enough
}

// Load returns the weight in use and the number of waiters.
func (k *Capacity) Load() (used, waiting int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.used, len(k.waiting)
}

func (k *Capacity) fitsLocked(weight int) bool { return k.used <= k.Max-weight }

func (k *Capacity) returnLocked(w *Waiter) {
	k.used -= w.offer
	w.offer = 0
	w.Offered.Store(false)
}

func (k *Capacity) leaveLocked(w *Waiter) {
	if w.index != 0 {
		heap.Remove(&k.waiting, w.index-1)
	}
}

func (k *Capacity) notifyLocked() {
	if len(k.waiting) == 0 || !k.fitsLocked(k.waiting[0].weight) {
		return
	}
	select {
	case k.Freed <- struct{}{}:
	default: // wake-ups may coalesce
	}
}

// after reports whether w is behind v in the queue.
func (w *Waiter) after(v *Waiter) bool {
	if w.due != v.due {
		return w.due > v.due
	}
	return w.Order > v.Order
}

// waiters is a heap of waiters, in queue order; each knows its index.
type waiters []*Waiter

func (h waiters) Len() int           { return len(h) }
func (h waiters) Less(i, j int) bool { return h[j].after(h[i]) }
func (h waiters) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i+1, j+1
}

// Push implements heap.Interface.
func (h *waiters) Push(x any) {
	w := x.(*Waiter)
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
