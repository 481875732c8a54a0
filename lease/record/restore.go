package record

import "slices"

// Restore brings back what the store has lost, or what a snapshot has brought back from the past, as far as known knows it:
// the same record, as it was seen before. older says that the store went back, and has changed nothing since: then what is
// known is all that there is to know. Else only what can never change again is brought back: a tick whose very grant was
// settled is not open. It reports whether there was anything to bring back.
func (r *Record) Restore(known *Record, older bool) bool {
	if older {
		*r = *known
		return true
	}
	restored := false
	r.Open = slices.DeleteFunc(r.Open, func(e Entry) bool {
		if e.waits() {
			return false
		}
		i := slices.IndexFunc(known.Settled, func(s Settled) bool {
			return s.From == 0 && s.Occasion == e.Occasion && s.Token == e.Token
		})
		if i < 0 {
			return false
		}
		r.forgetCancel(e.Occasion)
		r.Settled = append(r.Settled, known.Settled[i])
		r.news = append(r.news, known.Settled[i].Settled)
		restored = true
		return true
	})
	return restored
}
