package scheduler

import (
	"github.com/solotick/solotick/scheduler/internal/clock"
	"github.com/solotick/solotick/scheduler/internal/membership"
	"github.com/solotick/solotick/scheduler/internal/storehealth"

	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/solotick/solotick/internal/heartbeat"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/sleep"
	"github.com/solotick/solotick/internal/steady"
	"github.com/solotick/solotick/lease"
)

// link is a replica's link to the store. It follows whether the store answers, what its clock says,
// and how far back it remembers. It knows no jobs.
type link struct {
	fleetTime
	replica string
	renewer *lease.Renewer
	calls   *sleep.Timeout
	observe func(Event)

	// What follows from a change, for everybody else.
	announce     func()                     // heartbeats must say something else from now on
	answersAgain func()                     // after an outage
	forgot       func()                     // the records are gone, or were never read
	trusted      func(by, at time.Duration) // the clock, as it was not before: see clockTrusted

	looks      sleep.Signal  // the store's clock is to be looked at now
	firstLooks chan struct{} // of size 1: full while a look decides whether the clock is trusted at the start, which asks the store
	lookedAt   atomic.Int64  // when the store last said its time, a reading of clock.local + 1; 0 before the first time

	mu     sync.Mutex
	since  time.Time            // since when the store remembers
	unread map[string]time.Time // errors of records that cannot be read, and when an event said so
}

// newLink returns the link of a replica whose jobs are those of s.
func newLink(store lease.Store, replica string, ttl time.Duration, s *Scheduler) *link {
	l := &link{
		fleetTime: fleetTime{
			store: store, ttl: ttl, clock: clock.New(), trust: clock.NewTrust(ttl), contact: storehealth.NewContact(ttl),
			health: storehealth.New(s.storeChanged, store.Hint),
		},
		replica: replica, renewer: lease.NewRenewer(store), observe: s.observers.observe,
		calls:    sleep.NewTimeout(max(min(ttl/4, time.Second), 50*time.Millisecond)),
		announce: s.announcer.wanted.Set, answersAgain: s.answersAgain, forgot: s.storeForgot, trusted: s.clockTrusted,
		looks: sleep.NewSignal(), firstLooks: make(chan struct{}, 1),
	}
	l.renewer.Observe(l.renewed)
	return l
}

const (
	beatEvery  = time.Second             // between two looks at the store's clock, of a replica that holds leases
	idleEvery  = 1750 * time.Millisecond // of one that holds none. Messages are asked for with the time: see Watch of a store
	heldEvery  = 250 * time.Millisecond  // while that clock is not trusted, or writes fail
	probeEvery = 100 * time.Millisecond  // while the store does not answer
)

// beat keeps fleet time exact, and notices when the store answers again or has lost its records.
func (l *link) beat(ctx context.Context) {
	for after := time.Duration(0); ctx.Err() == nil; {
		wait := l.lookIn(after)
		switch {
		case wait > 0:
		case l.look():
			wait = l.lookIn(after)
		default:
			wait = probeEvery
		}
		t := time.NewTimer(min(wait, beatEvery/2)) // it may come to hold leases meanwhile
		select {
		case <-ctx.Done():
		case <-t.C:
		case <-l.looks:
			after = l.clock.Local(time.Now()) + 1
			sleep.For(ctx, lateRetry) // many claims may ask for the same look
		case <-l.health.Trouble:
			after = l.clock.Local(time.Now()) + 1
			sleep.For(ctx, probeEvery/2)
		}
		t.Stop()
	}
}

// contactEvery returns how often the store must answer so that contact lasts. It need not last
// while no lease of another replica is known: contact that begins with a lease is old enough when
// the lease runs out.
func (l *link) contactEvery() time.Duration {
	if !l.contact.Watches(l.clock.Ms()) {
		return idleEvery
	}
	return max(l.contact.Gap()/2, probeEvery)
}

// lookIn returns how long the next look at the store's clock can wait. It is 0 or less if the last
// look was not later than after, a reading of clock.Local. Heartbeats count as looks.
func (l *link) lookIn(after time.Duration) time.Duration {
	every, last := idleEvery, time.Duration(l.lookedAt.Load())
	switch {
	case last <= after:
		return 0
	case l.trust.Holds(), l.health.IsProbed():
		every = heldEvery
	case l.renewer.Held() > 0: // it writes that back when the store has lost it, and others wait no longer than heardOf
		every = beatEvery
	}
	return last + min(every, l.contactEvery()) - l.clock.Local(time.Now())
}

// look asks the store for its time, and reports whether it answered.
func (l *link) look() bool {
	ctx, cancel := l.call()
	defer cancel()
	sent := time.Now()
	now, since, err := l.store.Time(ctx)
	if err == nil {
		l.sawTime(sent, time.Now(), now, since)
	}
	l.answered(storehealth.Reads, time.Since(sent), err)
	return err == nil
}

// sawTime handles the store's time, and how far back the store remembers.
func (l *link) sawTime(sent, received, now, since time.Time) {
	l.lookedAt.Store(int64(l.clock.Local(received)) + 1)
	l.looked(sent, received, now)
	l.remembers(since)
}

// remembers handles how far back the store remembers. If that has changed, the records are gone.
func (l *link) remembers(since time.Time) {
	l.mu.Lock()
	before := l.since
	l.since = since
	l.mu.Unlock()
	if since.Equal(before) {
		return
	}
	if !before.IsZero() {
		l.contact.End()
		l.observe(RecordsLost{Since: since})
	}
	l.forgot()
	l.renewer.Check() // what this replica runs
}

