package scheduler

import (
	"sync"
	"time"

	"github.com/solotick/solotick/internal/heartbeat"
)

// trust decides whether the store's clock is to be believed. It knows one thing that never steps,
// this replica's own monotonic clock, and holds the store's against it. All times are readings of
// that clock; an offset is how far the store's clock is ahead of it. docs/scheduler.md has the
// rules.
type trust struct {
	ttl   time.Duration
	limit time.Duration // a step of more than this is not believed at once

	mu     sync.Mutex
	state  clockState
	offset time.Duration // that was trusted last; of clockStepped only
	seen   time.Duration // the offset that is seen since steady; not of clockUnknown and clockTrusted
	steady time.Duration // since when the store's clock has not stepped
	quiet  time.Duration // until when nothing is taken over
	held   time.Duration // since when claims are held
	step   time.Duration // the greatest step since then; 0 when the clock was never trusted before
}

// clockState is a replica's opinion of the store's clock.
type clockState int

const (
	clockUnknown clockState = iota // no look at it was answered yet
	clockDoubted                   // it was never trusted: it disagrees with this machine's, and nobody vouches for it
	clockStepped                   // it was trusted, and has stepped
	clockTrusted
)

const (
	minLimit  = 5 * time.Second // the least step that is not believed at once, however short the TTL
	sameClock = time.Second     // offsets that differ by no more are of a clock that did not step
)

// clockLimit is the greatest step of the store's clock that is believed at once, with leases of a
// TTL.
func clockLimit(ttl time.Duration) time.Duration { return max(ttl, minLimit) }

func newTrust(ttl time.Duration) *trust { return &trust{ttl: ttl, limit: clockLimit(ttl)} }

// verdict is the result of a look at the store's clock.
type verdict int

const (
	isPlausible verdict = iota // it is trusted, and this look belongs to the estimate of fleet time
	isHeld                     // it is not trusted
	hasStepped                 // the same, and this look is the first to show that offset
	hasReturned                // it is back where it was before it stepped, and is trusted again
)

// look takes in that the store's clock was seen at an offset, which may be off by slack. estimate
// is the present estimate of a clock that is trusted. It is not for the first look: see begin.
func (t *trust) look(at, offset, slack, estimate time.Duration) verdict {
	t.mu.Lock()
	defer t.mu.Unlock()
	apart := func(from, most time.Duration) bool { return (offset - from).Abs() > most+slack }
	if t.state == clockTrusted {
		if !apart(estimate, t.limit) {
			t.nudgedLocked(at, offset-estimate, slack)
			return isPlausible
		}
		t.state, t.offset = clockStepped, estimate
		t.seen, t.steady, t.held, t.step = offset, at, at, offset-estimate
		return hasStepped
	}
	switch {
	case slack > sameClock: // it says too little
		return isHeld
	case t.state == clockStepped && !apart(t.offset, sameClock):
		t.state, t.steady, t.quiet = clockTrusted, at, at+t.ttl
		return hasReturned
	case !apart(t.seen, sameClock):
		return isHeld
	}
	again := apart(t.seen, t.limit)
	if t.state == clockStepped && (offset-t.offset).Abs() > t.step.Abs() {
		t.step = offset - t.offset
	}
	t.seen, t.steady = offset, at
	if again {
		return hasStepped
	}
	return isHeld
}

// claimed takes in the offset that an answer to a claim shows of a clock that is trusted, and
// reports whether it is plausible. If not, a look decides: on a Cluster each server has a clock of
// its own.
func (t *trust) claimed(at, offset, slack, estimate time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.state != clockTrusted || (offset-estimate).Abs() > t.limit+slack {
		return false
	}
	t.nudgedLocked(at, offset-estimate, slack)
	return true
}

// nudgedLocked takes in a step that is small enough to be believed. One of more than a third of the
// TTL forward may end leases in the store that their holders are about to renew.
func (t *trust) nudgedLocked(at, by, slack time.Duration) {
	if by > t.ttl/3+2*slack {
		t.quiet = at + t.ttl
	}
}

