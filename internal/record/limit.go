package record

import (
	"cmp"
	"math/bits"
	"slices"
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

// Limit has the use of the limit of a name: of a bucket and of a window. As a rule a name has one
// of them. The zero value has everything left.
type Limit struct {
	// Full is when the bucket is full again (the generic cell rate algorithm, ITU-T I.371).
	Full time.Time
	// Slots are the units of the window, oldest first. The time of each is one before which its
	// units were taken.
	Slots []Slot
	// Done are the last batches that took something: a repeated one is answered as before.
	Done []Batch

	keep time.Duration
}

// Slot is a part of a window, and the units that were taken in it.
type Slot struct {
	At    time.Time
	Units int
}

// Batch says which requests of a batch were granted, as bits.
type Batch struct {
	ID string
	OK uint64
}

const (
	// MaxBatch is how many requests a batch may have.
	MaxBatch = 64
	// maxDone is how many batches are remembered. One that is older and comes again takes its units
	// again.
	maxDone = 16
	// keepLimit is for how long the value of a limit is kept at least.
	keepLimit = time.Minute
)

// Take answers a batch of valid requests, one after the other. It is at most ahead before the store
// carries it out, or a window refuses it, and then it has to be decided again.
func (l *Limit) Take(id string, list []protocol.Take, ahead time.Duration, at *Moment) []protocol.Taken {
	l.keep = keepLimit
	answers := make([]protocol.Taken, len(list))
	i := slices.IndexFunc(l.Done, func(b Batch) bool { return b.ID == id })
	var ok uint64
	waiting := map[protocol.Limit]int{} // units that waiting callers come back for
	for n, t := range list {
		var v view
		if t.Limit.Window {
			v = l.window(t.Limit, at)
		} else {
			v = l.bucket(t.Limit, at)
		}
		l.keep = max(l.keep, v.longest+keepLimit)
		switch wait := v.wait(t.Units); {
		case i >= 0:
			answers[n].OK = l.Done[i].OK&(1<<n) != 0
		case wait <= 0:
			answers[n].OK, ok = true, ok|1<<n
			v.take(t.Units, ahead)
		}
		if !answers[n].OK {
			answers[n].Wait = max(v.wait(t.Units+waiting[t.Limit]), 1)
			if t.Waits {
				waiting[t.Limit] += t.Units
			}
		}
		answers[n].Remaining = v.remaining()
	}
	if ok != 0 {
		l.Done = append(l.Done, Batch{id, ok})
		l.Done = l.Done[max(0, len(l.Done)-maxDone):]
	}
	return answers
}

// view is a limit at one moment.
type view struct {
	wait      func(units int) time.Duration // until they can be taken, 0 or less when they can; of more than there can be, a guess
	take      func(units int, ahead time.Duration)
	remaining func() int
	longest   time.Duration // after which nothing of it matters
}

func (l *Limit) bucket(b protocol.Limit, at *Moment) view {
	size := b.Time(b.Burst)
	// No more can be used up than all of it: the store's clock may have been set back, or the limit
	// changed.
	if latest := at.now.Add(size); l.Full.After(latest) {
		l.Full = latest
	}
	full := func() time.Time { return later(l.Full, at.now) }
	return view{
		longest: size,
		wait:    func(units int) time.Duration { return full().Add(b.Time(units) - size).Sub(at.now) },
		take: func(units int, _ time.Duration) {
			from := full()
			l.Full = from.Add(b.Time(units))
			at.after(l.Full.Add(-size))
		},
		remaining: func() int {
			high, low := bits.Mul64(uint64(max(0, size-full().Sub(at.now))), uint64(b.Count))
			n, _ := bits.Div64(high, low, uint64(b.Per)) // less than Burst, so it fits
			return int(n)
		},
	}
}

func (l *Limit) window(w protocol.Limit, at *Moment) view {
	slot := slotOf(w.Per)
	over := func(s Slot) bool { return !at.now.Before(s.At.Add(w.Per)) }
	used := 0
	for i := range l.Slots {
		s := &l.Slots[i]
		if s.At.After(at.now.Add(w.Per)) { // the store's clock was set back
			s.At = at.now.Add(slot)
		}
		if !over(*s) {
			used += s.Units
		}
	}
	slices.SortStableFunc(l.Slots, func(a, b Slot) int { return a.At.Compare(b.At) })
	return view{
		longest: 2 * w.Per,
		wait: func(units int) time.Duration {
			missing := used + units - w.Count
			for _, s := range l.Slots {
				if missing <= 0 {
					break
				}
				if over(s) {
					continue
				}
				if missing -= s.Units; missing <= 0 {
					return s.At.Add(w.Per).Sub(at.now)
				}
			}
			if missing > 0 {
				return w.Per
			}
			return 0
		},
		take: func(units int, ahead time.Duration) {
			l.Slots = slices.DeleteFunc(l.Slots, func(s Slot) bool {
				if !over(s) {
					return false
				}
				at.after(s.At.Add(w.Per))
				return true
			})
			used += units
			t := at.now.Add(ahead + slot).Truncate(slot)
			at.until(t)
			if n := len(l.Slots); n > 0 && !l.Slots[n-1].At.Before(t) {
				l.Slots[n-1].Units += units
				return
			}
			l.Slots = append(l.Slots, Slot{t, units})
		},
		remaining: func() int { return max(0, w.Count-used) },
	}
}

// slotOf is how much of a window is one slot: a sixty-fourth, and at least a millisecond.
func slotOf(per time.Duration) time.Duration { return max(per/64, time.Millisecond) }

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Restore brings back what a store has lost that went back in time, or was emptied, as far as known
// knows it.
func (l *Limit) Restore(known *Limit) {
	l.Full = later(l.Full, known.Full)
	for _, s := range known.Slots {
		if i := slices.IndexFunc(l.Slots, func(has Slot) bool { return has.At.Equal(s.At) }); i >= 0 {
			l.Slots[i].Units = max(l.Slots[i].Units, s.Units)
		} else {
			l.Slots = append(l.Slots, s)
		}
	}
	slices.SortFunc(l.Slots, func(a, b Slot) int { return a.At.Compare(b.At) })
	for _, b := range known.Done {
		if !slices.ContainsFunc(l.Done, func(has Batch) bool { return has.ID == b.ID }) {
			l.Done = append(l.Done, b)
		}
	}
	l.Done = l.Done[max(0, len(l.Done)-maxDone):]
}

// Encode implements [State].
func (l *Limit) Encode(stamp int64) []byte {
	w := &writer{b: make([]byte, 0, 256), stamp: stamp}
	w.b = append(w.b, limitFormat)
	w.number(nano(l.Full))
	w.count(len(l.Slots))
	var before int64
	for _, s := range l.Slots {
		w.number(nano(s.At) - before)
		w.count(s.Units)
		before = nano(s.At)
	}
	w.count(len(l.Done))
	for _, b := range l.Done {
		w.text(b.ID)
		w.number(int64(b.OK)) //nolint:gosec // its bits are read back
	}
	return w.b
}

// Decode implements [State].
func (l *Limit) Decode(_ string, data []byte, stamp int64, _ func(token int64) time.Time) error {
	*l = Limit{}
	if data == nil {
		return nil
	}
	d := &reader{b: data, stamp: stamp}
	d.begin(limitFormat)
	l.Full = fromNano(d.number())
	var before int64
	l.Slots = list(d, func(s *Slot) {
		before += d.number()
		s.At, s.Units = fromNano(before), d.plain()
	})
	l.Done = list(d, func(b *Batch) {
		b.ID = d.text()
		b.OK = uint64(d.number()) //nolint:gosec // see Encode
	})
	return d.end()
}

// Leases implements [State].
func (l *Limit) Leases() []Lease { return nil }

// Keep implements [State].
func (l *Limit) Keep() time.Duration { return cmp.Or(l.keep, keepLimit) }

func nano(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func fromNano(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}
