package job

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/solotick/solotick/scheduler/internal/plan"

	"github.com/solotick/solotick/internal/protocol"
)

// Look is when to look at a tick that is open and that this replica does not run.
type Look struct {
	tick     int64
	at       int64
	kind     kind
	released bool  // it may be free though its lease has not run out
	short    bool  // there was no room for its run
	free     int64 // since when nobody is known to run it, though it could begin; 0 before it was looked after
}

// kind is why a tick is open.
type kind int8

const (
	held      kind = iota // it was granted
	queued                // it was not granted yet, and is to start when those before it have ended
	triggered             // the same, and it was not claimed yet: no answer can say that it is not open
)

// Looks has at most one look for each tick.
type Looks []Look

// of returns the look for a tick, or nil.
func (l Looks) of(tick int64) *Look {
	if i := slices.IndexFunc(l, func(l Look) bool { return l.tick == tick }); i >= 0 {
		return &l[i]
	}
	return nil
}

// Set replaces the look at a tick.
func (l *Looks) Set(look Look) {
	if known := l.of(look.tick); known != nil {
		*known = look
		return
	}
	*l = append(*l, look)
}

// Drop forgets a tick that is not open.
func (l *Looks) Drop(tick int64) {
	*l = slices.DeleteFunc(*l, func(l Look) bool { return l.tick == tick })
	if len(*l) == 0 {
		*l = nil // most jobs have none for a long time
	}
}

// Wait reports whether a tick waits for another to end.
func (l Looks) Wait() bool {
	return slices.ContainsFunc(l, func(l Look) bool { return l.kind != held })
}

// held reports whether another replica holds a tick, as far as is known.
func (l Looks) held() bool {
	return slices.ContainsFunc(l, func(l Look) bool { return l.kind == held })
}

// all sets when to look at all of them.
func (l Looks) all(at int64) {
	for i := range l {
		l[i].at = at
	}
}

// free returns, for each tick that could have begun, since when.
func (l Looks) free(now int64) (list []int64) {
	for _, look := range l {
		free := look.free
		if free == 0 {
			free = look.at
		}
		if free != 0 && free <= now {
			list = append(list, free)
		}
	}
	return list
}

// first returns the first tick that should be free by now, or when the next one should be. A tick
// for which there was no room is looked at once each time that there may be room. latest is when the
// last of them should be free.
func (l Looks) first(now int64, short bool) (tick, at, latest int64) {
	for _, look := range l {
		latest = max(latest, look.at, now)
		again := look.short && !short
		switch {
		case (look.at <= now || again) && (tick == 0 || look.tick < tick):
			tick = look.tick
		case at == 0 || look.at < at:
			at = max(look.at, 1)
		}
	}
	if tick != 0 {
		at = now
	}
	return tick, at, latest
}

// Woken handles a notification: one of the job's ticks may be free, have ended, have to make room,
// or, if trigger is not 0, have been triggered.
func (v *View) Woken(trigger, now int64) {
	v.Order.from, v.Order.woke = now, now
	if trigger != 0 && !v.Apart.is && v.Running[trigger] == nil && v.Open.of(trigger) == nil {
		v.Open.Set(Look{tick: trigger, kind: triggered})
	}
	v.Open.all(now + v.Order.Backup())
	for i := range v.Open {
		v.Open[i].released = true
	}
}

// RunEnded handles the end of a run of this replica, and reports whether there may be something to
// do now. open reports that its tick is not settled.
func (v *View) RunEnded(tick int64, open bool, now int64) (act bool) {
	act = open
	if v.Rest.State == Blocked {
		v.Cursor.Blocked, act = now, true
	}
	v.Rest.blocked = min(v.Rest.blocked, now)
	for i := range v.Open {
		if l := &v.Open[i]; l.kind != held { // for this one, perhaps
			l.at, act = now, true
		}
	}
	if open { // its tick was left for another replica to take over: look soon which does
		v.Open.Set(Look{tick: tick, at: now + ms(v.TTL/10)})
	}
	return act
}

