// Package admission decides which of a replica's workers may act now: those whose time has come
// ([Timers]), as many as the store can bear ([Queue], [Inflight]), and with room for what they run
// ([Capacity]).
package admission

import (
	"container/heap"
	"sync"
	"sync/atomic"

	"github.com/solotick/solotick/internal/sleep"
)

// Capacity admits runs by their weight: those under way never weigh more than Max in all.
//
// A waiter queues if there is no room for it. When room is freed, the waiter whose tick came due
// first gets an offer, and the room is reserved until it accepts or withdraws. A waiter that needs
// more room than there is blocks lighter ones behind it, because they would otherwise take the room
// again and again.
type Capacity struct {
	Max   int          // the weight that runs at a time; 0: no limit
	Freed sleep.Signal // there may be room for a waiter

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
	Offered atomic.Bool // room or a permit is reserved for it
	permit  *Permit     // the same of [Permits], whose mutex guards the fields of one that waits there
}

// NewCapacity returns a Capacity with that limit on the weight of all runs. 0 means no limit.
func NewCapacity(limit int) *Capacity { return &Capacity{Max: limit, Freed: sleep.NewSignal()} }

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
	if len(k.waiting) > 0 && k.fitsLocked(k.waiting[0].weight) {
		k.Freed.Set()
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

// Room is what one job holds of a [Capacity] and of its [Permits]. It claims nothing without room for
// the run: it takes the room before the claim, and holds it until the answer. A run that was granted
// takes it over, and gives it back when its handler has returned.
type Room struct {
	*Capacity
	waiter *Waiter // nil where there is no limit

	permits *Permits // nil where the fleet has no limit
	turn    *Waiter  // waits for a permit

	short int64 // when the oldest tick was due that found no room since the job rested; 0 when none did
	held  Taken // for claims whose answer is not known, and from runs that are to be replaced
	heirs int32 // runs that are not settled, and whose room it has
}

// Taken is the room that a run takes.
type Taken struct {
	Weight int
	Permit *Permit // nil without Permits
}

// Return returns the room of a run that has ended.
func (k *Capacity) Return(t Taken) {
	k.Release(t.Weight)
	t.Permit.Return()
}

// NewRoom returns the room of a job, which holds none. w waits for it, where there is a limit.
func NewRoom(k *Capacity, w *Waiter) Room {
	if k.Max == 0 {
		w = nil
	}
	return Room{Capacity: k, waiter: w}
}

// WithPermits makes r take a permit for each run. w waits for one.
func (r Room) WithPermits(p *Permits, w *Waiter) Room {
	r.permits, r.turn = p, w
	return r
}

// Limited reports whether there may be no room for a run.
func (r *Room) Limited() bool { return r.waiter != nil || r.permits != nil }

// Acquire reports whether the job has room for the run of a tick that came due then. If not, its
// waiter is woken when there is some.
func (r *Room) Acquire(due int64, weight int) bool {
	if r.held.Weight > 0 {
		return true
	}
	if r.short != 0 {
		due = min(due, r.short)
	}
	t := Taken{Weight: weight}
	if r.permits != nil {
		if t.Permit = r.permits.take(r.turn, due); t.Permit == nil {
			r.Withdraw(r.waiter) // others may use the room meanwhile, and another replica the permit below
			r.short = due
			return false
		}
	}
	if !r.Capacity.Acquire(r.waiter, due, weight) {
		t.Permit.Return()
		r.short = due
		return false
	}
	r.held = t
	return true
}

// IsShort reports whether a tick has found no room since the job rested.
func (r *Room) IsShort() bool { return r.short != 0 }

// NotShort notes that no tick is known to need room.
func (r *Room) NotShort() { r.short = 0 }

// HandOver hands the room over to a run that was granted. The run has no permit although it needs one
// if two claims whose answers were lost had been granted.
func (r *Room) HandOver(weight int) (t Taken, ok bool) {
	t, r.held = r.held, Taken{}
	switch {
	case t.Weight == 0:
		r.Take(weight)
	case t.Weight > weight:
		r.Release(t.Weight - weight)
	default:
		weight = t.Weight
	}
	t.Weight = weight
	return t, r.permits == nil || t.Permit != nil
}

// Inherit takes the room of a run whose handler has returned. Bequeathed must be called when the run
// is settled.
func (r *Room) Inherit(t Taken) {
	r.held.Weight += t.Weight
	if r.held.Permit == nil {
		r.held.Permit, t.Permit = t.Permit, nil
	}
	t.Permit.Return()
	r.heirs++
}

// Bequeathed notes the settlement of a run whose room was inherited.
func (r *Room) Bequeathed() { r.heirs-- }

// IsOffered reports whether the job has room that it must use or return. pending reports that a
// request of it is under way.
func (r *Room) IsOffered(pending bool) bool {
	return r.waiter != nil && r.waiter.Offered.Load() || r.permits != nil && r.turn.Offered.Load() ||
		r.Limited() && r.held.Weight > 0 && r.heirs == 0 && !pending
}

// Rest returns what the job does not need while it rests. It keeps its place in the queue if a tick
// has just found no room. It keeps the room if a claim may have been granted, or will be made when
// the run that had the room is settled.
func (r *Room) Rest(claims bool) {
	if r.short == 0 {
		r.Leave()
	}
	if r.held.Weight > 0 && r.heirs == 0 && !claims {
		r.Return(r.held)
		r.held = Taken{}
	}
}

// Leave gives up the job's place in the queue.
func (r *Room) Leave() {
	r.Withdraw(r.waiter)
	if r.permits != nil {
		r.permits.leave(r.turn)
	}
}
