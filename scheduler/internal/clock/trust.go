package clock

import (
	"sync"
	"time"

	"github.com/solotick/solotick/internal/heartbeat"
)

// Trust decides whether the store's clock can be trusted. It compares that clock with the one thing
// that never steps, this machine's monotonic clock. All times are readings of the latter, and an
// offset is how far the store's clock is ahead of it. docs/scheduler.md has the rules.
type Trust struct {
	ttl   time.Duration
	Limit time.Duration // a step of more than this is not believed at once

	mu     sync.Mutex
	state  State
	offset time.Duration // that was trusted last; of clockStepped only
	seen   time.Duration // the offset that is seen since steady; not of clockUnknown and clockTrusted
	steady time.Duration // since when the store's clock has not stepped
	quiet  time.Duration // until when nothing is taken over
	held   time.Duration // since when claims are held
	step   time.Duration // the greatest step since then; 0 when the clock was never trusted before
}

// State is a replica's opinion of the store's clock.
type State int

const (
	Unknown State = iota // no look at it was answered yet
	Doubted              // it was never trusted: it disagrees with this machine's, and nobody vouches for it
	Stepped              // it was trusted, and has stepped
	Trusted
)

const (
	minLimit  = 5 * time.Second // the least step that is not believed at once, however short the TTL
	sameClock = time.Second     // offsets that differ by no more are of a clock that did not step
)

// Limit returns the greatest step of the store's clock that is trusted at once, with leases of that
// TTL.
func Limit(ttl time.Duration) time.Duration { return max(ttl, minLimit) }

// NewTrust returns the Trust of a replica with leases of that TTL, which has not seen the store's
// clock yet.
func NewTrust(ttl time.Duration) *Trust { return &Trust{ttl: ttl, Limit: Limit(ttl)} }

// Verdict is the result of a look at the store's clock.
type Verdict int

const (
	IsPlausible Verdict = iota // it is trusted, and this look belongs to the estimate of fleet time
	IsHeld                     // it is not trusted
	HasStepped                 // the same, and this look is the first to show that offset
	HasReturned                // it is back where it was before it stepped, and is trusted again
)

// Look decides about an offset of the store's clock, which may be off by slack. estimate is the
// present estimate of a trusted clock. Call Begin for the first look.
func (t *Trust) Look(at, offset, slack, estimate time.Duration) Verdict {
	t.mu.Lock()
	defer t.mu.Unlock()
	apart := func(from, most time.Duration) bool { return (offset - from).Abs() > most+slack }
	if t.state == Trusted {
		if !apart(estimate, t.Limit) {
			t.nudgedLocked(at, offset-estimate, slack)
			return IsPlausible
		}
		t.state, t.offset = Stepped, estimate
		t.seen, t.steady, t.held, t.step = offset, at, at, offset-estimate
		return HasStepped
	}
	switch {
	case slack > sameClock: // it says too little
		return IsHeld
	case t.state == Stepped && !apart(t.offset, sameClock):
		t.state, t.steady, t.quiet = Trusted, at, at+t.ttl
		return HasReturned
	case !apart(t.seen, sameClock):
		return IsHeld
	}
	again := apart(t.seen, t.Limit)
	if t.state == Stepped && (offset-t.offset).Abs() > t.step.Abs() {
		t.step = offset - t.offset
	}
	t.seen, t.steady = offset, at
	if again {
		return HasStepped
	}
	return IsHeld
}

// Claimed reports whether the offset in the answer to a claim is plausible for a trusted clock. If
// it is not, a look must decide: on a Cluster each server has its own clock.
func (t *Trust) Claimed(at, offset, slack, estimate time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.state != Trusted || (offset-estimate).Abs() > t.Limit+slack {
		return false
	}
	t.nudgedLocked(at, offset-estimate, slack)
	return true
}

// nudgedLocked handles a step that is small enough to be trusted. A step forward by more than a
// third of the TTL may end leases in the store before their holders renew them, so nothing is taken
// over for a TTL.
func (t *Trust) nudgedLocked(at, by, slack time.Duration) {
	if by > t.ttl/3+2*slack {
		t.quiet = at + t.ttl
	}
}

// Begin decides about the first look, from the heartbeats of live members and this machine's own
// clock. It reports whether the clock is trusted.
func (t *Trust) Begin(at, offset time.Duration, agrees bool, members MemberClocks) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seen, t.steady, t.held = offset, at, at
	t.state = Doubted
	if members.vouched || agrees && !members.stepped {
		t.state = Trusted
	}
	return t.state == Trusted
}

// Accept reports whether a clock that was not trusted is trusted from now on. It is if this replica
// and all members have seen it steady for long enough, or if this replica has just started and a
// member vouches for it. Accept calls rebase with the offset before anything is claimed. Nothing is
// taken over for a TTL, because this replica may have been frozen while the clock went back and
// leases were renewed by it.
func (t *Trust) Accept(at time.Duration, members MemberClocks, rebase func(offset time.Duration)) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.state == Doubted && members.vouched:
	case t.state != Doubted && t.state != Stepped, at-t.steady < t.Limit, !members.steady:
		return false
	}
	rebase(t.seen)
	t.state, t.quiet = Trusted, at+t.ttl
	return true
}

// Holds reports whether nothing may be claimed.
func (t *Trust) Holds() bool { return t.State() != Trusted }

// State returns the present opinion of the clock.
func (t *Trust) State() State {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.state
}

// QuietFor returns how long after a time nothing may be taken over.
func (t *Trust) QuietFor(at time.Duration) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return max(0, t.quiet-at)
}

// HeldFor returns how long claims have been held at a time, or were held last, and the greatest
// step of the clock in that time. The step is 0 if the clock was never trusted before.
func (t *Trust) HeldFor(at time.Duration) (held, step time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return at - t.held, t.step
}

// View is what a replica knows of the store's clock.
type View struct {
	State  State
	Offset time.Duration // of the clock as it is, trusted or not
	By     time.Duration // of a clock that has stepped: how far
	Steady time.Duration // for how long it has not stepped
}

// Said returns the value of steady for heartbeats. Other replicas only ask whether it reaches the
// limit. So a replica that trusts the clock always sends the same value while nothing happens. A
// replica that does not trust it sends the exact value, because others wait for it.
func (v View) Said(limit time.Duration) time.Duration {
	switch {
	case v.Steady >= limit:
		return 2 * limit
	case v.State == Trusted:
		return 0
	default:
		return v.Steady
	}
}

// View returns what is known of the clock at a time. estimate is as for Look.
func (t *Trust) View(at, estimate time.Duration) View {
	t.mu.Lock()
	defer t.mu.Unlock()
	v := View{State: t.state, Offset: estimate, Steady: at - t.steady}
	if t.state != Trusted {
		v.Offset = t.seen
	}
	if t.state == Stepped {
		v.By = t.seen - t.offset
	}
	return v
}

// MemberClocks sums up what the heartbeats of live members say about the store's clock.
type MemberClocks struct {
	vouched bool // one that trusts it was sent by the clock as it is now
	stepped bool // one was sent by a replica that holds claims because the clock has stepped
	steady  bool // those that may hold leases have seen it steady for long enough, since this replica does
}

// ClocksOf sums up the heartbeats of all members except self. now is the store's time, and since is
// when this replica first saw its clock steady, by that clock. A replica of a version that says
// nothing about the clock does not count. A replica that has just started does not count for
// steady: it holds no leases, and if it crashes again and again the others must not wait for it.
func ClocksOf(members []heartbeat.Replica, self string, now, since time.Time, limit time.Duration) MemberClocks {
	sum := MemberClocks{steady: true}
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