// takeoverMargin is how long beyond two TTLs an interrupted tick may be taken over, however short
// the catch-up window of its job. A live fleet takes that long at most, after trouble with the
// store or its clock.
const takeoverMargin = 10 * time.Second

// TakeOver returns the claim of a tick that another replica held, or that waits. It returns nil if
// the tick has to wait, as its look says from then on.
func (v *View) TakeOver(tick, now int64) *Request {
	l := v.Open.of(tick)
	l.short = false
	if l.kind != held && v.InTurn() && v.Running.Valid() { // it still has to wait
		l.at, l.free = now+ms(v.TTL/2), 0
		return nil
	}
	if l.free == 0 {
		l.free = min(max(l.at, 1), now)
	}
	if wait, may := v.Wait(v.Name, &v.Failures); !may && l.kind == held && !l.released {
		l.at = now + ms(wait)
		return nil
	}
	if !v.Room.Acquire(tick, v.Spec.Weight) {
		l.at, l.short = now+ms(v.TTL), true // woken before, when there is room
		v.pass(tick)
		return nil
	}
	if l.kind == triggered {
		l.kind = queued
	}
	r := &Request{Claim: v.claim(tick, now)}
	r.Claim.TakeoverWithin = max(v.Spec.CatchUpWindow, v.Spec.MisfireGrace, 2*v.TTL+takeoverMargin)
	r.Claim.OnlyOpen = true // it may have been settled, and a triggered one is past the watermark
	r.Claim.Overlap = plan.OverlapOf(v.Spec.Overlap)
	return r
}

// Answer is what an answer to a request says of a tick besides its status.
type Answer struct {
	Now       int64 // when it was received
	Overtaken bool  // something has happened since it was requested
}

// LookAfter returns the next look at a tick: when its lease has run out, or at once if the answer was
// overtaken.
func (v *View) LookAfter(a Answer, tick int64, remaining time.Duration, waits bool, holder ...string) Look {
	l := Look{tick: tick}
	if waits {
		l.kind = queued
	}
	if a.Overtaken {
		l.at, l.released = a.Now+v.Order.Backup(), true
		return l
	}
	if !waits && remaining <= 0 { // the store leaves it to its holder
		remaining, _ = v.Wait(v.Name, &v.Failures)
	}
	l.at = a.Now + ms(remaining) + v.Order.Takeover(holder...) + rand.Int64N(50)
	return l
}

// Others updates the looks from the open ticks in an answer or a record, except the claimed one.
func (v *View) Others(a Answer, open []protocol.Open, tick int64) {
	if len(open) == 0 && len(v.Open) == 0 {
		return
	}
	for _, tick := range v.Doubt.suspects(open) { // the report was wrong, or the store has lost the settlement
		v.ask(tick, a.Now)
	}
	before := v.Open
	v.Open = nil
	for _, l := range before {
		if l.tick == tick || l.kind == triggered {
			v.Open = append(v.Open, l)
		}
	}
	longest := time.Duration(0)
	for _, o := range open {
		if o.Tick != 0 {
			longest = max(longest, o.Remaining)
		}
	}
	for _, o := range open {
		if own := v.Running[o.Tick]; o.Tick == 0 || own != nil && own.Token() == o.Token {
			continue
		}
		l := v.LookAfter(a, o.Tick, o.Remaining, false, o.Holder)
		if o.Attempt == 0 {
			l = v.LookAfter(a, o.Tick, longest, true)
		}
		if b := before.of(o.Tick); b != nil && (v.Pending.Claims(o.Tick) || b.released || o.Remaining <= 0) {
			l = *b                                             // it is being looked after
			if o.Remaining <= 0 && o.Attempt > 0 && !l.short { // and its lease has not been renewed meanwhile
				wait, _ := v.Wait(v.Name, &v.Failures)
				l.at = min(l.at, a.Now+ms(wait))
			}
		}
		v.Open.Set(l)
	}
}
