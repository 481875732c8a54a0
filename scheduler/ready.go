package scheduler

import (
	"context"
	"fmt"
	"sync"
)

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
		case s.health.IsWorking() && s.known():
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
func (s *Scheduler) known() bool {
	if !s.life.isStarted() {
		return false
	}
	for _, c := range s.jobs.Load().contenders {
		c.mu.Lock()
		synced := c.Record.IsRead()
		c.mu.Unlock()
		if !synced {
			return false
		}
	}
	return true
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
