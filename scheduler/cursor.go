package scheduler

import "github.com/solotick/solotick/jobs"

// cursor says where a replica stands in the ticks of one job. It is a value: it is never changed,
// only replaced. All times are Unix ms of fleet time; 0 is none.
type cursor struct {
	watermark int64 // the newest tick up to which every one is known to be decided
	next      int64 // the first tick after it; 0 when there is none
	// caughtUp bounds the ticks that are being caught up: ticks up to it were due when the gap was
	// found.
	caughtUp int64
	// blocked is until when an earlier tick was in the way of those being caught up: ticks after
	// caughtUp that came due by then overlapped it.
	blocked int64
	// full is until when there was no room for a tick that was due: those that were due by then
	// have waited for room.
	full int64
	// overloaded is until when the claim of a due tick was held back because the store was slower
	// than the requests.
	overloaded int64
	backlog    *backlog // nil for none
}

// policies governs the decisions about a job's ticks: its definition, and when that was edited.
type policies struct {
	spec      *jobs.Spec
	tickAfter func(after int64) int64 // the first tick after a time; 0 when there is none
	due       func(tick int64) int64  // when a tick is to start: the tick plus its jitter
	// edited is when the schedule became what it is. Of the ticks that were due before, had reports
	// whether the schedule of that time had them too; nil when that is not known.
	edited int64
	had    func(tick int64) bool
	// resumed is when the last pause ended. Ticks due before it are skipped.
	resumed int64
}

// owed reports whether somebody was to run the tick at its time.
func (p *policies) owed(tick int64) bool {
	return p.due(tick) >= p.edited || p.had != nil && p.had(tick)
}

func (p *policies) grace() int64 { return max(p.spec.MisfireGrace.Milliseconds(), minGrace) }

// backlog counts the late ticks that may be caught up, so that no decision has to walk over all of
// them again. It counts the owed ones after the one tick and up to the other.
type backlog struct {
	after, upTo int64
	edited      int64 // of the policies by which they are owed
	owed        int
}

func (b *backlog) value() backlog {
	if b == nil {
		return backlog{}
	}
	return *b
}

// advance returns the cursor after the watermark has moved, if it has.
func (c cursor) advance(watermark int64, tickAfter func(int64) int64) cursor {
	if watermark > c.watermark || c.next == 0 {
		c.watermark = max(watermark, c.watermark)
		c.next = tickAfter(c.watermark)
	}
	return c
}

// planned returns the cursor after a decision.
func (c cursor) planned(d decision) cursor {
	c.caughtUp, c.backlog = d.caughtUp, d.backlog
	return c
}

// replan returns the cursor from where all ticks are planned again: nothing is known of a gap.
func (c cursor) replan() cursor { return cursor{watermark: c.watermark, next: c.next} }
