package lease

import (
	"container/heap"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/sleep"
	"github.com/solotick/solotick/internal/steady"
)

// Renewal reports to an observer how renewals went.
type Renewal struct {
	Kept, Fenced, Failed int           // leases
	Replaced             int           // leases that have to make room for a newer tick
	Cancelled            int           // leases whose tick somebody has cancelled
	Took                 time.Duration // the round trip; 0 when there was none
	Err                  error         // one of the failures
	Expired              []*LostError  // leases that were lost since they could not be renewed in time
	// Margins has, for each lease that was kept, the time that was left until its deadline when the
	// answer came.
	Margins []time.Duration
}

const (
	senders = 2    // renewals under way at once: one that hangs must not hold up the others
	batch   = 1024 // leases of one call to the store

	// The renewer looks at the clock at least so often while anything is held. Its timer stands
	// still while the machine is suspended, and leases do not.
	lookEvery = 250 * time.Millisecond
)

// margin is the time between the deadline and the lease's end: for clocks that run at different
// speeds, and for timers and work that end late. A twentieth of a short TTL; of a long one a
// second, and a thousandth for the clocks.
func margin(ttl time.Duration) time.Duration { return min(ttl/20, time.Second+ttl/1000) }

// renewAfter is when a lease is renewed after it was granted or renewed. It is a third of its TTL,
// give or take a tenth of that, so that the leases of a fleet do not stay in step.
func renewAfter(ttl time.Duration) time.Duration {
	third := ttl / 3
	return third - third/10 + rand.N(third/5+1)
}

// armLocked sets the timer to when the renewer has to look again.
func (k *Renewer) armLocked(t steady.Instant) {
	if len(k.leases) == 0 {
		return // disarmed
	}
	k.wakes = min(k.nextLocked(), t.Add(lookEvery))
	wait := t.Until(k.wakes)
	if k.timer == nil {
		k.timer = time.AfterFunc(wait, k.look)
		k.looks++
	} else if !k.timer.Reset(wait) {
		k.looks++ // otherwise this look takes the place of the one that the timer was to make
	}
}

func (k *Renewer) disarmLocked() {
	k.wakes = steady.Never
	if k.timer != nil && k.timer.Stop() {
		k.lookedLocked()
	}
}

func (k *Renewer) lookedLocked() {
	if k.looks--; k.looks == 0 {
		k.changed.Broadcast()
	}
}

// nextLocked is when there is something to do. With all senders busy, renewals have to wait for one
// of them.
func (k *Renewer) nextLocked() steady.Instant {
	if k.sending < senders {
		return k.leases[0].due()
	}
	next := steady.Never
	for _, l := range k.leases {
		next = min(next, l.end())
	}
	return next
}

// look ends leases at their deadlines and sends one batch of renewals. The timer starts another
// look for the other leases that are due, without waiting for the answer to this one. A deadline is
// kept whatever the store does.
func (k *Renewer) look() {
	k.mu.Lock()
	t := steady.Now()
	expired := k.expireLocked(t)
	due := k.dueLocked(t)
	var sends context.Context
	if len(due) > 0 {
		k.sending++
		sends = k.sendsLocked()
	}
	k.armLocked(t)
	k.mu.Unlock()

	if len(expired) > 0 {
		k.observe(Renewal{Expired: expired})
	}
	if len(due) > 0 {
		k.renew(sends, due)
	}

	k.mu.Lock()
	k.lookedLocked()
	k.mu.Unlock()
}

// sendsLocked returns the context of calls of the store, which ends with Close.
func (k *Renewer) sendsLocked() context.Context {
	if k.abort == nil {
		k.sends, k.abort = context.WithCancel(context.Background())
	}
	return k.sends
}

