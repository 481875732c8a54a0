package scheduler

import (
	"github.com/solotick/solotick/scheduler/internal/plan"

	"math/rand/v2"
	"slices"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/jobs"
)

// look is when to look at a tick that is open and that this replica does not run.
type look struct {
	tick      int64
	at        int64
	waits     bool  // it was not granted yet, and is to start when those before it have ended
	triggered bool  // and was not claimed yet: no answer can say that it is not open
	released  bool  // it may be free though its lease has not run out
	short     bool  // there was no room for its run
	free      int64 // since when nobody is known to run it, though it could begin; 0 before it was looked after
}

// looks has at most one look for each tick.
type looks []look

// of returns the look for a tick, or nil.
func (l looks) of(tick int64) *look {
	if i := slices.IndexFunc(l, func(l look) bool { return l.tick == tick }); i >= 0 {
		return &l[i]
	}
	return nil
}

func (l *looks) set(look look) {
	if known := l.of(look.tick); known != nil {
		*known = look
		return
	}
	*l = append(*l, look)
}

func (l *looks) drop(tick int64) {
	*l = slices.DeleteFunc(*l, func(l look) bool { return l.tick == tick })
	if len(*l) == 0 {
		*l = nil // most jobs have none for a long time
	}
}

// woken handles a notification: one of the job's ticks may be free, have ended, have to make room,
// or, if triggered is not 0, have been triggered.
func (c *contender) woken(triggered int64) {
	c.mu.Lock()
	defer c.unlock()
	now := c.s.clock.Ms()
	c.from, c.woke = now, now
	at := now + c.backupLocked()
	if triggered != 0 && c.running[triggered] == nil {
		if c.open.of(triggered) == nil {
			c.open.set(look{tick: triggered, waits: true, triggered: true})
		}
	}
	for i := range c.open {
		c.open[i].at, c.open[i].released = at, true
	}
	if c.Spec.Overlap == jobs.Replace {
		c.checkLocked()
	}
	c.pokeLocked()
}

// cancelled renews the runs of the job at once, to learn which one was cancelled, and looks at the
// ticks that others hold.
func (c *contender) cancelled() {
	c.mu.Lock()
	c.checkLocked()
	c.unlock()
	c.woken(0)
}

// checkLocked renews the runs of this replica at once.
func (c *contender) checkLocked() {
	for _, l := range c.running {
		l.Check()
	}
}

// reread has the record read after a pause or a resume.
func (c *contender) reread() {
	c.mu.Lock()
	defer c.unlock()
	if c.synced {
		c.synced = false
		c.s.wantSync()
	}
}

// recovered repeats what failed, because the store answers again.
func (c *contender) recovered() {
	c.mu.Lock()
	defer c.unlock()
	c.from = c.s.clock.Ms()
	c.pokeLocked()
}

// lookLocked returns the first tick of another replica, or that waits, which should be free by now.
// If there is none, it returns when the next one should be.
func (c *contender) lookLocked(now int64) (tick, at int64) {
	for _, l := range c.open {
		c.s.contact.Watch(max(l.at, now))
		again := l.short && c.short == 0 // once each time that there may be room
		switch {
		case (l.at <= now || again) && (tick == 0 || l.tick < tick):
			tick = l.tick
		case at == 0 || l.at < at:
			at = max(l.at, 1)
		}
	}
	if tick != 0 {
		return tick, now
	}
	return 0, at
}

// takeoverMargin is how long beyond two TTLs an interrupted tick may be taken over, however short
// the catch-up window of its job. A live fleet takes that long at most, after trouble with the
// store or its clock.
const takeoverMargin = 10 * time.Second

// takeOverLocked claims a tick that another replica held, or that waits.
func (c *contender) takeOverLocked(tick, now int64) *request {
	l := c.open.of(tick)
	l.short = false
	if l.waits && c.InTurn() && c.runsLocked() { // it still has to wait
		l.at, l.free = now+ms(c.s.ttl/2), 0
		return nil
	}
	if l.free == 0 {
		l.free = min(max(l.at, 1), now)
	}
	if wait, may := c.takeoverInLocked(); !may && !l.waits && !l.released {
		l.at = now + ms(wait)
		return nil
	}
	if !c.roomLocked(tick) {
		l.at, l.short = now+ms(c.s.ttl), true // woken before, when there is room
		c.passLocked(tick)
		return nil
	}
	l.triggered = false
	r := &request{claim: c.claim(tick)}
	r.claim.TakeoverWithin = max(c.Spec.CatchUpWindow, c.Spec.MisfireGrace, 2*c.s.ttl+takeoverMargin)
	r.claim.OnlyOpen = true // it may have been settled, and a triggered one is past the watermark
	r.claim.Overlap = plan.OverlapOf(c.Spec.Overlap)
	return c.beginLocked(r)
}

// lookAfterLocked returns when to look at a tick again: when its lease has run out, or at once if
// something has happened since that answer was requested.
func (c *contender) lookAfterLocked(tick, now int64, remaining time.Duration, waits, overtaken bool, holder ...string) look {
	if overtaken {
		return look{tick: tick, at: now + c.backupLocked(), waits: waits, released: true}
	}
	if !waits && remaining <= 0 { // the store leaves it to its holder
		remaining, _ = c.takeoverInLocked()
	}
	return look{tick: tick, at: now + ms(remaining) + c.takeoverLocked(holder...) + rand.Int64N(50), waits: waits}
}

// othersLocked updates the looks from the open ticks in an answer, except the claimed one.
func (c *contender) othersLocked(open []protocol.Open, tick, now int64, overtaken bool) {
	if len(open) == 0 && len(c.open) == 0 {
		return
	}
	c.suspectLocked(open)
	before := c.open
	c.open = nil
	for _, l := range before {
		if l.tick == tick || l.triggered {
			c.open = append(c.open, l)
		}
	}
	longest := time.Duration(0)
	for _, o := range open {
		if o.Tick != 0 {
			longest = max(longest, o.Remaining)
		}
	}
	for _, o := range open {
		if own := c.running[o.Tick]; o.Tick == 0 || own != nil && own.Token() == o.Token {
			continue
		}
		l := c.lookAfterLocked(o.Tick, now, o.Remaining, false, overtaken, o.Holder)
		if o.Attempt == 0 {
			l = c.lookAfterLocked(o.Tick, now, longest, true, overtaken)
		}
		if b := before.of(o.Tick); b != nil && (c.pending.claimsTick(o.Tick) || b.released || o.Remaining <= 0) {
			l = *b                                             // it is being looked after
			if o.Remaining <= 0 && o.Attempt > 0 && !l.short { // and its lease has not been renewed meanwhile
				wait, _ := c.takeoverInLocked()
				l.at = min(l.at, now+ms(wait))
			}
		}
		c.open.set(l)
	}
}
