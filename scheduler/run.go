package scheduler

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease"
)

// ErrStopping is the cause of a run's context when the replica stops and its shutdown grace is over.
var ErrStopping = errors.New("scheduler: the replica is stopping")

// begin keeps the lease of a tick that was granted, and returns the run.
func (s *Scheduler) begin(c *contender, claim lease.Claim, a lease.Answer, sent lease.Moment) (run func()) {
	l := s.keeper.Keep(s.runs, claim, a, sent)
	s.working.add(c.spec.Name)
	s.ending.add(c.spec.Name)
	return func() {
		defer s.ending.remove(c.spec.Name)
		s.run(c, l)
	}
}

// run runs a tick and decides what becomes of it.
func (s *Scheduler) run(c *contender, l *lease.Lease) {
	tick := time.UnixMilli(l.Occasion()).UTC()
	r := jobs.Run{
		Namespace: s.namespace, Job: c.spec.Name, Replica: s.replica,
		Tick: tick, Token: l.Token(), Attempt: l.Attempt(), Lease: l,
	}
	if !l.Valid() { // the answer to the claim came so late that the lease has ended, or is about to
		s.working.remove(c.spec.Name)
		s.giveBack(c, l)
		return
	}
	s.observe(RunStarted{Run: r, Lag: s.clock.now().Sub(tick)})
	began := time.Now()
	err := c.handler(l.Context(), r)
	took := time.Since(began)
	r.Attempt = l.Attempt()
	s.working.remove(c.spec.Name)

	cause := context.Cause(l.Context())
	switch {
	case err != nil && errors.Is(cause, lease.ErrLost):
		s.observe(RunLost{Run: r, Err: err, Why: cause, Took: took, Held: took})
		s.giveBack(c, l)
	case errors.Is(err, jobs.ErrLeaseEnding):
		s.observe(RunLost{Run: r, Err: err, Why: jobs.ErrLeaseEnding, Took: took, Held: took})
		s.giveBack(c, l)
	case err != nil && errors.Is(cause, ErrStopping) && c.spec.Delivery == jobs.AtLeastOnce:
		if why := l.Release(s.ends); why != nil {
			s.observe(RunLost{Run: r, Err: err, Why: why, Took: took, Held: time.Since(began)})
		} else {
			s.observe(RunReleased{Run: r, Err: err, Took: took, Held: time.Since(began)})
		}
		c.ended(tick.UnixMilli(), true)
	default:
		outcome := Succeeded
		if err != nil {
			outcome = Failed
		}
		why := l.Settle(s.ends, outcome)
		if why != nil {
			s.observe(RunLost{Run: r, Err: err, Why: why, Took: took, Held: time.Since(began)})
		} else {
			s.observe(RunSettled{Run: r, Outcome: outcome, Err: err, Took: took, Held: time.Since(began)})
		}
		c.ended(tick.UnixMilli(), why != nil)
	}
}

// giveBack ends a lease under which the tick was not decided and that is lost, or nearly. If nobody was granted the tick
// since, saying so spares the others the wait, or settles it when nobody may be.
func (s *Scheduler) giveBack(c *contender, l *lease.Lease) {
	switch lost, ok := errors.AsType[*lease.LostError](context.Cause(l.Context())); {
	case ok && lost.Reason == lease.LostFenced:
		l.Abandon()
	case c.spec.Delivery == jobs.AtLeastOnce:
		_ = l.Release(s.ends) // else the lease runs out
	case time.Until(l.Deadline()) <= 0: // whoever asks for the tick settles it as lost, and may have done so
		l.Abandon()
	case l.Settle(s.ends, Lost) == nil:
		c.lostOne(l.Occasion())
	}
	c.ended(l.Occasion(), true)
}

// tally counts by job what has to end before Run returns.
type tally struct {
	mu    sync.Mutex
	jobs  map[string]int
	total int
	zero  chan struct{} // closed when total falls to 0; nil when nobody waits
}

func (t *tally) add(job string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.jobs == nil {
		t.jobs = make(map[string]int)
	}
	t.jobs[job]++
	t.total++
}

func (t *tally) remove(job string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.jobs[job]--; t.jobs[job] == 0 {
		delete(t.jobs, job)
	}
	if t.total--; t.total == 0 && t.zero != nil {
		close(t.zero)
		t.zero = nil
	}
}

// wait waits until nothing is left, for d at most, and reports whether nothing is.
func (t *tally) wait(d time.Duration) bool {
	t.mu.Lock()
	if t.total == 0 {
		t.mu.Unlock()
		return true
	}
	if t.zero == nil {
		t.zero = make(chan struct{})
	}
	zero := t.zero
	t.mu.Unlock()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-zero:
		return true
	case <-timer.C:
		return false
	}
}

// left returns the jobs of what is left, sorted.
func (t *tally) left() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Sorted(maps.Keys(t.jobs))
}
