package scheduler

import (
	"github.com/solotick/solotick/scheduler/internal/storehealth"

	"context"
	"sync/atomic"
	"time"

	"github.com/solotick/solotick/internal/naming"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/sleep"
)

// storeChanged handles that the store stopped working, or works again.
func (s *Scheduler) storeChanged(e storehealth.Change) {
	if e.WritesOnly {
		s.announcer.wanted.Set() // heartbeats show when it takes writes again
	}
	s.news.publish()
	s.observe(StoreChanged(e))
}

// answersAgain handles the end of an outage: what failed meanwhile waits for it.
func (s *Scheduler) answersAgain() {
	s.announcer.wanted.Set()
	s.loader.suspect()
	now := s.clock.Ms()
	s.each(func(c *contender) {
		c.Order.CountFrom(now)
		c.pokeLocked()
	})
}

// storeForgot handles a store that has lost its records.
func (s *Scheduler) storeForgot() {
	s.each(func(c *contender) { c.StoreForgot() })
	s.syncer.wanted.Set()
	s.loader.wanted.Set()
}

// clockTrusted resumes after claims were held. It reads the records again and plans every tick
// again that was planned by the former clock.
func (s *Scheduler) clockTrusted(by, at time.Duration) {
	held, step := s.trust.HeldFor(at)
	s.observe(ClockChanged{Trusted: true, By: by, Held: held})
	s.facts.hold(by, held, step)
	set := s.jobs.Load()
	s.each(func(c *contender) { c.ClockChanged(s.clock.Ms()) })
	for _, l := range set.leaders {
		l.wake.Set()
	}
	s.syncer.wanted.Set()
	s.announcer.wanted.Set()
}

// watch receives the store's notifications about what need not be waited for any longer.
func (s *Scheduler) watch(ctx context.Context) {
	var connected atomic.Bool // notifications come from several goroutines
	resubscribe(ctx, func(ctx context.Context) {
		connected.Store(false)
		_ = s.store.Watch(ctx, func(name string, tick int64) { // an error shows in the other calls, if it matters
			if name == "" {
				connected.Store(true)
				s.contact.Listening(true)
				s.verify() // what happened since a record was read, and before now, was not notified
			}
			s.woken(name, tick)
		})
		s.loader.suspect()
		if connected.Load() {
			s.contact.Listening(false)
		}
	})
}

// resubscribe calls subscribe again whenever it returns because its connection was lost, until ctx
// ends. The first retries follow quickly.
func resubscribe(ctx context.Context, subscribe func(context.Context)) {
	const longest = time.Second
	for wait := probeEvery; ctx.Err() == nil; wait = min(2*wait, longest) {
		began := time.Now()
		if subscribe(ctx); time.Since(began) > longest {
			wait = probeEvery
		}
		sleep.For(ctx, wait)
	}
}

// verify reads the records of which this replica may know more than the store, which was away and
// may have gone back in time, and those of jobs whose triggers this replica runs first.
func (s *Scheduler) verify() {
	s.each(func(c *contender) {
		if c.Record.IsRead() && !c.gone && c.KnowsBest() {
			c.Confirm(s.clock.Ms())
		}
	})
	s.loader.suspect()
}

func (s *Scheduler) woken(name string, tick int64) {
	set := s.jobs.Load()
	if name == "" { // earlier changes were not notified
		for _, c := range append(s.loader.all(), set.contenders...) {
			c.woken(0)
		}
		for _, l := range set.leaders {
			l.wake.Set()
		}
		return
	}
	c := set.byName[name]
	if c == nil && naming.IsKeyed(name) {
		if c = s.loader.contender(name); c == nil {
			s.loader.wanted.Set()
		}
	}
	if c != nil {
		switch tick {
		case protocol.PauseChanged:
			c.reread()
		case protocol.Cancelling:
			c.cancelled()
		default:
			c.woken(tick)
		}
	}
	if l := set.leading[name]; l != nil {
		l.wake.Set()
	}
}
