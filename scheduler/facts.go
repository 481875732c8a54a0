package scheduler

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/sleep"
	"github.com/solotick/solotick/internal/wire"
)

// facts are what this replica has noticed, for the journal. They are written in the background.
// While the store is away, a bounded number is kept; a fact that is lost makes an explanation say
// less.
type facts struct {
	mu      sync.Mutex
	pending []pendingFact
	wake    chan struct{} // of size 1
}

type pendingFact struct {
	job string // empty for the fleet
	fleet.Fact
}

const (
	mostPending = 256
	factTries   = 5                      // of a fact, while the store answers other calls
	mostAway    = 3                      // how many replicas note the same absence of the store, or hold of claims
	leastAway   = 500 * time.Millisecond // shorter ones keep no tick from being started in time
)

func newFacts() *facts {
	return &facts{wake: make(chan struct{}, 1)}
}

// add queues a fact. It does not block.
func (f *facts) add(job string, fact fleet.Fact) {
	f.mu.Lock()
	if len(f.pending) < mostPending {
		f.pending = append(f.pending, pendingFact{job, fact})
	}
	f.mu.Unlock()
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

func (f *facts) first() (p pendingFact, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.pending) == 0 {
		return p, false
	}
	return f.pending[0], true
}

func (f *facts) drop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pending = f.pending[1:]
}

// writeFacts writes facts until ctx ends, and then those that remain if the store answers.
func (s *Scheduler) writeFacts(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-s.facts.wake:
		}
		s.writePending(ctx)
	}
}

func (s *Scheduler) writePending(ctx context.Context) {
	tries := 0
	for {
		p, ok := s.facts.first()
		if !ok {
			return
		}
		switch err := s.writeFact(ctx, p); {
		case err == nil:
			s.facts.drop()
			tries = 0
			continue
		case ctx.Err() != nil:
			return
		case s.health.IsUp():
			if tries++; tries == factTries {
				s.facts.drop()
				tries = 0
			}
		}
		sleep.For(ctx, time.Second)
	}
}

func (s *Scheduler) writeFact(ctx context.Context, p pendingFact) error {
	if p.Kind == wire.FactAway || p.Kind == wire.FactHeld {
		sleep.For(ctx, rand.N(leastAway)) // not all of a large fleet at once
		if s.isKnown(p.Fact) {
			return nil
		}
	}
	limited, cancel := s.call()
	defer cancel()
	return s.store.Append(limited, p.job, p.Request(), p.Encode())
}

// isKnown reports whether enough other replicas have noted the same.
func (s *Scheduler) isKnown(mine fleet.Fact) bool {
	view, err := fleet.New(s.store)
	if err != nil {
		return false
	}
	limited, cancel := s.call()
	defer cancel()
	known, err := view.FleetFacts(limited)
	others := 0
	for _, k := range known {
		if k.Kind == mine.Kind && k.By != mine.By && k.From.Before(mine.To) && mine.From.Before(k.To) {
			others++
		}
	}
	return err == nil && others >= mostAway
}

// storeIsBack notes that the store did not answer this replica from since until now.
func (s *Scheduler) storeIsBack(since time.Time) {
	now := time.Now()
	if now.Sub(since) < leastAway {
		return
	}
	// Fleet time may not be known yet: see writeFacts.
	s.facts.add("", fleet.Fact{
		Kind: wire.FactAway, By: s.replica, From: s.clock.At(since), To: s.clock.At(now), Living: int(s.living.Load()),
	})
}

// noteHold notes that claims were held for that long, until now. by is how far the store's clock is
// from where it was. By that clock the hold began when it was last trusted: a clock that was put
// forward for good has skipped the rest.
func (s *Scheduler) noteHold(by, held, step time.Duration) {
	if held < leastAway {
		return
	}
	now := s.clock.Now()
	s.facts.add("", fleet.Fact{
		Kind: wire.FactHeld, By: s.replica, From: now.Add(-held - max(0, by)), To: now, Living: int(s.living.Load()), Step: step,
	})
}

// tookOver notes who held a tick, or led, before this replica.
func (s *Scheduler) tookOver(job string, tick int64, a protocol.Answer) {
	if a.Former == nil {
		return
	}
	fact := fleet.Fact{
		Kind: wire.FactTakeover, By: s.replica, Replica: a.Former.Holder, Token: a.Former.Token, Attempt: a.Former.Attempt,
		From: time.UnixMicro(a.Former.Token), To: a.Former.Ended, Released: a.Former.Ended.IsZero(),
	}
	if tick != 0 {
		fact.Tick = time.UnixMilli(tick)
	}
	if fact.Released {
		fact.To = a.Now
	}
	s.facts.add(job, fact)
}
