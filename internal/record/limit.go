package record

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

// Limit has the use of the limit of a name: of a bucket and of a window. As a rule a name has one
// of them. The zero value has everything left.
type Limit struct {
	// Full is when the bucket is full again (the generic cell rate algorithm, ITU-T I.371).
	Full time.Time
	// Slots are the units of the window, oldest first. The units of a slot were taken before its time.
	Slots []Slot
	// Done has, of each client, the last batch that took something, while it may be sent again: a
	// repeated one is answered as before.
	Done []Batch

	keep time.Duration
}

// Slot is a part of a window, and the units that were taken in it.
type Slot struct {
	At    time.Time
	Units int
}

// Batch says which requests of a batch were granted, as bits. Its ID is that of the client, a dash,
// and a number. A client sends a batch once it is done with the one before.
type Batch struct {
	ID   string
	OK   uint64
	Ends time.Time // after which it is not sent again
}

func (b Batch) client() string { return b.ID[:strings.LastIndexByte(b.ID, '-')+1] }

const (
	// MaxBatch is how many requests a batch may have.
	MaxBatch = 64
	// TakenFor is for how long a batch may be sent again, by the store's clock.
	TakenFor = 10 * time.Second
	// MaxClients is how many clients may take units within that time. One more is refused.
	MaxClients = 1024
	// keepLimit is for how long the value of a limit is kept at least.
	keepLimit = time.Minute
)

// Take answers a batch of valid requests, one after the other. It is at most ahead before the store
// carries it out, or a window refuses it, and then it has to be decided again. A batch that is sent
// again has the until of the first time. It reports false when that has passed, or the store's
// clock was set back since: then it may not be remembered any more whether the batch was answered.
func (l *Limit) Take(id string, until time.Time, list []protocol.Take, ahead time.Duration, at *Moment) ([]protocol.Taken, bool) {
	if late(until, at) || until.After(at.now.Add(TakenFor)) {
		return nil, false
	}
	l.forget(at)
	mine := Batch{ID: id, Ends: until}
	before := slices.IndexFunc(l.Done, func(b Batch) bool { return b.client() == mine.client() })
	if before >= 0 && l.Done[before].ID == id {
		present := Limit{Full: l.Full, Slots: slices.Clone(l.Slots)} // a repeated batch changes nothing
		answers, _ := present.Decide(list, Decision{Repeated: true, OK: l.Done[before].OK}, at)
		l.keep = present.keep
		return answers, true
	}
	d := Decision{Ahead: ahead}
	if before < 0 && len(l.Done) >= MaxClients {
		d.Closed = max(l.Done[0].Ends.Sub(at.now), 1)
	}
	answers, granted := l.Decide(list, d, at)
	if mine.OK = granted; granted != 0 {
		if before >= 0 {
			l.Done = slices.Delete(l.Done, before, before+1)
		}
		l.Done = append(l.Done, mine)
	}
	return answers, true
}

// Decision says under which circumstances [Limit.Decide] decides.
type Decision struct {
	Repeated bool   // the batch was decided before, and took the units of the requests in OK
	OK       uint64 // as in [Batch]
	// Closed is for how long nothing is granted, because too many clients have taken units.
	Closed time.Duration
	Ahead  time.Duration // see [Limit.Take]
}

// Decide answers valid requests, one after the other, and returns which it granted, as in [Batch].
// lua/take.lua of package redislease takes units by the same rules.
func (l *Limit) Decide(list []protocol.Take, d Decision, at *Moment) (answers []protocol.Taken, granted uint64) {
	answers, l.keep = make([]protocol.Taken, len(list)), KeepLimit(list)
	waiting := map[protocol.Limit]int{} // units that waiting callers come back for
	for n, t := range list {
		var v view
		if t.Limit.Window {
			v = l.window(t.Limit, at)
		} else {
			v = l.bucket(t.Limit, at)
		}
		switch {
		case d.Repeated:
			answers[n].OK = d.OK&(1<<n) != 0
		case v.wait(t.Units) <= 0 && d.Closed == 0:
			answers[n].OK, granted = true, granted|1<<n
			v.take(t.Units, d.Ahead)
		}
		if !answers[n].OK {
			answers[n].Wait = max(v.wait(t.Units+waiting[t.Limit]), d.Closed, 1)
			if t.Waits {
				waiting[t.Limit] += t.Units
			}
		}
		answers[n].Remaining = v.remaining()
	}
	return answers, granted
}

