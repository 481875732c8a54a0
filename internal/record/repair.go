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

// Restore brings back the ticks that the store has lost, or that a snapshot from the past lacks. It
// takes them from known: the same record, as it was seen before. older says that the store went
// back: then all of known is brought back. Else only what can never change again is: a tick whose
// very grant was settled is not open.
func (r *Record) Restore(known *Record, older bool, now time.Time) {
	if older {
		r.bringBack(known, now)
		return
	}
	r.Open = slices.DeleteFunc(r.Open, func(e Entry) bool {
		i := slices.IndexFunc(known.Settled, func(s Settled) bool {
			return s.From == 0 && s.Tick == e.Tick && s.Token >= e.Token
		})
		if i < 0 {
			return false
		}
		r.forgetCancel(e.Tick)
		r.Settled = append(r.Settled, known.Settled[i])
		r.news = append(r.news, known.Settled[i].Settled)
		return true
	})
}

// bringBack sets r to the known record, and keeps the later ticks of r. Others may have decided
// those since the store went back: a version by a clock that is behind does not show it. A
// watermark in the future was brought back since, however.
func (r *Record) bringBack(known *Record, now time.Time) {
	present, newest := *r, max(known.Watermark, known.triggered())
	*r = *known
	for _, e := range present.Open {
		if e.Tick > newest && r.find(e.Tick) < 0 && !r.excepted(e.Tick) {
			r.Open = append(r.Open, e)
			r.Token = max(r.Token, e.Token)
		}
	}
	for _, s := range present.Settled {
		if s.Tick > newest && !r.remembers(s.Tick) {
			r.Settled = append(r.Settled, s)
		}
	}
	if present.Watermark <= now.UnixMilli() {
		r.Watermark = max(r.Watermark, present.Watermark)
	}
}
