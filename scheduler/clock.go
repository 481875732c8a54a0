package scheduler

import (
	"github.com/solotick/solotick/scheduler/internal/clock"
	"github.com/solotick/solotick/scheduler/internal/membership"
	"github.com/solotick/solotick/scheduler/internal/storehealth"

	"errors"
	"time"

	"github.com/solotick/solotick/internal/heartbeat"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/steady"
)

// clockWords maps a replica's opinion of the store's clock to its word in heartbeats.
var clockWords = map[clock.State]string{
	clock.Doubted: heartbeat.ClockDoubted, clock.Stepped: heartbeat.ClockStepped, clock.Trusted: heartbeat.ClockTrusted,
}

// looked applies the result of a look at the store's clock.
func (s *Scheduler) looked(sent, received, now time.Time) {
	sample := s.clock.Compare(sent, received, now)
	defer func() { s.observe(ClockSampled{Offset: time.Until(s.clock.Now()), RTT: sample.RTT}) }()
	if s.trust.State() == clock.Unknown {
		s.firstLook(sample, received, now)
		return
	}
	estimate, slack := s.clock.Estimate()
	switch s.trust.Look(sample.Taken, sample.Offset, sample.RTT/2+slack+clock.Drift, estimate) {
	case clock.IsPlausible:
		s.clock.Take(sample)
	case clock.HasStepped:
		_, v := s.clockView()
		if v.State == clock.Stepped {
			s.observe(ClockChanged{By: v.By})
		}
		s.wantAnnounce() // to the store's clock, the heartbeats from before may have ended
	case clock.HasReturned:
		s.clockTrusted(0, sample.Taken)
	case clock.IsHeld:
	}
}

// firstLook asks this machine's clock and the live members whether the store's clock can be
// trusted. Members that cannot be asked do not count.
func (s *Scheduler) firstLook(sample clock.Sample, received, now time.Time) {
	s.firstLooks <- struct{}{}
	defer func() { <-s.firstLooks }()
	if s.trust.State() != clock.Unknown {
		return // another look was the first
	}
	var members []heartbeat.Replica
	ctx, cancel := s.call()
	if list, err := s.store.Members(ctx); err == nil {
		members, _, _ = new(membership.Heartbeats).Live(list)
	}
	cancel()
	ahead := time.Unix(0, int64(sample.Taken+sample.Offset)).Sub(received.Round(0))
	agrees := ahead.Abs() <= s.trust.Limit+sample.RTT/2
	s.clock.Restart(sample)
	sum := clock.ClocksOf(members, s.replica, now, now, s.trust.Limit)
	if !s.trust.Begin(sample.Taken, sample.Offset, agrees, sum) {
		s.observe(ClockChanged{By: ahead, Start: true})
		s.wantAnnounce()
	}
}

// clockSeen adds the store's time in the answer to a claim to the estimate. If the time is not
// plausible, the next look decides.
func (s *Scheduler) clockSeen(sent, received, now time.Time) {
	sample := s.clock.Compare(sent, received, now)
	estimate, slack := s.clock.Estimate()
	if s.trust.Claimed(sample.Taken, sample.Offset, sample.RTT/2+slack+clock.Drift, estimate) {
		s.clock.Take(sample)
		return
	}
	select {
	case s.looks <- struct{}{}:
	default:
	}
}

// until returns the latest store time at which a request that is sent now may change anything.
func (s *Scheduler) until() time.Time { return s.clock.Now().Add(s.trust.Limit) }

// takeoverUntil returns the latest store time at which a claim that is sent now may take over a
// lease. A live holder has renewed within a third of the TTL. While nothing may be taken over, that
// time is long past.
func (s *Scheduler) takeoverUntil() time.Time {
	if s.quietFor() > 0 {
		return never
	}
	return s.clock.Now().Add(max(s.ttl/3, minTakeoverBound))
}

// minTakeoverBound is the least time that a request has to reach the store, however short the TTL.
const minTakeoverBound = 200 * time.Millisecond

// bounded records the result of a call with such a bound. kind is what its success shows.
func (s *Scheduler) bounded(kind storehealth.CallKind, began time.Time, err error) {
	received := time.Now()
	if b, ok := errors.AsType[*protocol.BoundsError](err); ok {
		s.answered(storehealth.Reads, received.Sub(began), nil) // the store has answered
		s.clockSeen(began, received, b.Now)
		return
	}
	if err != nil {
		kind = storehealth.Writes
	}
	s.answered(kind, received.Sub(began), err)
}

