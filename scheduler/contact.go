package scheduler

import (
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/steady"
)

// contactEvery returns how often the store must answer so that contact lasts. It need not last
// while no lease of another replica is known: contact that begins with a lease is old enough when
// the lease runs out.
func (s *Scheduler) contactEvery() time.Duration {
	if !s.contact.Watches(s.clock.Ms()) {
		return idleEvery
	}
	return max(s.contact.Gap()/2, probeEvery)
}

// settling reports whether a call of the store failed a moment ago, so that runs which have ended
// since may not be settled yet.
func (s *Scheduler) settling() bool {
	failed := s.health.FailedLast()
	return !failed.IsZero() && (!s.health.IsUp() || time.Since(failed) < protocol.ReturnGrace(s.ttl))
}

// contactLocked returns the contact with the part of the store that keeps the job.
func (c *contender) contactLocked(now steady.Instant) (since, until steady.Instant, ok bool) {
	since, until, ok = c.s.contact.Lasts(now)
	if c.contact != 0 {
		since = max(since, c.contact)
	}
	if ok {
		var begun, ends steady.Instant
		begun, ends, ok = c.s.store.ReachedSince(c.name, c.s.contact.Gap())
		if begun != 0 {
			since, until = max(since, begun), min(until, ends)
		}
	}
	return since, until, ok && !c.silentLocked(now)
}

// silentLocked reports whether the job's requests have failed for so long that those of a holder
// may have failed too. If the store has several servers, others may have answered meanwhile.
func (c *contender) silentLocked(now steady.Instant) bool {
	return c.failing != 0 && c.failing.Until(now) > c.s.contact.Gap()
}

// boundTakeoverLocked sets which leases a claim that is sent now may treat as ended. If the claim
// arrives after the contact that it names has ended, it takes nothing over: the store may have been
// away meanwhile, for the holder too.
func (c *contender) boundTakeoverLocked(claim *protocol.Claim) {
	now, fleet := steady.Now(), c.s.clock.Now()
	since, until, ok := c.contactLocked(now)
	claim.TakeoverUntil, claim.ContactSince = never, fleet.Add(-since.Until(now))
	if ok {
		claim.TakeoverUntil = earlier(c.s.takeoverUntil(), fleet.Add(now.Until(until)))
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// takeoverInLocked returns how long a claim must wait before it may take over from a holder that
// was out of reach, as this replica may have been. may reports whether it may take over other
// leases now.
func (c *contender) takeoverInLocked() (wait time.Duration, may bool) {
	now := steady.Now()
	since, _, ok := c.contactLocked(now)
	quiet := c.s.quietFor()
	if !ok {
		return max(probeEvery, quiet), false
	}
	return max(now.Until(since.Add(protocol.ReturnGrace(c.s.ttl))), quiet, lateRetry*time.Millisecond), quiet == 0
}

// never is a time that is long past by every store's clock.
var never = time.UnixMilli(1)
