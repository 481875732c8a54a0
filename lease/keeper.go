package lease

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Keeper renews leases, all of them on one goroutine, which runs while there are any, and at most two more that wait for
// the store. It is safe for concurrent use.
type Keeper struct {
	store   Store
	observe func(Renewal)

	mu      sync.Mutex
	leases  leaseHeap // by when the keeper has to do something about them
	running bool
	sending int
	sleeps  instant       // until when the goroutine sleeps
	wake    chan struct{} // of size 1: wake-ups may coalesce
	stopped chan struct{} // closed when the goroutine has ended
}

// Renewal tells an observer how renewals went.
type Renewal struct {
	Kept, Fenced, Failed int           // leases
	Took                 time.Duration // the round trip
	Err                  error         // one of the failures
	Expired              []*LostError  // leases that were lost since they could not be renewed in time
}

const (
	senders = 2    // renewals under way at once: one that hangs must not hold up the others
	batch   = 1024 // leases of one call to the store
)

// KeeperOption changes a default of [NewKeeper].
type KeeperOption func(*Keeper)

// WithObserver calls f after each renewal and each expiry. f must not block.
func WithObserver(f func(Renewal)) KeeperOption { return func(k *Keeper) { k.observe = f } }

// NewKeeper returns a keeper of leases that store grants.
func NewKeeper(store Store, opts ...KeeperOption) *Keeper {
	k := &Keeper{store: store, observe: func(Renewal) {}, wake: make(chan struct{}, 1)}
	for _, o := range opts {
		o(k)
	}
	return k
}

// Acquire claims with a keeper of its own and returns the lease. See [Keeper.Acquire].
func Acquire(ctx context.Context, store Store, c Claim) (*Lease, error) {
	return NewKeeper(store).Acquire(ctx, c)
}

var requests atomic.Uint64

// NewRequest returns a request id that no other call in this process returns; with the holder's id it is unique.
func NewRequest() string { return "r" + strconv.FormatUint(requests.Add(1), 36) }

// Acquire claims once, without waiting for another holder, and keeps the lease that is granted. ctx is the parent of the
// lease's context; its end does not release the lease. The name's first occasion ever is granted whatever its number.
//
// The error is a [*HeldError] when another holds the name, or another occasion of it that the claim's overlap minds;
// [ErrDecided] when the occasion is settled; and says why else the claim was not granted. Any other error leaves it open whether
// it was granted: the same claim with the same Request gets the same grant.
func (k *Keeper) Acquire(ctx context.Context, c Claim) (*Lease, error) {
	if c.Request == "" {
		c.Request = NewRequest()
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	for synced := false; ; synced = true {
		sent := Sent()
		a, err := k.store.Claim(ctx, c)
		if err != nil {
			return nil, err
		}
		switch a.Status {
		case Granted:
			return k.Keep(ctx, c, a, sent), nil
		case Held, Busy:
			return nil, &HeldError{Name: c.Name, Holder: a.Holder, Left: a.Left}
		case Decided, Skipped, Lost:
			return nil, fmt.Errorf("%w: %q at %d", ErrDecided, c.Name, c.Occasion)
		case Unknown:
			if synced {
				return nil, fmt.Errorf("lease: the store forgot %q at once", c.Name)
			}
			if _, err := k.store.Sync(ctx, []Sync{{Name: c.Name, Mark: c.Known, Known: c.Known}}); err != nil {
				return nil, err
			}
		case Early, Late:
			return nil, fmt.Errorf("lease: claim of %q at %d is %s: the store's clock says %s", c.Name, c.Occasion, a.Status, a.Now)
		default:
			return nil, fmt.Errorf("lease: claim of %q: unexpected answer %s", c.Name, a.Status)
		}
	}
}

// Moment is when a request was sent; see [Sent].
type Moment struct{ at instant }

// Sent marks the moment before a claim is sent, from which [Keeper.Keep] counts the lease.
func Sent() Moment { return Moment{now()} }

// Keep renews what a granted for c, from now on. sent must have been taken right before the request was sent that a
// answers: a repeated claim is answered with what is left of the lease then. ctx is the parent of the lease's context.
func (k *Keeper) Keep(ctx context.Context, c Claim, a Answer, sent Moment) *Lease {
	l := &Lease{
		keeper: k,
		grant: Grant{
			Name: c.Name, Occasion: c.Occasion, Holder: c.Holder, Request: c.Request,
			Token: a.Token, Attempt: a.Attempt, Takeovers: a.Takeovers, Term: c.Term,
		},
	}
	l.ctx, l.cancel = context.WithCancelCause(ctx)
	l.attempt.Store(int64(a.Attempt))
	l.deadline.Store(int64(sent.at.add(min(a.Left, c.Term) - margin(c.Term))))

	k.mu.Lock()
	defer k.mu.Unlock()
	l.renewAt = sent.at.add(renewAfter(c.Term))
	heap.Push(&k.leases, l)
	if !k.running {
		k.running = true
		k.stopped = make(chan struct{})
		go k.run(k.stopped)
	} else if l.due() < k.sleeps {
		k.nudge()
	}
	return l
}

// renewAfter is when a lease is renewed after it was granted or renewed: at a third of its term, give or take a tenth of
// that, so that the leases of a fleet do not stay in step.
func renewAfter(term time.Duration) time.Duration {
	third := term / 3
	return third - third/10 + rand.N(third/5+1)
}

// Held returns how many leases the keeper keeps.
func (k *Keeper) Held() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.leases)
}

