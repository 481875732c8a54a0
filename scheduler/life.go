package scheduler

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// life makes sure that a Scheduler starts once and stops once.
type life struct {
	mu      sync.Mutex
	started string        // by which method; "" before
	stopped bool          // Shutdown was called
	stop    chan struct{} // closed by the first Shutdown
	cut     chan struct{} // closed when runs have to end
	done    chan struct{} // closed when everything has ended
	err     error         // of the end; valid after done
}

func newLife() *life {
	return &life{stop: make(chan struct{}), cut: make(chan struct{}), done: make(chan struct{})}
}

// start records that a method starts the Scheduler. It fails the second time.
func (l *life) start(method string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.started != "":
		return fmt.Errorf("scheduler: %s: %s was called before; make another Scheduler", method, l.started)
	case l.stopped:
		return fmt.Errorf("scheduler: %s: Shutdown was called before; make another Scheduler", method)
	}
	l.started = method
	return nil
}

func (l *life) isStarted() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.started != ""
}

func (l *life) end(err error) {
	l.err = err
	close(l.done)
}

// halt records that Shutdown was called.
func (l *life) halt() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.stopped {
		l.stopped = true
		close(l.stop)
	}
	if l.started == "" {
		return errors.New("scheduler: Shutdown: neither Start nor Run was called before")
	}
	return nil
}

// cancelRuns ends the time that runs have to finish.
func (l *life) cancelRuns() {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.cut:
	default:
		close(l.cut)
	}
}

// Start is [Scheduler.Run] for callers that do not want to wait: it returns at once, even if the
// store does not answer yet. See [Scheduler.WaitReady]. Stop with [Scheduler.Shutdown]. It fails if
// Start, Run or Shutdown was called before.
func (s *Scheduler) Start() error {
	if err := s.life.start("Start"); err != nil {
		return err
	}
	go func() { s.life.end(s.run(context.Background())) }()
	return nil
}

// Run claims ticks and runs them until ctx ends or [Scheduler.Shutdown] is called. Then it claims
// nothing more and lets runs finish within the shutdown grace. It cancels the others, with
// [ErrStopping] as the cause, and releases their ticks. It returns nil when everything has ended,
// and a [*StuckError] if runs went on for 10 s after they were cancelled. It fails at once if
// Start, Run or Shutdown was called before. Handlers see the values of ctx.
//
// If the store does not answer, Run waits for it, at the start too.
func (s *Scheduler) Run(ctx context.Context) error {
	if ctx == nil {
		return errors.New("scheduler: Run: ctx: nil must be a context")
	}
	if err := s.life.start("Run"); err != nil {
		return err
	}
	err := s.run(ctx)
	s.life.end(err)
	return err
}

// cutBefore bounds how long before the end of Shutdown's context runs are cancelled. It is a fifth
// of the time that remains when Shutdown is called, and at most this.
const cutBefore = 5 * time.Second

// Shutdown stops what Start or Run has started, and returns what Run returns when everything has
// ended. It lets runs finish. When the shutdown grace is over, it cancels them with [ErrStopping]
// as the cause and releases their ticks; earlier if ctx ends before: after four fifths of its time,
// or 5 s before its deadline, whichever is later. Of the 15 s that fx gives, runs have 12 s to
// finish.
//
// If ctx ends first, the error wraps its cause, and a [*StuckError] if handlers still run. The rest
// ends in the background, see [Scheduler.Done]. A second Shutdown waits for the same end. Before
// Start and Run it fails, and so do they afterwards.
func (s *Scheduler) Shutdown(ctx context.Context) error {
	if err := s.life.halt(); err != nil {
		return err
	}
	var cut <-chan time.Time // never without a deadline: the shutdown grace is the bound then
	if deadline, ok := ctx.Deadline(); ok {
		remaining := time.Until(deadline)
		t := time.NewTimer(remaining - min(remaining/5, cutBefore))
		defer t.Stop()
		cut = t.C
	}
	select {
	case <-s.life.done:
		return s.life.err
	case <-cut:
	case <-ctx.Done():
	}
	s.life.cancelRuns()
	select {
	case <-s.life.done:
		return s.life.err
	case <-ctx.Done():
	}
	select {
	case <-s.life.done: // both at once
		return s.life.err
	default:
	}
	err := fmt.Errorf("scheduler: Shutdown: not everything has ended: %w", context.Cause(ctx))
	if stuck := s.jobs.Load().working(); len(stuck) > 0 {
		err = errors.Join(err, &StuckError{Jobs: stuck})
	}
	return err
}

