package scheduler

import (
	"math/rand/v2"
	"time"

	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/protocol"
)

// look says when to look after a tick that is open, and that this replica does not run.
type look struct {
	at       int64
	waits    bool // it was not granted yet, and is to start when those before it have ended
	told     bool // it was triggered, and was not asked for yet: no answer can say that it is not open
	released bool // it may be free though its lease has not run out
	putOff   int  // how often it was left to its holder for a moment though its lease had run out
	short    bool // there was no room for its run
	asking   *asking
}

// woken is told that something of what it waits for may have happened: one of the job's ticks is free, or has ended, or
// has to make room, or was triggered, if it is not 0.
func (c *contender) woken(triggered int64) {
	c.mu.Lock()
	now := c.s.clock.ms()
	c.from = now
	at := now + c.backupLocked()
	if triggered != 0 && c.running[triggered] == nil {
		if _, known := c.open[triggered]; !known {
			c.open[triggered] = look{waits: true, told: true}
		}
	}
	for tick, l := range c.open {
		l.at, l.released = at, true
		c.open[tick] = l
	}
	if c.spec.Overlap == jobs.Replace {
		for _, l := range c.running {
			l.Check()
		}
	}
	c.mu.Unlock()
	c.poke()
}

// cancelled renews what this replica runs of the job at once, to learn which of it was cancelled, and looks at what
// others have open.
func (c *contender) cancelled() {
	c.mu.Lock()
	for _, l := range c.running {
		l.Check()
	}
	c.mu.Unlock()
	c.woken(0)
}

// reread is told that the job was paused or resumed: by whom, and why, is told again to a store that forgets it.
func (c *contender) reread() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.synced {
		c.synced = false
		c.s.wantSync()
	}
}

// recovered is told that the store answers again: what failed meanwhile is asked for at once.
func (c *contender) recovered() {
	c.mu.Lock()
	now := c.s.clock.ms()
	c.from = now
	for tick, l := range c.open {
		if l.asking != nil {
			l.at = now
			c.open[tick] = l
		}
	}
	c.mu.Unlock()
	c.poke()
}

// lookLocked returns a tick that another holds and that should be free by now.
func (c *contender) lookLocked(now int64) (tick int64, ok bool) {
	for t, l := range c.open {
		again := l.short && c.short == 0 // once each time that there may be room
		if (l.at <= now || again) && (!ok || t < tick) {
			tick, ok = t, true
		}
	}
	return tick, ok
}

// settleGrace is how long a tick whose lease ran out is left to its holder after trouble with the store: it may have
// finished meanwhile, and settles as soon as it can. A try to settle that hangs is given up after a second.
const settleGrace = 1500 * time.Millisecond

// mostPutOff bounds that when there is always some trouble.
const mostPutOff = 3

// takeOverLocked claims a tick that another held.
func (c *contender) takeOverLocked(tick int64) bool {
	l := c.open[tick]
	l.short = false
	wait := c.leaveLocked(&l)
	if !l.waits { // what waits was never granted
		wait = max(wait, c.s.quietFor())
	}
	if wait > 0 {
		l.at = c.s.clock.ms() + ms(wait)
		c.open[tick] = l
		return true
	}
	if !c.roomLocked(tick) {
		l.at, l.short = c.s.clock.ms()+ms(c.s.term), true // woken before, when there is room
		c.open[tick] = l
		return true
	}
	if l.asking == nil {
		l.asking = &asking{claim: c.claim(tick), began: time.Now()}
		l.asking.claim.OnlyOpen = true // it may have been settled, and a triggered one is past the mark
		l.asking.claim.Overlap = overlapOf(c.spec.Overlap)
	}
	c.open[tick] = l
	return c.claimLocked(l.asking)
}

// leaveLocked returns for how long a tick whose lease ran out is to be left to its holder.
func (c *contender) leaveLocked(l *look) time.Duration {
	wait := settleGrace - c.s.health.steady()
	if wait <= 0 || l.released || l.waits {
		return 0
	}
	up := c.s.health.isUp()
	switch granted := l.asking != nil && time.Since(l.asking.sent) < c.s.term; {
	case granted && up: // perhaps it was, the reply is lost, and the holder has no say any more
		return 0
	case granted:
		return firstRetry * time.Millisecond
	case l.putOff == mostPutOff:
		return 0
	case up:
		l.putOff++
	}
	return wait
}

// lookAfterLocked is when to look after a tick for which there is nothing to do before a lease runs out; but at once if
// something has happened while the answer that says so was under way.
func (c *contender) lookAfterLocked(now int64, left time.Duration, waits bool, holder ...string) look {
	if c.poked {
		return look{at: now + c.backupLocked(), waits: waits, released: true}
	}
	return look{at: now + ms(left) + c.takeoverLocked(holder...) + rand.Int64N(50), waits: waits}
}

// othersLocked takes in which ticks, besides the one that was claimed, are open.
func (c *contender) othersLocked(open []protocol.Open, tick, now int64) {
	if len(open) == 0 && len(c.open) == 0 {
		return
	}
	before := c.open
	c.open = make(map[int64]look, len(open))
	for t, l := range before {
		if t == tick || l.told && l.asking == nil {
			c.open[t] = l
		}
	}
	longest := time.Duration(0)
	for _, o := range open {
		if o.Occasion != 0 {
			longest = max(longest, o.Left)
		}
	}
	for _, o := range open {
		if own := c.running[o.Occasion]; o.Occasion == 0 || own != nil && own.Token() == o.Token {
			continue
		}
		l := c.lookAfterLocked(now, o.Left, false, o.Holder)
		if o.Attempt == 0 {
			l = c.lookAfterLocked(now, longest, true)
		}
		if b, ok := before[o.Occasion]; ok && (b.asking != nil || b.released || o.Left <= 0) {
			l = b // it is being looked after
		}
		c.open[o.Occasion] = l
	}
}