// Close lets go of all leases without telling the store, waits until the keeper's goroutines have ended, and leaves it
// usable.
func (k *Keeper) Close() {
	k.mu.Lock()
	for len(k.leases) > 0 {
		k.dropLocked(k.leases[0], ErrReleased)
	}
	running, stopped := k.running, k.stopped
	k.nudge()
	k.mu.Unlock()
	if running {
		<-stopped
	}
}

func (k *Keeper) nudge() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// run ends leases at their deadlines and sends renewals. It never waits for the store, so that a deadline is kept
// whatever the store does.
func (k *Keeper) run(stopped chan struct{}) {
	defer close(stopped)
	var sends sync.WaitGroup
	defer sends.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		k.mu.Lock()
		t := now()
		expired := k.expireLocked(t)
		if due := k.dueLocked(t); len(due) > 0 {
			k.sending++
			sends.Go(func() { k.renew(due) })
		}
		if len(k.leases) == 0 {
			k.running = false
			k.mu.Unlock()
			k.report(expired)
			return
		}
		k.sleeps = k.nextLocked()
		wait := t.until(k.sleeps)
		k.mu.Unlock()
		k.report(expired)

		timer.Reset(wait)
		select {
		case <-timer.C:
		case <-k.wake:
		}
	}
}

func (k *Keeper) report(expired []*LostError) {
	if len(expired) > 0 {
		k.observe(Renewal{Expired: expired})
	}
}

// nextLocked is when the goroutine has to look again. With all senders busy, renewals have to wait for one of them.
func (k *Keeper) nextLocked() instant {
	if k.sending < senders {
		return k.leases[0].due()
	}
	next := instant(k.leases[0].deadline.Load())
	for _, l := range k.leases {
		next = min(next, instant(l.deadline.Load()))
	}
	return next
}

func (k *Keeper) expireLocked(t instant) (expired []*LostError) {
	// The heap is ordered by what is due, and a deadline that is due comes with it: look at those only.
	var later []*Lease
	for len(k.leases) > 0 && k.leases[0].due() <= t {
		l := k.leases[0]
		if instant(l.deadline.Load()) <= t {
			lost := &LostError{Name: l.grant.Name, Occasion: l.grant.Occasion, Token: l.grant.Token, Reason: LostExpired, Last: l.last}
			k.dropLocked(l, lost)
			expired = append(expired, lost)
			continue
		}
		heap.Pop(&k.leases)
		later = append(later, l)
	}
	for _, l := range later {
		heap.Push(&k.leases, l)
	}
	return expired
}

// dueLocked takes the leases whose renewal is due, or will be soon: then they travel with the others.
func (k *Keeper) dueLocked(t instant) (due []*Lease) {
	if k.sending >= senders {
		return nil
	}
	for len(k.leases) > 0 && len(due) < batch {
		l := k.leases[0]
		if l.renewing || l.due() > t.add(l.grant.Term/64) || (len(due) == 0 && l.due() > t) {
			break
		}
		l.renewing = true
		heap.Fix(&k.leases, 0)
		due = append(due, l)
	}
	return due
}

