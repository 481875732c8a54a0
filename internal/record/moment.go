package record

import "time"

// Moment is the store's time at which a rule is applied. A store that applies the rules while
// nothing else can happen (in a transaction, under a lock) makes one with its clock's time, and is
// done. One that decides first and changes later uses the bounds that the Moment notes. They are
// the times, and the leases ended, with which the rule would have come to the same result.
type Moment struct {
	now                 time.Time
	notBefore, notAfter time.Time
	ended               []int64
	least, stamp        int64
}

// At makes the moment at which the store's clock says now.
func At(now time.Time) *Moment { return &Moment{now: now} }

// Bounds returns the time within which the rules that were applied hold, inclusive. The zero time
// means no bound.
func (m *Moment) Bounds() (notBefore, notAfter time.Time) { return m.notBefore, m.notAfter }

// Ended returns the tokens of the leases that were taken to have ended.
func (m *Moment) Ended() []int64 { return m.ended }

// Granted returns the token of the grant, and its least value; 0 when there was no grant.
func (m *Moment) Granted() (token, least int64) { return m.stamp, m.least }

// after notes that the rule holds from t on.
func (m *Moment) after(t time.Time) {
	if t.After(m.notBefore) {
		m.notBefore = t
	}
}

// until notes that the rule holds up to t.
func (m *Moment) until(t time.Time) {
	if m.notAfter.IsZero() || t.Before(m.notAfter) {
		m.notAfter = t
	}
}

// reached reports whether it is t or later.
func (m *Moment) reached(t time.Time) bool {
	if m.now.Before(t) {
		m.until(t.Add(-1))
		return false
	}
	m.after(t)
	return true
}

// passed reports whether it is later than t.
func (m *Moment) passed(t time.Time) bool { return m.reached(t.Add(1)) }

// holds reports whether the lease with this token has not ended. A renewal can extend it meanwhile,
// so that it is the store which knows that one has.
func (m *Moment) holds(token int64, ends time.Time) bool {
	if ends.After(m.now) {
		m.until(ends.Add(-1))
		return true
	}
	m.ended = append(m.ended, token)
	return false
}

// token makes the token of a grant: at least that, and at least the time in microseconds.
func (m *Moment) token(least int64) int64 {
	m.least, m.stamp = least, max(least, m.now.UnixMicro())
	return m.stamp
}

// micro returns the time in whole microseconds, as records keep it.
func (m *Moment) micro() time.Time { return m.now.UTC().Truncate(time.Microsecond) }

// milli returns the time in Unix ms, and notes that what follows from it does not hold before.
func (m *Moment) milli() int64 {
	ms := m.now.UnixMilli()
	m.after(time.UnixMilli(ms))
	return ms
}
