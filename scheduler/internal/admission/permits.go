package admission

import (
	"container/heap"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/solotick/solotick/internal/sleep"
)

// Permits are what a replica has of the runs that a job may have at one time over the whole fleet. It
// acquires them in blocks, each under a lease of its own, and gives each run one.
//
//	the replica dies        its blocks end with their leases, and other replicas get them
//	a lease is lost         the runs that have its permits are cancelled, by its deadline at the latest
//	others wait for long    a block is given back after its turn; who waited first gets it
type Permits struct {
	Changed sleep.Signal // there may be something for Next to say

	mu      sync.Mutex
	blocks  []*block
	waiting waiters
}

// Hold is the lease of a block.
type Hold interface {
	Context() context.Context
	Deadline() time.Time
	OnRenewal(f func(deadline time.Time)) (stop func())
	Release(ctx context.Context) error
}

// Bounded is the lease of a run, which must not be valid for longer than that of its permit.
type Bounded interface{ Within(deadline time.Time) }

// block is a number of permits.
type block struct {
	Hold
	size  int
	since time.Time
	used  map[*Permit]struct{}
}

// Permit allows one run.
type Permit struct {
	of    *Permits
	block *block
	run   Bounded // nil before it has begun
}

// NewPermits returns no permits.
func NewPermits() *Permits { return &Permits{Changed: sleep.NewSignal()} }

const (
	// turn is how long a replica uses a permit, for one run after another, before it queues again.
	turn = time.Second
	// blocksTurn is the same of a block of several, of which those that are returned are left unused
	// until the last is.
	blocksTurn = 10 * time.Second
)

// free is how many permits of a block may be given to runs.
func (b *block) free(now time.Time) int {
	mine := turn
	if b.size > 1 {
		mine = blocksTurn
	}
	if b.Context().Err() != nil || now.Sub(b.since) > mine {
		return 0
	}
	return b.size - len(b.used)
}

// Add adds a block that was acquired.
func (p *Permits) Add(h Hold, size int) {
	b := &block{Hold: h, size: size, since: time.Now(), used: map[*Permit]struct{}{}}
	h.OnRenewal(func(deadline time.Time) {
		p.mu.Lock()
		var runs []Bounded
		for permit := range b.used {
			if permit.run != nil {
				runs = append(runs, permit.run)
			}
		}
		p.mu.Unlock()
		for _, run := range runs {
			run.Within(deadline)
		}
	})
	context.AfterFunc(h.Context(), p.Changed.Set)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.blocks = append(p.blocks, b)
	p.Changed.Set()
}

// take returns a permit for a tick that came due then. If there is none for it, w waits, and nil is
// returned.
func (p *Permits) take(w *Waiter, due int64) *Permit {
	p.mu.Lock()
	defer p.mu.Unlock()
	if permit := p.leaveLocked(w); permit != nil && permit.Context().Err() == nil {
		return permit
	} else if permit != nil {
		p.returnLocked(permit)
	}
	if w.due = due; len(p.waiting) == 0 || !w.after(p.waiting[0]) {
		if permit := p.freeLocked(time.Now()); permit != nil {
			return permit
		}
	}
	heap.Push(&p.waiting, w)
	p.Changed.Set()
	return nil
}

// freeLocked returns a permit that is free, nil if there is none.
func (p *Permits) freeLocked(now time.Time) *Permit {
	for _, b := range p.blocks {
		if b.free(now) > 0 {
			permit := &Permit{of: p, block: b}
			b.used[permit] = struct{}{}
			return permit
		}
	}
	return nil
}

// leave ends the wait of w, and returns a permit that is reserved for it.
func (p *Permits) leave(w *Waiter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if permit := p.leaveLocked(w); permit != nil {
		p.returnLocked(permit)
	}
}

func (p *Permits) leaveLocked(w *Waiter) (reserved *Permit) {
	if w.index != 0 {
		heap.Remove(&p.waiting, w.index-1)
	}
	reserved, w.permit = w.permit, nil
	w.Offered.Store(false)
	return reserved
}

// Next says what follows: for whom a permit is reserved now, which blocks are to be given back, and
// whether another one is needed. Where the replica is stopping, nobody who waits counts.
func (p *Permits) Next(stopping bool) (wake []*Waiter, done []Hold, short bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	for !stopping && len(p.waiting) > 0 {
		permit := p.freeLocked(now)
		if permit == nil {
			short = true
			break
		}
		w := heap.Pop(&p.waiting).(*Waiter)
		w.permit = permit
		w.Offered.Store(true)
		wake = append(wake, w)
	}
	p.blocks = slices.DeleteFunc(p.blocks, func(b *block) bool {
		over := len(b.used) == 0
		if over {
			done = append(done, b.Hold)
		}
		return over
	})
	return wake, done, short
}

// Load returns how many runs have a permit, of how many this replica has, and how many ticks wait for
// one.
func (p *Permits) Load() (used, held, waiting int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, b := range p.blocks {
		used, held = used+len(b.used), held+b.size
	}
	return used, held, len(p.waiting)
}

// Context ends when the permit is lost.
func (p *Permit) Context() context.Context { return p.block.Context() }

// Bound bounds the lease of the run by that of the permit, until the permit is returned.
func (p *Permit) Bound(run Bounded) {
	p.of.mu.Lock()
	p.run = run
	p.of.mu.Unlock()
	run.Within(p.block.Deadline())
}

// Return gives the permit back. It does nothing for nil.
func (p *Permit) Return() {
	if p == nil {
		return
	}
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	p.of.returnLocked(p)
}

func (p *Permits) returnLocked(permit *Permit) {
	delete(permit.block.used, permit)
	p.Changed.Set()
}
