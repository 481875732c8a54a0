package scheduler

import (
	"context"
	"errors"
	"time"

	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease"
)

// ErrStopping is the cause of a run's context when the replica stops and its shutdown grace is over.
var ErrStopping = errors.New("scheduler: the replica is stopping")

// begin runs a tick that was granted, on a goroutine of its own.
func (s *Scheduler) begin(c *contender, claim lease.Claim, a lease.Answer, sent lease.Moment) {
	l := s.keeper.Keep(s.runs, claim, a, sent)
	s.addRun(c)
	go s.run(c, l)
}

// run runs a tick and decides what becomes of it.
func (s *Scheduler) run(c *contender, l *lease.Lease) {
	defer s.removeRun(c)
	tick := time.UnixMilli(l.Occasion()).UTC()
	run := jobs.Run{
		Namespace: s.namespace, Job: c.spec.Name, Replica: s.replica,
		Tick: tick, Token: l.Token(), Attempt: l.Attempt(), Lease: l,
	}
	s.observe(RunStarted{Run: run, Lag: s.clock.now().Sub(tick)})
	began := time.Now()
	err := c.handler(l.Context(), run)
	took := time.Since(began)
	run.Attempt = l.Attempt()

	cause := context.Cause(l.Context())
	lost := err != nil && errors.Is(cause, lease.ErrLost)
	stopped := err != nil && errors.Is(cause, ErrStopping) && c.spec.Delivery == jobs.AtLeastOnce
	var why error
	switch {
	case lost:
		why = cause
		l.Abandon()
	case stopped:
		why = l.Release(s.ends)
	case err != nil:
		why = l.Settle(s.ends, Failed)
	default:
		why = l.Settle(s.ends, Succeeded)
	}
	held := time.Since(began)
	c.ended(l.Occasion(), why != nil || stopped)
	switch {
	case why != nil:
		s.observe(RunLost{Run: run, Err: err, Why: why, Took: took, Held: held})
	case stopped:
		s.observe(RunReleased{Run: run, Err: err, Took: took, Held: held})
	case err != nil:
		s.observe(RunSettled{Run: run, Outcome: Failed, Err: err, Took: took, Held: held})
	default:
		s.observe(RunSettled{Run: run, Outcome: Succeeded, Took: took, Held: held})
	}
}

func (s *Scheduler) addRun(c *contender) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active[c.spec.Name]++
	s.count++
}

func (s *Scheduler) removeRun(c *contender) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count--
	if s.active[c.spec.Name]--; s.active[c.spec.Name] == 0 {
		delete(s.active, c.spec.Name)
	}
	if s.count == 0 && s.idle != nil {
		close(s.idle)
		s.idle = nil
	}
}

// idleRuns returns a channel that is closed when no run is left.
func (s *Scheduler) idleRuns() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	idle := make(chan struct{})
	if s.count == 0 {
		close(idle)
	} else {
		s.idle = idle
	}
	return idle
}
