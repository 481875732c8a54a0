package lease

import (
	"container/heap"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/steady"
)

// Renewer renews leases in batches and ends each at its deadline. It has no goroutine while nothing
// is due: one timer starts them, and at most two at once wait for the store. It is safe for
// concurrent use.
type Renewer struct {
	store   Store
	observe func(Renewal)

	mu      sync.Mutex
	leases  leaseHeap             // by when the renewer has to do something about them
	timer   *time.Timer           // calls look; made at the first need, in whose goroutine's synctest bubble it then belongs
	wakes   steady.Instant        // when the timer fires; never when it is stopped
	looks   int                   // calls of look that are under way or that the timer will make
	sending int                   // renewals under way
	closing int                   // calls of Close
	tries   map[*limited]struct{} // to settle or to release, after a first that failed
	changed *sync.Cond            // looks or closing has become 0
	sends   context.Context
	abort   context.CancelFunc // ends sends; nil when it is not made

	unwritten map[*Lease]struct{} // have checkpoints to write
	writer    *time.Timer         // calls write; made at the first need
	writes    steady.Instant      // when the timer fires; 0 when it is stopped
	writing   bool                // write is under way
}

// NewRenewer returns a renewer of leases that store grants.
func NewRenewer(store Store) *Renewer {
	k := &Renewer{store: store, observe: func(Renewal) {}, wakes: steady.Never}
	k.changed = sync.NewCond(&k.mu)
	return k
}

// Observe makes k call f after each renewal and each expiry. Call it before k keeps a lease. f must
// not block, nor call Close of the renewer, and may be called by several goroutines at once.
func (k *Renewer) Observe(f func(Renewal)) { k.observe = f }

// Acquire claims with a renewer of its own and returns the lease. See [Renewer.Acquire].
func Acquire(ctx context.Context, store Store, c Claim) (*Lease, error) {
	return NewRenewer(store).Acquire(ctx, c)
}

// Acquire claims once, without waiting for another holder, and keeps the lease that is granted. ctx
// is the parent of the lease's context; when it ends, the lease is not released. The first tick
// ever of a name is granted whatever its number.
//
// The error is a [*HeldError] if another holds the name or the place of an open tick, and wraps
// [ErrDecided] if the tick is settled. After any other error the claim may have been granted; the
// same claim with the same Request gets the same grant.
func (k *Renewer) Acquire(ctx context.Context, c Claim) (*Lease, error) {
	return k.acquire(ctx, c.asked())
}

func (k *Renewer) acquire(ctx context.Context, c protocol.Claim) (*Lease, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	for synced := false; ; synced = true {
		sent := steady.Now()
		a, err := k.store.Claim(ctx, c)
		if err != nil {
			return nil, err
		}
		switch a.Status {
		case protocol.Granted:
			return k.Keep(ctx, c, a, sent), nil
		case protocol.Held, protocol.Busy, protocol.Queued:
			return nil, &HeldError{Name: c.Name, Holder: a.Holder, Remaining: a.Remaining}
		case protocol.Decided, protocol.Skipped, protocol.Lost, protocol.Paused:
			return nil, fmt.Errorf("%w: %q at %d", ErrDecided, c.Name, c.Tick)
		case protocol.Unknown:
			if synced {
				return nil, fmt.Errorf("lease: the store forgot %q at once", c.Name)
			}
			if _, err := k.store.Sync(ctx, []protocol.Sync{{Name: c.Name, Watermark: c.Known, Known: c.Known}}); err != nil {
				return nil, err
			}
		case protocol.Early, protocol.Late:
			return nil, fmt.Errorf("lease: claim of %q at %d is %s: the store's clock says %s", c.Name, c.Tick, a.Status, a.Now)
		default:
			return nil, fmt.Errorf("lease: claim of %q: unexpected answer %s", c.Name, a.Status)
		}
	}
}

// Keep renews what a granted for c, from now on. sent must have been taken right before the request
// was sent that a answers: a repeated claim is answered with the rest of the lease. ctx is the
// parent of the lease's context. With a MaxHold the lease is lost so long after sent.
func (k *Renewer) Keep(ctx context.Context, c protocol.Claim, a protocol.Answer, sent steady.Instant) *Lease {
	return k.keep(ctx, &Lease{grant: protocol.Grant{
		Name: c.Name, Tick: c.Tick, Holder: c.Holder, Request: c.Request,
		Token: a.Token, Attempt: a.Attempt, Takeovers: a.Takeovers, TTL: c.TTL, Payload: a.Payload, Again: a.Again,
	}}, a.Remaining, c.MaxHold, sent)
}

// KeepLock is Keep for permits of a lock that the store has granted. A maxHold of 0 means no bound.
func (k *Renewer) KeepLock(ctx context.Context, c protocol.LockClaim, a protocol.LockAnswer, maxHold time.Duration, sent steady.Instant) *Lease {
	lock := c.Grant(a)
	return k.keep(ctx, &Lease{lock: &lock, grant: protocol.Grant{Name: c.Name, Token: a.Token, TTL: c.TTL}}, a.Remaining, maxHold, sent)
}

