package scheduler

import (
	"github.com/solotick/solotick/scheduler/internal/clock"
	"github.com/solotick/solotick/scheduler/internal/storehealth"

	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/steady"
	"github.com/solotick/solotick/lease"
)

// fleetTime is the store's clock and the contact with the store, and what follows from both for a
// request that is sent now: until when it may change anything, and what it may take over.
type fleetTime struct {
	store   lease.Store
	ttl     time.Duration
	clock   *clock.Clock
	trust   *clock.Trust
	health  *storehealth.Health
	contact *storehealth.Contact
}

// until returns the latest store time at which a request that is sent now may change anything.
func (t *fleetTime) until() time.Time { return t.clock.Now().Add(t.trust.Limit) }

// takeoverUntil returns the latest store time at which a claim that is sent now may take over a
// lease. A live holder has renewed within a third of the TTL. While nothing may be taken over, that
// time is long past.
func (t *fleetTime) takeoverUntil() time.Time {
	if t.quietFor() > 0 {
		return never
	}
	return t.clock.Now().Add(max(t.ttl/3, minTakeoverBound))
}

// minTakeoverBound is the least time that a request has to reach the store, however short the TTL.
const minTakeoverBound = 200 * time.Millisecond

// view returns the present time of the store, trusted or not, and what this replica knows of
// that clock.
func (t *fleetTime) view() (time.Time, clock.View) {
	local := t.clock.Local(time.Now())
	estimate, _ := t.clock.Estimate()
	v := t.trust.View(local, estimate)
	return time.Unix(0, int64(local+v.Offset)).UTC(), v
}

// quietFor returns how long nothing may be taken over, because the store's clock has stepped and
// live holders must renew first.
func (t *fleetTime) quietFor() time.Duration {
	return t.trust.QuietFor(t.clock.Local(time.Now()))
}

// settling reports whether a call of the store failed a moment ago, so that runs which have ended
// since may not be settled yet.
func (t *fleetTime) settling() bool {
	failed := t.health.FailedLast()
	return !failed.IsZero() && (!t.health.IsUp() || time.Since(failed) < protocol.ReturnGrace(t.ttl))
}

// contactWith returns the contact with the part of the store that keeps a job: see Contact.LastsFor.
func (t *fleetTime) contactWith(job string, f *storehealth.Failures, now steady.Instant) (since, until steady.Instant, ok bool) {
	return t.contact.LastsFor(f, now, func(gap time.Duration) (begun, ends steady.Instant, ok bool) {
		return t.store.ReachedSince(job, gap)
	})
}

// takeoverBounds returns which leases a claim of a job that is sent now may treat as ended: until
// when, by the store's clock, it may take one over, and since when the store answers.
func (t *fleetTime) takeoverBounds(job string, f *storehealth.Failures) (until, contactSince time.Time) {
	now, fleet := steady.Now(), t.clock.Now()
	since, ends, ok := t.contactWith(job, f, now)
	until = never
	if ok {
		until = t.takeoverUntil()
		if e := fleet.Add(now.Until(ends)); e.Before(until) {
			until = e
		}
	}
	return until, fleet.Add(-since.Until(now))
}

// takeoverWait returns how long a claim of a job must wait before it may take over from a holder that
// was out of reach, as this replica may have been. may reports whether it may take over other leases
// now.
func (t *fleetTime) takeoverWait(job string, f *storehealth.Failures) (wait time.Duration, may bool) {
	now := steady.Now()
	since, _, ok := t.contactWith(job, f, now)
	quiet := t.quietFor()
	if !ok {
		return max(probeEvery, quiet), false
	}
	return max(now.Until(since.Add(protocol.ReturnGrace(t.ttl))), quiet, lateRetry), quiet == 0
}

// lateRetry is the wait after a claim that the store's clock has refused.
const lateRetry = 10 * time.Millisecond

// never is a time that is long past by every store's clock.
var never = time.UnixMilli(1)

// utc returns the time of a tick.
func utc(tick int64) time.Time { return time.UnixMilli(tick).UTC() }