// judgeClock trusts the store's clock again if the heartbeats of live members allow it.
func (s *Scheduler) judgeClock(members []heartbeat.Replica) {
	now, v := s.clockView()
	if v.State == clock.Trusted {
		return
	}
	sum := clock.ClocksOf(members, s.replica, now, now.Add(-v.Steady), s.trust.Limit)
	local := s.clock.Local(time.Now())
	rebase := func(offset time.Duration) { s.clock.Restart(clock.Sample{Taken: local, Offset: offset}) }
	if s.trust.Accept(local, sum, rebase) {
		s.clockTrusted(v.By, local)
	}
}

// clockTrusted resumes after claims were held. It reads the records again and plans every tick
// again that was planned by the former clock.
func (s *Scheduler) clockTrusted(by, at time.Duration) {
	held, step := s.trust.HeldFor(at)
	s.observe(ClockChanged{Trusted: true, By: by, Held: held})
	s.noteHold(by, held, step)
	set := s.jobs.Load()
	for _, c := range set.contenders {
		c.mu.Lock()
		c.ClockChanged(s.clock.Ms())
		c.mu.Unlock()
	}
	for _, l := range set.leaders {
		l.nudge()
	}
	s.wantSync()
	s.wantAnnounce()
}

// clockView returns the present time of the store, trusted or not, and what this replica knows of
// that clock.
func (s *Scheduler) clockView() (time.Time, clock.View) {
	local := s.clock.Local(time.Now())
	estimate, _ := s.clock.Estimate()
	v := s.trust.View(local, estimate)
	return time.Unix(0, int64(local+v.Offset)).UTC(), v
}

// quietFor returns how long nothing may be taken over, because the store's clock has stepped and
// live holders must renew first.
func (s *Scheduler) quietFor() time.Duration {
	return s.trust.QuietFor(s.clock.Local(time.Now()))
}

// lookAhead reads the records of jobs whose watermark is in the future because of a wrong clock.
// Somebody may have repaired them.
func (s *Scheduler) lookAhead() {
	found := false
	for _, c := range s.jobs.Load().contenders {
		c.mu.Lock()
		if c.Record.IsRead() && c.IsAhead(c.Cursor.Watermark, s.clock.Ms()) {
			c.Record.Forget()
			found = true
		}
		c.mu.Unlock()
	}
	if found {
		s.wantSync()
	}
}

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

// contactWith returns the contact with the part of the store that keeps a job: see Contact.LastsFor.
func (s *Scheduler) contactWith(job string, f *storehealth.Failures, now steady.Instant) (since, until steady.Instant, ok bool) {
	return s.contact.LastsFor(f, now, func(gap time.Duration) (begun, ends steady.Instant, ok bool) {
		return s.store.ReachedSince(job, gap)
	})
}

// takeoverBounds returns which leases a claim of a job that is sent now may treat as ended: until
// when, by the store's clock, it may take one over, and since when the store answers.
func (s *Scheduler) takeoverBounds(job string, f *storehealth.Failures) (until, contactSince time.Time) {
	now, fleet := steady.Now(), s.clock.Now()
	since, ends, ok := s.contactWith(job, f, now)
	until = never
	if ok {
		until = s.takeoverUntil()
		if e := fleet.Add(now.Until(ends)); e.Before(until) {
			until = e
		}
	}
	return until, fleet.Add(-since.Until(now))
}

// takeoverWait returns how long a claim of a job must wait before it may take over from a holder that
// was out of reach, as this replica may have been. may reports whether it may take over other leases
// now.
func (s *Scheduler) takeoverWait(job string, f *storehealth.Failures) (wait time.Duration, may bool) {
	now := steady.Now()
	since, _, ok := s.contactWith(job, f, now)
	quiet := s.quietFor()
	if !ok {
		return max(probeEvery, quiet), false
	}
	return max(now.Until(since.Add(protocol.ReturnGrace(s.ttl))), quiet, lateRetry), quiet == 0
}

// lateRetry is the wait after a claim that the store's clock has refused.
const lateRetry = 10 * time.Millisecond

// never is a time that is long past by every store's clock.
var never = time.UnixMilli(1)

// utc returns the time of a tick.
func utc(tick int64) time.Time { return time.UnixMilli(tick).UTC() }
