package record

import (
	"slices"
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

// Repair answers a valid repair.
func (r *Record) Repair(q protocol.Repair, at *Moment) (protocol.Repaired, error) {
	if err := inBounds(q.Until, at); err != nil {
		return protocol.Repaired{}, err
	}
	if !r.Known {
		return protocol.Repaired{}, protocol.ErrUnknown
	}
	r.prune()
	a := protocol.Repaired{Before: r.Watermark, Watermark: r.Watermark, Exceptions: len(r.Exceptions), Changed: r.ahead(at)}
	if !a.Changed {
		return a, nil
	}
	r.restart(at)
	ms := at.milli()
	watermark := min(r.Watermark, ms)
	r.except(watermark)
	r.Watermark, r.Gap = watermark, Gap{From: min(r.Gap.From, watermark), To: min(r.Gap.To, watermark)}
	r.Theoretical = time.Time{}
	r.Triggered = slices.DeleteFunc(r.Triggered, func(t Triggered) bool { return t.Tick > ms })
	since := at.micro()
	if r.Paused != nil && r.Paused.Since.After(since) {
		p := *r.Paused
		p.Since = since
		r.Paused = &p
	}
	if r.Resumed.After(since) {
		r.Resumed = since
	}
	if r.Revised.After(since) {
		r.Revised = since
	}
	r.Schedules = slices.Clone(r.Schedules)
	for i := range r.Schedules {
		if s := &r.Schedules[i]; s.Since.After(since) {
			s.Since = since
		}
	}
	a.Watermark, a.Exceptions = r.Watermark, len(r.Exceptions)
	return a, nil
}

// ahead reports whether something of the record lies in the future that only a clock which was
// wrong has put there.
func (r *Record) ahead(at *Moment) bool {
	return !at.reached(time.UnixMilli(max(r.Watermark, r.triggered()))) || !at.reached(r.Revised) || !at.reached(r.Resumed) || r.Paused != nil && !at.reached(r.Paused.Since)
}

// except makes exceptions of the ticks past a watermark that are open, or remembered as settled one
// by one.
func (r *Record) except(watermark int64) {
	list := slices.Clone(r.Exceptions)
	for _, e := range r.Open {
		list = append(list, e.Tick)
	}
	for _, s := range r.Settled {
		if s.From == 0 {
			list = append(list, s.Tick)
		}
	}
	list = slices.DeleteFunc(list, func(tick int64) bool { return tick <= watermark })
	slices.Sort(list)
	list = slices.Compact(list)
	r.Exceptions = list[:min(len(list), protocol.MaxExceptions)]
}

// excepted reports whether a repair found the tick, which lies past the watermark, open or settled.
func (r *Record) excepted(tick int64) bool {
	return tick > r.Watermark && slices.Contains(r.Exceptions, tick)
}

// prune drops the exceptions that the watermark has passed.
func (r *Record) prune() {
	if len(r.Exceptions) > 0 {
		r.Exceptions = slices.DeleteFunc(r.Exceptions, func(tick int64) bool { return tick <= r.Watermark })
	}
}
