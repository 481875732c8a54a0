package scheduler

import (
	"errors"
	"time"

	"github.com/solotick/solotick/internal/heartbeat"
	"github.com/solotick/solotick/internal/protocol"
)

// clockWords maps a replica's opinion of the store's clock to the word for it in heartbeats.
var clockWords = map[clockState]string{
	clockDoubted: heartbeat.ClockDoubted, clockStepped: heartbeat.ClockStepped, clockTrusted: heartbeat.ClockTrusted,
}

// looked takes in what a look at the store's clock has shown.
func (s *Scheduler) looked(sent, received, now time.Time) {
	sample := s.clock.compare(sent, received, now)
	defer func() { s.observe(ClockSampled{Offset: time.Until(s.clock.now()), RTT: sample.rtt}) }()
	if s.trust.now() == clockUnknown {
		s.firstLook(sample, received, now)
		return
	}
	estimate, slack := s.clock.estimate()
	switch s.trust.look(sample.taken, sample.offset, sample.rtt/2+slack+clockDrift, estimate) {
	case isPlausible:
		s.clock.take(sample)
	case hasStepped:
		_, v := s.clockView()
		if v.state == clockStepped {
			s.observe(ClockChanged{By: v.by})
		}
		s.wantAnnounce() // to the store's clock, the heartbeats from before may have ended
	case hasReturned:
		s.clockTrusted(0, sample.taken)
	case isHeld:
	}
}

// firstLook asks this machine's own clock and the live members whether the store's clock is to be
// trusted. Members that cannot be asked say nothing.
func (s *Scheduler) firstLook(sample sample, received, now time.Time) {
	s.firstLooks <- struct{}{}
	defer func() { <-s.firstLooks }()
	if s.trust.now() != clockUnknown {
		return // another look was the first
	}
	var members []heartbeat.Replica
	ctx, cancel := s.call()
	if list, err := s.store.Members(ctx); err == nil {
		members, _, _ = new(heartbeats).live(list)
	}
	cancel()
	ahead := time.Unix(0, int64(sample.taken+sample.offset)).Sub(received.Round(0))
	agrees := ahead.Abs() <= s.trust.limit+sample.rtt/2
	s.clock.restart(sample)
	sum := clocksOf(members, s.replica, now, now, s.trust.limit)
	if !s.trust.begin(sample.taken, sample.offset, agrees, sum) {
		s.observe(ClockChanged{By: ahead, Start: true})
		s.wantAnnounce()
	}
}

// clockSeen takes in the store's time from the answer to a claim. One that is not plausible is left
// to the next look.
func (s *Scheduler) clockSeen(sent, received, now time.Time) {
	sample := s.clock.compare(sent, received, now)
	estimate, slack := s.clock.estimate()
	if s.trust.claimed(sample.taken, sample.offset, sample.rtt/2+slack+clockDrift, estimate) {
		s.clock.take(sample)
		return
	}
	select {
	case s.looks <- struct{}{}:
	default:
	}
}

// until is the latest time of the store at which a request that is sent now may change anything.
func (s *Scheduler) until() time.Time { return s.clock.now().Add(s.trust.limit) }

// takeoverUntil is the latest time of the store at which a claim that is sent now may take over the
// lease of another. A holder that lives has renewed within a third of the TTL. While nothing may be
// taken over, that time has long passed.
func (s *Scheduler) takeoverUntil() time.Time {
	if s.quietFor() > 0 {
		return never
	}
	return s.clock.now().Add(max(s.ttl/3, minTakeoverBound))
}

// minTakeoverBound is the least time that a request is allowed on its way to the store, however
// short the TTL.
const minTakeoverBound = 200 * time.Millisecond

// bounded takes in how a call went that carries such a bound. kind is what its success shows.
func (s *Scheduler) bounded(kind callKind, began time.Time, err error) {
	received := time.Now()
	if b, ok := errors.AsType[*protocol.BoundsError](err); ok {
		s.answered(reads, received.Sub(began), nil) // the store has answered
		s.clockSeen(began, received, b.Now)
		return
	}
	if err != nil {
		kind = writes
	}
	s.answered(kind, received.Sub(began), err)
}

// judgeClock takes in what the live members say about the store's clock.
func (s *Scheduler) judgeClock(members []heartbeat.Replica) {
	now, v := s.clockView()
	if v.state == clockTrusted {
		return
	}
	sum := clocksOf(members, s.replica, now, now.Add(-v.steady), s.trust.limit)
	local := s.clock.local(time.Now())
	rebase := func(offset time.Duration) { s.clock.restart(sample{taken: local, offset: offset}) }
	if s.trust.accept(local, sum, rebase) {
		s.clockTrusted(v.by, local)
	}
}

// clockTrusted goes on after claims were held: it plans again, from the present records, every tick
// that was planned by the former clock.
func (s *Scheduler) clockTrusted(by, at time.Duration) {
	held, step := s.trust.heldFor(at)
	s.observe(ClockChanged{Trusted: true, By: by, Held: held})
	s.noteHold(by, held, step)
	set := s.jobs.Load()
	for _, c := range set.contenders {
		c.clockChanged()
	}
	for _, l := range set.leaders {
		l.nudge()
	}
	s.wantSync()
	s.wantAnnounce()
}

// clockView returns the store's time as it is now, trusted or not, and what this replica thinks of
// that clock.
func (s *Scheduler) clockView() (time.Time, view) {
	local := s.clock.local(time.Now())
	estimate, _ := s.clock.estimate()
	v := s.trust.view(local, estimate)
	return time.Unix(0, int64(local+v.offset)).UTC(), v
}

// quietFor is for how long nothing may be taken over from now on: the store's clock has stepped,
// and holders that live have to renew first.
func (s *Scheduler) quietFor() time.Duration {
	return s.trust.quietFor(s.clock.local(time.Now()))
}

// lookAhead reads the records of jobs whose watermarks lie in the future. A wrong clock has moved
// them; they may have been brought back.
func (s *Scheduler) lookAhead() {
	found := false
	for _, c := range s.jobs.Load().contenders {
		c.mu.Lock()
		if c.synced && c.aheadLocked() {
			c.synced, found = false, true
		}
		c.mu.Unlock()
	}
	if found {
		s.wantSync()
	}
}

// clockChanged forgets every plan that was made by the former clock.
func (c *contender) clockChanged() {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.s.clock.ms()
	c.synced = false
	c.notBefore, c.rest, c.cursor = 0, rest{}, c.cursor.replan()
	c.hints, c.confirming = hints{}, false
	for i := range c.open {
		c.open[i].at = now
	}
}