func (k *Renewer) expireLocked(t steady.Instant) (expired []*LostError) {
	// A deadline that has come is due, and the top of the heap is due first.
	var over []*Lease
	var visit func(i int)
	visit = func(i int) {
		if i >= len(k.leases) || k.leases[i].due() > t {
			return
		}
		if k.leases[i].end() <= t {
			over = append(over, k.leases[i])
		}
		visit(2*i + 1)
		visit(2*i + 2)
	}
	visit(0)
	for _, l := range over {
		reason := protocol.LostExpired
		if t >= l.heldUntil {
			reason = protocol.LostMaxHold
		}
		lost := l.lostLocked(reason)
		k.dropLocked(l, lost)
		if !l.yielding { // else its context ended before
			expired = append(expired, lost)
		}
	}
	return expired
}

// dueLocked takes the leases whose renewal is due, or will be soon: then they travel with the
// others.
func (k *Renewer) dueLocked(t steady.Instant) (due []*Lease) {
	if k.sending >= senders {
		return nil
	}
	for len(k.leases) > 0 && len(due) < batch {
		l := k.leases[0]
		if l.renewing || l.yielding || l.renewAt > l.startBy || l.due() > t.Add(l.grant.TTL/64) || (len(due) == 0 && l.due() > t) {
			break
		}
		l.renewing = true
		heap.Fix(&k.leases, 0)
		due = append(due, l)
	}
	return due
}

// renew sends one batch and takes in the answers.
func (k *Renewer) renew(ctx context.Context, due []*Lease) {
	limit := due[0].grant.TTL
	for _, l := range due {
		limit = min(limit, l.grant.TTL)
	}
	ctx, cancel := context.WithTimeout(ctx, max(limit/6, 10*time.Millisecond))
	began := time.Now()
	sent := steady.Of(began)
	answers := k.ask(ctx, due)
	cancel()
	r := Renewal{Took: time.Since(began), Margins: make([]time.Duration, 0, len(due))}

	var notified []*Lease
	k.mu.Lock()
	k.sending--
	t := steady.Now()
	for i, l := range due {
		l.renewing = false
		if l.index < 0 {
			continue // settled, released, or lost meanwhile
		}
		switch err := answers[i]; {
		case err == nil:
			r.Kept++
			left, extended := k.extendLocked(l, sent, t)
			r.Margins = append(r.Margins, max(left, 0))
			if extended && len(l.listeners) > 0 {
				notified = append(notified, l)
			}
		case errors.Is(err, ErrFenced):
			if !l.ending {
				r.Fenced++
			}
			k.dropLocked(l, l.lostLocked(protocol.LostFenced))
		case errors.Is(err, ErrReplaced):
			r.Replaced++
			k.yieldLocked(l, err)
		case errors.Is(err, ErrCancelled):
			r.Cancelled++
			k.yieldLocked(l, err)
		default: // which is tried again soon
			r.Failed++
			r.Err, l.last = err, err
			k.againLocked(l, t)
		}
		if l.again && l.index >= 0 {
			l.again, l.renewAt = false, min(l.renewAt, t)
			heap.Fix(&k.leases, l.index)
		}
	}
	k.armLocked(t)
	k.mu.Unlock()

	if r.Kept+r.Fenced+r.Failed+r.Replaced+r.Cancelled > 0 {
		k.observe(r)
	}
	for _, l := range notified {
		l.notify()
	}
}

// ask renews the leases of ticks and those of locks, by a call each, at the same time.
func (k *Renewer) ask(ctx context.Context, due []*Lease) []error {
	grants, locks := make([]protocol.Grant, 0, len(due)), []protocol.LockGrant(nil)
	for _, l := range due {
		if l.lock == nil {
			grants = append(grants, l.current())
		} else {
			locks = append(locks, *l.lock)
		}
	}
	if len(locks) == 0 {
		return k.store.Renew(ctx, grants)
	}
	var ofTicks []error
	var ticks sync.WaitGroup
	if len(grants) > 0 {
		ticks.Go(func() { ofTicks = k.store.Renew(ctx, grants) })
	}
	ofLocks := k.store.RenewLocks(ctx, locks)
	ticks.Wait()
	answers := make([]error, len(due))
	for i, l := range due {
		from := &ofTicks
		if l.lock != nil {
			from = &ofLocks
		}
		answers[i], *from = (*from)[0], (*from)[1:]
	}
	return answers
}

