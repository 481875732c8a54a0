// Package plan decides what becomes of a job's ticks that are due: see [Decide]. It is pure: it knows
// no store and no clock.
package plan

import "github.com/solotick/solotick/jobs"

// Cursor is where a replica stands in the ticks of one job. It is a value, and replaced instead of
// changed. All times are Unix ms of fleet time, and 0 is none.
type Cursor struct {
	Watermark int64 // the newest tick up to which every one is known to be decided
	Next      int64 // the first tick after it; 0 when there is none
	// caughtUp bounds the ticks that are being caught up: ticks up to it were due when the gap was
	// found.
	caughtUp int64
	// Blocked is the last time at which an earlier tick was in the way of those being caught up.
	// Ticks after caughtUp that came due by then overlapped it.
	Blocked int64
	// Full is the last time at which a due tick found no room. Ticks that were due by then have
	// waited for room.
	Full int64
	// Overloaded is the last time at which a claim was held back because the store was too slow.
	Overloaded int64
	backlog    *Backlog // nil for none
}

// Policies are what decides about the ticks of a job besides the time: its definition, its last
// edit and its last pause.
type Policies struct {
	Spec      *jobs.Spec
	TickAfter func(after int64) int64 // the first tick after a time; 0 when there is none
	Due       func(tick int64) int64  // when a tick is to start: the tick plus its jitter
	// Edited is when the present schedule came into force. Had reports whether the schedule before
	// it had a tick that was due earlier; it is nil if that is not known.
	Edited int64
	Had    func(tick int64) bool
	// Resumed is when the last pause ended. Ticks that were due before are skipped.
	Resumed int64
}

// owed reports whether the schedule in force at the time of the tick had it.
func (p *Policies) owed(tick int64) bool {
	return p.Due(tick) >= p.Edited || p.Had != nil && p.Had(tick)
}

// Grace returns how late a tick may start before it is a misfire, in ms.
func (p *Policies) Grace() int64 { return max(p.Spec.MisfireGrace.Milliseconds(), MinGrace) }

// Backlog counts the late ticks that may be caught up, so that not every decision walks over all of
// them. It counts the owed ticks after one tick and up to another.
type Backlog struct {
	after, upTo int64
	edited      int64 // of the policies by which they are owed
	owed        int
}

func (b *Backlog) value() Backlog {
	if b == nil {
		return Backlog{}
	}
	return *b
}

// Advance returns the cursor with the greater of both watermarks.
func (c Cursor) Advance(watermark int64, tickAfter func(int64) int64) Cursor {
	if watermark > c.Watermark || c.Next == 0 {
		c.Watermark = max(watermark, c.Watermark)
		c.Next = tickAfter(c.Watermark)
	}
	return c
}

// Planned returns the cursor after a decision.
func (c Cursor) Planned(d Decision) Cursor {
	c.caughtUp, c.backlog = d.caughtUp, d.backlog
	return c
}

// Replan returns a cursor from which all ticks are planned again, without knowledge of a gap.
func (c Cursor) Replan() Cursor { return Cursor{Watermark: c.Watermark, Next: c.Next} }