// keep renews l. remaining is what the store said remained when it answered the request of sent.
func (k *Renewer) keep(ctx context.Context, l *Lease, remaining, maxHold time.Duration, sent steady.Instant) *Lease {
	ttl := l.grant.TTL
	l.renewer, l.heldUntil, l.within, l.startBy = k, steady.Never, steady.Never, steady.Never
	l.ctx, l.cancel = context.WithCancelCause(ctx)
	l.attempt.Store(int64(l.grant.Attempt))
	remaining = min(remaining, ttl)
	if maxHold > 0 {
		l.heldUntil = sent.Add(maxHold)
	}
	l.proved = min(sent.Add(remaining-margin(ttl)), l.heldUntil)
	l.deadline.Store(int64(l.proved))
	l.renewAt = sent.Add(remaining - ttl + renewAfter(ttl)) // an old lease is due sooner

	k.mu.Lock()
	defer k.mu.Unlock()
	for k.closing > 0 {
		k.changed.Wait()
	}
	heap.Push(&k.leases, l)
	if l.due() < k.wakes {
		k.armLocked(steady.Now())
	}
	return l
}

// within bounds a lease by a deadline.
func (k *Renewer) within(l *Lease, deadline steady.Instant) {
	k.mu.Lock()
	if l.within == steady.Never || l.within < deadline {
		l.within = deadline
	}
	before := l.end()
	l.deadline.Store(int64(min(l.proved, l.within)))
	if l.index >= 0 {
		heap.Fix(&k.leases, l.index)
		if l.due() < k.wakes {
			k.armLocked(steady.Now())
		}
	}
	k.mu.Unlock()
	if l.end() > before {
		l.notify()
	}
}

// Held returns how many leases the renewer keeps.
func (k *Renewer) Held() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.leases)
}

// Close lets go of all leases without asking the store, ends the renewals that are under way and
// waits for them and for the observer. It leaves the renewer usable: leases that come meanwhile
// wait until Close is done.
func (k *Renewer) Close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closing++
	for len(k.leases) > 0 {
		k.dropLocked(k.leases[0], ErrReleased)
	}
	if k.abort != nil {
		k.abort()
		k.sends, k.abort = nil, nil
	}
	for k.looks > 0 {
		k.changed.Wait()
	}
	k.closing--
	k.changed.Broadcast()
}

// ending notifies the renewer that the holder is about to settle or release.
func (k *Renewer) ending(l *Lease) {
	k.mu.Lock()
	l.ending = true
	l.over.Store(true)
	k.mu.Unlock()
}

// fenced ends l because the store said that the grant is not current.
func (k *Renewer) fenced(l *Lease) {
	k.mu.Lock()
	k.dropLocked(l, l.lostLocked(protocol.LostFenced))
	k.mu.Unlock()
}

func (k *Renewer) drop(l *Lease, cause error) {
	k.mu.Lock()
	k.dropLocked(l, cause)
	k.mu.Unlock()
}

// dropLocked lets go of l, if that has not happened yet.
func (k *Renewer) dropLocked(l *Lease, cause error) {
	if l.index < 0 {
		return
	}
	l.over.Store(true)
	if l.points != nil {
		delete(k.unwritten, l)
		defer func() { l.points.answer(l.refused(l.ctx)) }()
	}
	heap.Remove(&k.leases, l.index)
	if len(k.leases) == 0 {
		k.disarmLocked()
	}
	l.listeners = nil
	l.cancel(cause)
}

// leaseHeap is a heap of leases by when they are due; each knows its place.
type leaseHeap []*Lease

func (h leaseHeap) Len() int           { return len(h) }
func (h leaseHeap) Less(i, j int) bool { return h[i].due() < h[j].due() }
func (h leaseHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push implements heap.Interface.
func (h *leaseHeap) Push(x any) {
	l := x.(*Lease)
	l.index = len(*h)
	*h = append(*h, l)
}

// Pop implements heap.Interface.
func (h *leaseHeap) Pop() any {
	old := *h
	l := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	l.index = -1
	return l
}

// limited is a context with a deadline that makes a timer only when somebody waits for it. A store
// in this process answers without, and the timer would be a good part of the cost.
type limited struct {
	context.Context // the parent
	deadline        time.Time

	mu     sync.Mutex
	made   context.Context // nil until it is needed
	cancel context.CancelFunc
}

func newLimited(parent context.Context, d time.Duration) *limited {
	return &limited{Context: parent, deadline: time.Now().Add(d)}
}

// timed returns the context with the timer.
func (c *limited) timed() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.made == nil {
		c.made, c.cancel = context.WithDeadline(c.Context, c.deadline)
	}
	return c.made
}

// current returns the context that knows whether c has ended.
func (c *limited) current() context.Context {
	c.mu.Lock()
	made := c.made
	c.mu.Unlock()
	switch {
	case made != nil:
		return made
	case c.Context.Err() == nil && !time.Now().Before(c.deadline):
		return c.timed()
	default:
		return c.Context
	}
}

// cut ends c now, for those that wait for it.
func (c *limited) cut() {
	c.timed()
	c.stop()
}

// stop ends c. A later look may find it alive if nobody has waited for it before.
func (c *limited) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cancel != nil {
		c.cancel()
	}
}

func (c *limited) Deadline() (time.Time, bool) {
	if d, ok := c.Context.Deadline(); ok && d.Before(c.deadline) {
		return d, true
	}
	return c.deadline, true
}

func (c *limited) Done() <-chan struct{} { return c.timed().Done() }
func (c *limited) Err() error            { return c.current().Err() }
func (c *limited) Value(key any) any     { return c.current().Value(key) }