// Done returns a channel that is closed when everything that Start or Run has started has ended.
func (s *Scheduler) Done() <-chan struct{} { return s.life.done }

// StuckError names jobs whose runs went on after they were cancelled. Their leases run out by
// themselves.
type StuckError struct{ Jobs []string }

func (e *StuckError) Error() string {
	return fmt.Sprintf("scheduler: still running after they were cancelled: %s; their handlers must return when their context ends",
		strings.Join(e.Jobs, ", "))
}

// WaitReady returns nil once the store has a record of every job of the last [Scheduler.Update]:
// from then on ticks are claimed, and jobs can be triggered and paused. If ctx ends first, the
// error wraps the cause of ctx and the last failure of the store, and says what to change. It may
// be called before [Scheduler.Start], or beside [Scheduler.Run].
func (s *Scheduler) WaitReady(ctx context.Context) error {
	for {
		news := s.news.wait()
		switch {
		case s.stopping.Load():
			return ErrStopping
		case s.health.IsWorking() && s.life.isStarted() && s.jobs.Load().known():
			return nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return s.notReady(context.Cause(ctx))
		}
	}
}

// notReady returns the error of a wait for a ready store that has ended.
func (s *Scheduler) notReady(why error) error {
	switch last := s.health.LastError(); {
	case !s.life.isStarted():
		return fmt.Errorf("scheduler: not ready: %w; neither Start nor Run was called", why)
	case last == nil && s.health.IsUp():
		return fmt.Errorf("scheduler: not ready: %w; the store has no record of some jobs yet", why)
	case last == nil:
		return fmt.Errorf("scheduler: not ready: %w; the store has not answered yet", why)
	default:
		text := ""
		if hint := s.store.Hint(last); hint != "" {
			text = "; " + hint
		}
		return fmt.Errorf("scheduler: not ready: %w; the store said: %w%s", why, last, text)
	}
}

// known reports whether the store has a record of every job.
func (s *jobSet) known() bool {
	known := true
	s.each(func(c *contender) { known = known && c.Record.IsRead() })
	return known
}

// news wakes those that wait for a change.
type news struct {
	mu sync.Mutex
	ch chan struct{} // nil when nobody waits
}

// wait returns a channel that is closed at the next change.
func (n *news) wait() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ch == nil {
		n.ch = make(chan struct{})
	}
	return n.ch
}

// publish wakes all that wait.
func (n *news) publish() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ch != nil {
		close(n.ch)
		n.ch = nil
	}
}

// repeatOutages reports once a minute that the store still does not answer, until ctx ends.
func (s *Scheduler) repeatOutages(ctx context.Context) {
	const again = time.Minute
	var began, next time.Time // of an outage; the zero time while there is none
	for {
		news, now := s.news.wait(), time.Now()
		var due <-chan time.Time
		switch {
		case s.health.IsUp():
			began = time.Time{}
		case began.IsZero():
			began, next = now, now.Add(again)
		case !now.Before(next):
			next = next.Add(again)
			if err := s.health.LastError(); err != nil {
				s.observe(StoreChanged{Away: now.Sub(began), Err: err, Hint: s.store.Hint(err)})
			}
		}
		if !began.IsZero() {
			due = time.After(time.Until(next))
		}
		select {
		case <-news:
		case <-due:
		case <-ctx.Done():
			return
		}
	}
}
