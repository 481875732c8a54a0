package exec

import "time"

// plan says when a run is to be told and when it is to be killed. It only computes: whoever acts on it sets told and
// killed.
type plan struct {
	grace    time.Duration
	deadline instant
	learnt   instant // when the guard learnt that deadline
	stopped  instant // when the worker said stop; 0 means it has not

	told   bool
	killed bool
	reason Reason // why it was first told or killed; empty while it was neither
}

// tellAt is when the run is due its SIGTERM.
func (p *plan) tellAt() instant {
	if p.stopped != 0 {
		return min(p.stopped, p.killAt())
	}
	// An eighth of what the last extension gave: renewals come at a third of the term, so one that is merely slow
	// is never told, whatever the grace.
	eighth := max(p.learnt.until(p.deadline)/8, 0)
	return p.deadline.add(-min(p.grace, eighth))
}

// killAt is when the run is due its SIGKILL. It is never after the deadline.
func (p *plan) killAt() instant {
	if p.stopped != 0 {
		return min(p.stopped.add(p.grace), p.deadline)
	}
	return p.deadline
}

// wake is the next instant at which something is due.
func (p *plan) wake() instant {
	switch {
	case p.killed:
		return never
	case p.told:
		return p.killAt()
	default:
		return min(p.tellAt(), p.killAt())
	}
}

// extend moves the deadline. A run that has been killed keeps its own: what is left of it must go.
func (p *plan) extend(deadline, now instant) {
	if p.killed || deadline <= p.deadline {
		return
	}
	p.deadline, p.learnt = deadline, now
	if p.stopped == 0 {
		p.told = false // it will be told again, before the new deadline
	}
}

// stop asks for the end of the run, with this grace at most. Saying it again can only make the grace shorter.
func (p *plan) stop(grace time.Duration, now instant) {
	p.grace = min(p.grace, grace)
	if p.stopped == 0 {
		p.stopped = now
	}
}

// refusal is why a run must not be started any more; empty if it may be.
func (p *plan) refusal(now instant) Reason {
	switch {
	case p.stopped != 0:
		return ReasonCancelled
	case now >= p.deadline:
		return ReasonDeadline
	default:
		return ""
	}
}

// due returns what is to be done now, and notes that it is done.
func (p *plan) due(now instant) (tell, kill bool) {
	if p.killed {
		return false, false
	}
	tell = !p.told && now >= p.tellAt()
	kill = now >= p.killAt()
	if (tell || kill) && p.reason == "" {
		p.reason = ReasonDeadline
		if p.stopped != 0 {
			p.reason = ReasonCancelled
		}
	}
	p.told, p.killed = p.told || tell, kill
	return tell, kill
}