// remembersSince returns how far back the store remembers.
func (l *link) remembersSince() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.since
}

// looked applies the result of a look at the store's clock.
func (l *link) looked(sent, received, now time.Time) {
	sample := l.clock.Compare(sent, received, now)
	defer func() { l.observe(ClockSampled{Offset: time.Until(l.clock.Now()), RTT: sample.RTT}) }()
	if l.trust.State() == clock.Unknown {
		l.firstLook(sample, received, now)
		return
	}
	estimate, slack := l.clock.Estimate()
	switch l.trust.Look(sample.Taken, sample.Offset, sample.RTT/2+slack+clock.Drift, estimate) {
	case clock.IsPlausible:
		l.clock.Take(sample)
	case clock.HasStepped:
		_, v := l.view()
		if v.State == clock.Stepped {
			l.observe(ClockChanged{By: v.By})
		}
		l.announce() // to the store's clock, the heartbeats from before may have ended
	case clock.HasReturned:
		l.trusted(0, sample.Taken)
	case clock.IsHeld:
	}
}

// firstLook asks this machine's clock and the live members whether the store's clock can be
// trusted. Members that cannot be asked do not count.
func (l *link) firstLook(sample clock.Sample, received, now time.Time) {
	l.firstLooks <- struct{}{}
	defer func() { <-l.firstLooks }()
	if l.trust.State() != clock.Unknown {
		return // another look was the first
	}
	var members []heartbeat.Replica
	ctx, cancel := l.call()
	if list, err := l.store.Members(ctx); err == nil {
		members, _, _ = new(membership.Heartbeats).Live(list)
	}
	cancel()
	ahead := time.Unix(0, int64(sample.Taken+sample.Offset)).Sub(received.Round(0))
	agrees := ahead.Abs() <= l.trust.Limit+sample.RTT/2
	l.clock.Restart(sample)
	sum := clock.ClocksOf(members, l.replica, now, now, l.trust.Limit)
	if !l.trust.Begin(sample.Taken, sample.Offset, agrees, sum) {
		l.observe(ClockChanged{By: ahead, Start: true})
		l.announce()
	}
}

// clockSeen adds the store's time in the answer to a claim to the estimate. If the time is not
// plausible, the next look decides.
func (l *link) clockSeen(sent, received, now time.Time) {
	sample := l.clock.Compare(sent, received, now)
	estimate, slack := l.clock.Estimate()
	if l.trust.Claimed(sample.Taken, sample.Offset, sample.RTT/2+slack+clock.Drift, estimate) {
		l.clock.Take(sample)
		return
	}
	l.looks.Set()
}

// judgeClock trusts the store's clock again if the heartbeats of live members allow it.
func (l *link) judgeClock(members []heartbeat.Replica) {
	now, v := l.view()
	if v.State == clock.Trusted {
		return
	}
	sum := clock.ClocksOf(members, l.replica, now, now.Add(-v.Steady), l.trust.Limit)
	local := l.clock.Local(time.Now())
	rebase := func(offset time.Duration) { l.clock.Restart(clock.Sample{Taken: local, Offset: offset}) }
	if l.trust.Accept(local, sum, rebase) {
		l.trusted(v.By, local)
	}
}

// answered records the result of a call of the store.
func (l *link) answered(kind storehealth.CallKind, took time.Duration, err error) {
	if errors.Is(err, protocol.ErrRecord) { // the store has answered, though not to this
		l.unreadable(err)
		kind, err = storehealth.Reads, nil
	}
	if err == nil {
		now := steady.Now()
		l.contact.Answered(now.Add(-took), now)
	}
	if l.health.Report(kind, took, err) {
		l.renewer.Check() // and what could not be settled
		l.answersAgain()
	}
}

// bounded records the result of a call with such a bound. kind is what its success shows.
func (l *link) bounded(kind storehealth.CallKind, began time.Time, err error) {
	received := time.Now()
	if b, ok := errors.AsType[*protocol.BoundsError](err); ok {
		l.answered(storehealth.Reads, received.Sub(began), nil) // the store has answered
		l.clockSeen(began, received, b.Now)
		return
	}
	if err != nil {
		kind = storehealth.Writes
	}
	l.answered(kind, received.Sub(began), err)
}

// away returns since when the store does not answer, by fleet time, or 0 if it does.
func (l *link) away() int64 {
	if l.health.IsUp() {
		return 0
	}
	silent := l.clock.Local(time.Now()) - time.Duration(l.lookedAt.Load())
	return l.clock.Ms() - silent.Milliseconds()
}

// unreadable reports which record cannot be read, at most once a minute.
func (l *link) unreadable(err error) {
	const again = time.Minute
	l.mu.Lock()
	if l.unread == nil {
		l.unread = map[string]time.Time{}
	}
	text, now := err.Error(), time.Now()
	said, known := l.unread[text]
	if known = known && now.Sub(said) < again; !known {
		l.unread[text] = now
	}
	l.mu.Unlock()
	if !known {
		l.observe(RecordUnreadable{Err: err})
	}
}

// call returns the context of a call of the store that is not on the path of a tick.
func (l *link) call() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), l.calls.Limit)
}

// renewed records a round of renewals.
func (l *link) renewed(r lease.Renewal) {
	if r.Took > 0 {
		l.answered(storehealth.Renewals, r.Took, r.Err)
	}
	l.observe(Renewed{r})
}