// KeepLimit is for how long the value of a limit is kept at least after these requests: until
// nothing that they took matters any more, and a while longer.
func KeepLimit(list []protocol.Take) time.Duration {
	keep := keepLimit
	for _, t := range list {
		longest := t.Limit.Time(t.Limit.Burst)
		if t.Limit.Window {
			longest = 2 * t.Limit.Per
		}
		keep = max(keep, longest+keepLimit)
	}
	return keep
}

// forget forgets the batches that are not sent again. If the clock was set back, none is remembered
// for longer than from now on.
func (l *Limit) forget(at *Moment) {
	l.Done = slices.DeleteFunc(l.Done, func(b Batch) bool {
		over := at.now.After(b.Ends)
		if over {
			at.after(b.Ends.Add(1))
		}
		return over
	})
	for i := range l.Done {
		if latest := at.now.Add(TakenFor); l.Done[i].Ends.After(latest) {
			l.Done[i].Ends = latest
		}
	}
}

// view is a limit at one moment.
type view struct {
	wait      func(units int) time.Duration // until they can be taken, 0 or less when they can; of more than there can be, a guess
	take      func(units int, ahead time.Duration)
	remaining func() int
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
		wait: func(units int) time.Duration { return full().Add(b.Time(units) - size).Sub(at.now) },
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
	per, slot := WindowOf(w)
	over := func(s Slot) bool { return !at.now.Before(s.At.Add(per)) }
	used := 0
	for i := range l.Slots {
		s := &l.Slots[i]
		if s.At.After(at.now.Add(per)) { // the store's clock was set back
			s.At = at.now.Add(slot)
		}
		if !over(*s) {
			used += s.Units
		}
	}
	slices.SortStableFunc(l.Slots, func(a, b Slot) int { return a.At.Compare(b.At) })
	return view{
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
					return s.At.Add(per).Sub(at.now)
				}
			}
			if missing > 0 {
				return per
			}
			return 0
		},
		take: func(units int, ahead time.Duration) {
			l.Slots = slices.DeleteFunc(l.Slots, func(s Slot) bool {
				if !over(s) {
					return false
				}
				at.after(s.At.Add(per))
				return true
			})
			used += units
			t := time.Unix(0, at.now.Add(ahead).UnixNano()/int64(slot)*int64(slot)).Add(slot).UTC()
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

// WindowOf returns how long a window and one of its slots are, in whole microseconds: a slot is a
// sixty-fourth of the window, and at least a millisecond.
func WindowOf(w protocol.Limit) (per, slot time.Duration) {
	per = (w.Per + time.Microsecond - 1).Truncate(time.Microsecond)
	return per, max(per/64, time.Millisecond).Truncate(time.Microsecond)
}

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
		i := slices.IndexFunc(l.Done, func(has Batch) bool { return has.client() == b.client() })
		switch {
		case i < 0:
			l.Done = append(l.Done, b)
		case l.Done[i].Ends.Before(b.Ends):
			l.Done[i] = b
		}
	}
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
		w.newText(b.ID)
		w.number(int64(b.OK)) //nolint:gosec // its bits are read back
		w.time(b.Ends)
	}
	return w.b
}

// Decode implements [State].
func (l *Limit) Decode(_ string, data []byte, stamp int64, _ func(token int64) time.Time) error {
	*l = Limit{}
	if len(data) == 0 {
		return nil
	}
	d, older := &reader{b: data, stamp: stamp}, data[0] == olderLimitFormat
	if older {
		d.begin(olderLimitFormat)
	} else {
		d.begin(limitFormat)
	}
	l.Full = fromNano(d.number())
	var before int64
	l.Slots = list(d, func(s *Slot) {
		before += d.number()
		s.At, s.Units = fromNano(before), d.plain()
	})
	l.Done = list(d, func(b *Batch) {
		b.ID = d.text()
		b.OK = uint64(d.number()) //nolint:gosec // see Encode
		if !older {
			b.Ends = d.time()
		}
	})
	return d.end()
}

// AppendLeases implements [State].
func (l *Limit) AppendLeases(leases []Lease) []Lease { return leases }

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
