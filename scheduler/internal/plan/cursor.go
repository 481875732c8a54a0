// Package plan decides what becomes of a job's ticks that are due: see [Decide]. It is pure: it knows
// no store and no clock.
package plan

import "github.com/solotick/solotick/jobs"

// Cursor says where a replica stands in the ticks of one job. It is a value: it is never changed,
// only replaced. All times are Unix ms of fleet time; 0 is none.
type Cursor struct {
	Watermark int64 // the newest tick up to which every one is known to be decided
	Next      int64 // the first tick after it; 0 when there is none
	// caughtUp bounds the ticks that are being caught up: ticks up to it were due when the gap was
	// found.
	caughtUp int64
	// Blocked is until when an earlier tick was in the way of those being caught up: ticks after
	// caughtUp that came due by then overlapped it.
	Blocked int64
	// Full is until when there was no room for a tick that was due: those that were due by then
	// have waited for room.
	Full int64
	// Overloaded is until when the claim of a due tick was held back because the store was slower
	// than the requests.
	Overloaded int64
	backlog    *Backlog // nil for none
}

// Policies governs the decisions about a job's ticks: its definition, and when that was edited.
type Policies struct {
	Spec      *jobs.Spec
	TickAfter func(after int64) int64 // the first tick after a time; 0 when there is none
	Due       func(tick int64) int64  // when a tick is to start: the tick plus its jitter
	// Edited is when the schedule became what it is. Of the ticks that were due before, had reports
	// whether the schedule of that time had them too; nil when that is not known.
	Edited int64
	Had    func(tick int64) bool
	// Resumed is when the last pause ended. Ticks due before it are skipped.
	Resumed int64
}

// owed reports whether somebody was to run the tick at its time.
func (p *Policies) owed(tick int64) bool {
	return p.Due(tick) >= p.Edited || p.Had != nil && p.Had(tick)
}

// Grace returns how late a tick may be, in ms, before it is a misfire.
func (p *Policies) Grace() int64 { return max(p.Spec.MisfireGrace.Milliseconds(), MinGrace) }

// Backlog counts the late ticks that may be caught up, so that no decision has to walk over all of
// them again. It counts the owed ones after the one tick and up to the other.
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

// Advance returns the cursor after the watermark has moved, if it has.
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

// Replan returns the cursor from where all ticks are planned again: nothing is known of a gap.
func (c Cursor) Replan() Cursor { return Cursor{Watermark: c.Watermark, Next: c.Next} }