// extendLocked takes in a renewal that was sent then and answered at t. An answer after the
// deadline is too late: the lease has ended, even if the timer that says so has not fired yet. It
// returns the time that remained until then.
func (k *Renewer) extendLocked(l *Lease, sent, t steady.Instant) (left time.Duration, extended bool) {
	left = t.Until(l.end())
	if extended = left > 0; extended {
		if l.renewals++; l.least == 0 || left < l.least {
			l.least = left
		}
		if len(l.margins) == maxMargins {
			l.margins = slices.Delete(l.margins, 0, 1)
		}
		l.margins = append(l.margins, left)
		l.proved = max(l.proved, min(sent.Add(l.grant.TTL-margin(l.grant.TTL)), l.heldUntil))
		l.deadline.Store(int64(min(l.proved, l.within)))
		l.failures, l.last = 0, nil
		l.renewAt = sent.Add(renewAfter(l.grant.TTL))
	}
	heap.Fix(&k.leases, l.index)
	return left, extended
}

// againLocked has another try after a renewal that failed.
func (k *Renewer) againLocked(l *Lease, t steady.Instant) {
	most := max(l.grant.TTL/12, time.Microsecond)
	l.renewAt = t.Add(sleep.Backoff(l.failures, min(25*time.Millisecond, most), most))
	l.failures++
	heap.Fix(&k.leases, l.index)
}

// renewed takes in a renewal that the renewer did not send.
func (k *Renewer) renewed(l *Lease, sent steady.Instant) {
	k.mu.Lock()
	extended := false
	if l.index >= 0 {
		_, extended = k.extendLocked(l, sent, steady.Now())
	}
	k.mu.Unlock()
	if extended {
		l.notify()
	}
}

// started ends the wait for the holder to begin.
func (k *Renewer) started(l *Lease) {
	k.mu.Lock()
	defer k.mu.Unlock()
	l.startBy = steady.Never
	if l.index < 0 {
		return
	}
	heap.Fix(&k.leases, l.index)
	if l.due() < k.wakes {
		k.armLocked(steady.Now())
	}
}

// yield ends the context of a lease that has to make room or was cancelled, as cause says, and
// renews it no more.
func (k *Renewer) yield(l *Lease, cause error) {
	k.mu.Lock()
	if l.index >= 0 {
		k.yieldLocked(l, cause)
		k.armLocked(steady.Now())
	}
	k.mu.Unlock()
}

func (k *Renewer) yieldLocked(l *Lease, cause error) {
	l.yielding = true
	heap.Fix(&k.leases, l.index)
	l.cancel(cause)
}

// check makes the renewal of l due.
func (k *Renewer) check(l *Lease) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if l.index < 0 {
		return
	}
	if l.renewing { // the store may have answered before the news that the holder has
		l.again = true
		return
	}
	t := steady.Now()
	l.renewAt = min(l.renewAt, t)
	heap.Fix(&k.leases, l.index)
	if l.due() < k.wakes {
		k.armLocked(t)
	}
}

// trying notes that a try to settle or to release is under way, or is not any more.
func (k *Renewer) trying(limit *limited, is bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !is {
		delete(k.tries, limit)
		return
	}
	if k.tries == nil {
		k.tries = make(map[*limited]struct{})
	}
	k.tries[limit] = struct{}{}
}

// Check renews all leases soon instead of in their time, and ends calls of Settle and Release that
// hang for another try. It is for a holder that learned that the store may have lost them, or
// answers again.
func (k *Renewer) Check() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for limit := range k.tries {
		limit.cut()
	}
	t := steady.Now()
	for _, l := range k.leases {
		l.renewAt = min(l.renewAt, t)
	}
	heap.Init(&k.leases)
	if len(k.leases) > 0 && k.leases[0].due() < k.wakes {
		k.armLocked(t)
	}
}
