package record

import (
	"slices"
	"time"
)

// Restore brings back the ticks that the store has lost, or that a snapshot from the past lacks. It
// takes them from known: the same record, as it was seen before. older says that the store went
// back: then all of known is brought back. Else only what can never change again is: a tick whose
// very grant was settled is not open. It reports whether there was anything to bring back.
func (r *Record) Restore(known *Record, older bool, now time.Time) bool {
	if older {
		r.bringBack(known, now)
		return true
	}
	restored := false
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
		restored = true
		return true
	})
	return restored
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