// begin takes in the first look, and what live members and this machine's own clock say about it.
// It reports whether the clock is trusted.
func (t *trust) begin(at, offset time.Duration, agrees bool, members memberClocks) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seen, t.steady, t.held = offset, at, at
	t.state = clockDoubted
	if members.vouched || agrees && !members.stepped {
		t.state = clockTrusted
	}
	return t.state == clockTrusted
}

// accept takes in the reports of live members while claims are held, and reports whether the clock
// is trusted from now on. It is when this replica and all members have seen it steady for long
// enough. It also is when this replica has just started and a member vouches for the clock. Before
// anything is claimed it calls rebase with the offset. It takes nothing over for a TTL: this
// replica may have been frozen while the clock went back and leases were renewed by it.
func (t *trust) accept(at time.Duration, members memberClocks, rebase func(offset time.Duration)) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.state == clockDoubted && members.vouched:
	case t.state != clockDoubted && t.state != clockStepped, at-t.steady < t.limit, !members.steady:
		return false
	}
	rebase(t.seen)
	t.state, t.quiet = clockTrusted, at+t.ttl
	return true
}

// holds reports whether nothing may be claimed.
func (t *trust) holds() bool { return t.now() != clockTrusted }

func (t *trust) now() clockState {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.state
}

// quietFor returns for how long from a time on nothing may be taken over.
func (t *trust) quietFor(at time.Duration) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return max(0, t.quiet-at)
}

// heldFor returns for how long, at a time, claims have been or were held, and the greatest step of
// the clock in that time. The step is 0 when the clock was never trusted before.
func (t *trust) heldFor(at time.Duration) (held, step time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return at - t.held, t.step
}

// view is a replica's knowledge of the store's clock.
type view struct {
	state  clockState
	offset time.Duration // of the clock as it is, trusted or not
	by     time.Duration // of a clock that has stepped: how far
	steady time.Duration // for how long it has not stepped
}

// said returns the value of steady in heartbeats. Others ask whether it is at least the limit, so
// while nothing happens a replica that trusts the clock says the same each time. One that does not
// reports it exactly, since others wait for it.
func (v view) said(limit time.Duration) time.Duration {
	switch {
	case v.steady >= limit:
		return 2 * limit
	case v.state == clockTrusted:
		return 0
	default:
		return v.steady
	}
}

func (t *trust) view(at, estimate time.Duration) view {
	t.mu.Lock()
	defer t.mu.Unlock()
	v := view{state: t.state, offset: estimate, steady: at - t.steady}
	if t.state != clockTrusted {
		v.offset = t.seen
	}
	if t.state == clockStepped {
		v.by = t.seen - t.offset
	}
	return v
}

// memberClocks sums up the statements of live members' heartbeats about the store's clock.
type memberClocks struct {
	vouched bool // one that trusts it was sent by the clock as it is now
	stepped bool // one was sent by a replica that holds claims because the clock has stepped
	steady  bool // those that may hold leases have seen it steady for long enough, since this replica does
}

// clocksOf sums up the heartbeats of the members but self. now is the store's time, and since is
// when this replica began to see its clock steady, by that clock. A replica of a version that says
// nothing about the clock does not count. Nor does, for whether it is steady, one that has just
// started. It holds nothing, and one that crashes again and again must not keep the others from
// going on.
func clocksOf(members []heartbeat.Replica, self string, now, since time.Time, limit time.Duration) memberClocks {
	sum := memberClocks{steady: true}
	for _, m := range members {
		if m.ID == self || m.Clock == "" || m.LastHeartbeat.IsZero() {
			continue
		}
		age := now.Sub(m.LastHeartbeat)
		present := age >= -sameClock && age <= m.Life // it was sent by the clock as it is now
		steady := present && !m.LastHeartbeat.Before(since) && m.Steady+age >= limit
		switch m.Clock {
		case heartbeat.ClockTrusted:
			sum.vouched = sum.vouched || present
			sum.steady = sum.steady && steady
		case heartbeat.ClockStepped:
			sum.stepped = sum.stepped || present
			sum.steady = sum.steady && steady
		case heartbeat.ClockDoubted:
		}
	}
	return sum
}
