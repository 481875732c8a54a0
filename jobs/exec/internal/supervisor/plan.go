package supervisor

import (
	"time"

	"github.com/solotick/solotick/jobs/exec/internal/bootclock"
	"github.com/solotick/solotick/jobs/exec/internal/protocol"
)

// plan computes when a run gets its SIGTERM and when its SIGKILL. The supervisor sends them.
type plan struct {
	grace    time.Duration
	deadline bootclock.Instant
	extended bootclock.Instant // when the supervisor received that deadline
	stopped  bootclock.Instant // when the worker asked for the end; 0 means it has not

	terminated bool
	killed     bool
	reason     string // of the first signal; "" before it
}

// termAt is when the SIGTERM is due.
func (p *plan) termAt() bootclock.Instant {
	if p.stopped != 0 {
		return min(p.stopped, p.killAt())
	}
	// It is an eighth of what the last extension gave. A replica renews at a third of the TTL, so a
	// renewal that is merely slow ends no run, whatever the grace.
	eighth := max(p.extended.Until(p.deadline)/8, 0)
	return p.deadline.Add(-min(p.grace, eighth))
}

// killAt is when the SIGKILL is due. It is never after the deadline.
func (p *plan) killAt() bootclock.Instant {
	if p.stopped != 0 {
		return min(p.stopped.Add(p.grace), p.deadline)
	}
	return p.deadline
}

// next is the next instant at which a signal is due.
func (p *plan) next() bootclock.Instant {
	switch {
	case p.killed:
		return bootclock.Never
	case p.terminated:
		return p.killAt()
	default:
		return min(p.termAt(), p.killAt())
	}
}

// extend moves the deadline. A run that has been killed keeps its own: the rest of it must go.
func (p *plan) extend(deadline, now bootclock.Instant) {
	if p.killed || deadline <= p.deadline {
		return
	}
	p.deadline, p.extended = deadline, now
	if p.stopped == 0 {
		p.terminated = false // another SIGTERM comes before the new deadline
	}
}

// stop asks for the end of the run, with this grace at most. A second call can only make the grace
// shorter.
func (p *plan) stop(grace time.Duration, now bootclock.Instant) {
	p.grace = min(p.grace, grace)
	if p.stopped == 0 {
		p.stopped = now
	}
}

// refusal is why a run must not be started any more; "" if it may be.
func (p *plan) refusal(now bootclock.Instant) string {
	switch {
	case p.stopped != 0:
		return protocol.ReasonCancelled
	case now >= p.deadline:
		return protocol.ReasonDeadline
	default:
		return ""
	}
}

// due returns which signals are due now, and records that they are sent.
func (p *plan) due(now bootclock.Instant) (term, kill bool) {
	if p.killed {
		return false, false
	}
	term = !p.terminated && now >= p.termAt()
	kill = now >= p.killAt()
	if (term || kill) && p.reason == "" {
		p.reason = protocol.ReasonDeadline
		if p.stopped != 0 {
			p.reason = protocol.ReasonCancelled
		}
	}
	p.terminated, p.killed = p.terminated || term, kill
	return term, kill
}