// renew sends one batch and takes in the answers.
func (k *Keeper) renew(due []*Lease) {
	grants := make([]Grant, len(due))
	limit := due[0].grant.Term
	for i, l := range due {
		grants[i] = l.current()
		limit = min(limit, l.grant.Term)
	}
	sent := now()
	began := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), max(limit/6, 10*time.Millisecond))
	answers := k.store.Renew(ctx, grants)
	cancel()
	r := Renewal{Took: time.Since(began)}

	type call struct {
		f        *func(time.Time)
		deadline instant
	}
	var calls []call
	k.mu.Lock()
	k.sending--
	for i, l := range due {
		l.renewing = false
		err := answers[i]
		if l.index < 0 {
			continue // settled, released, or lost meanwhile: a late answer revives nothing
		}
		switch {
		case err == nil:
			r.Kept++
			k.extendLocked(l, sent)
			for _, f := range l.listeners {
				calls = append(calls, call{f, instant(l.deadline.Load())})
			}
		case errors.Is(err, ErrFenced) && !l.ending:
			r.Fenced++
			k.dropLocked(l, &LostError{Name: l.grant.Name, Occasion: l.grant.Occasion, Token: l.grant.Token, Reason: LostFenced, Last: l.last})
		default:
			r.Failed++
			r.Err, l.last = err, err
			l.renewAt = now().add(retryDelay(l.failures, max(l.grant.Term/12, 50*time.Millisecond)))
			l.failures++
			heap.Fix(&k.leases, l.index)
		}
	}
	k.nudge()
	k.mu.Unlock()

	k.observe(r)
	for _, c := range calls {
		(*c.f)(c.deadline.time())
	}
}

// extendLocked takes in a renewal that was sent then.
func (k *Keeper) extendLocked(l *Lease, sent instant) {
	deadline := sent.add(l.grant.Term - margin(l.grant.Term))
	if deadline > instant(l.deadline.Load()) {
		l.deadline.Store(int64(deadline))
	}
	l.failures, l.last = 0, nil
	l.renewAt = sent.add(renewAfter(l.grant.Term))
	heap.Fix(&k.leases, l.index)
}

// renewed takes in a renewal that the keeper did not send.
func (k *Keeper) renewed(l *Lease, sent instant) {
	k.mu.Lock()
	if l.index < 0 {
		k.mu.Unlock()
		return
	}
	k.extendLocked(l, sent)
	listeners, deadline := l.listeners, instant(l.deadline.Load())
	k.mu.Unlock()
	for _, f := range listeners {
		(*f)(deadline.time())
	}
}

// ending tells the keeper that the holder is about to settle or release.
func (k *Keeper) ending(l *Lease) {
	k.mu.Lock()
	l.ending = true
	k.mu.Unlock()
}

func (k *Keeper) drop(l *Lease, cause error) {
	k.mu.Lock()
	k.dropLocked(l, cause)
	if k.running && len(k.leases) == 0 {
		k.nudge()
	}
	k.mu.Unlock()
}

func (k *Keeper) dropLocked(l *Lease, cause error) {
	if l.index >= 0 && l.index < len(k.leases) && k.leases[l.index] == l {
		heap.Remove(&k.leases, l.index)
	}
	l.index = -1
	l.listeners = nil
	l.cancel(cause)
}

// due is when the keeper has to do something about l.
func (l *Lease) due() instant {
	deadline := instant(l.deadline.Load())
	if l.renewing {
		return deadline
	}
	return min(l.renewAt, deadline)
}

type leaseHeap []*Lease

func (h leaseHeap) Len() int           { return len(h) }
func (h leaseHeap) Less(i, j int) bool { return h[i].due() < h[j].due() }
func (h leaseHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *leaseHeap) Push(x any) {
	l := x.(*Lease)
	l.index = len(*h)
	*h = append(*h, l)
}

func (h *leaseHeap) Pop() any {
	old := *h
	l := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return l
}
