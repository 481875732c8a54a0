package redislease

import "time"

// lanes is how many round trips the store has under way at once, to each server. Mostly two are
// used: see [traffic.share]. The others are for when a connection hangs.
const lanes = 4

const (
	// leastHang, and eachTakes for everything in it, is after how long a round trip is no longer
	// waited for: what waits leaves on another lane.
	leastHang = time.Millisecond
	eachTakes = 50 * time.Microsecond
	// From divisible requests on, those that wait are sent in two parts, so that the server works
	// on one while the client works on the other.
	divisible = 8
)

// flight is a round trip that is under way.
type flight struct {
	size  int // how many commands and operations; 0: the lane is free
	began time.Time
}

func (f flight) hangs(now time.Time) bool {
	return now.Sub(f.began) >= leastHang+time.Duration(f.size)*eachTakes
}

// traffic are the round trips to one server. It is used with the mutex of its pipe held.
type traffic struct {
	flights [lanes]flight
}

// free returns a lane that is free; false when there is none.
func (t *traffic) free() (lane int, ok bool) {
	for i, f := range t.flights {
		if f.size == 0 {
			return i, true
		}
	}
	return 0, false
}

// underWay is how much is under way and may be answered soon.
func (t *traffic) underWay(now time.Time) (n int) {
	for _, f := range t.flights {
		if f.size > 0 && !f.hangs(now) {
			n += f.size
		}
	}
	return n
}

// share is how many of the waiting operations leave now. It is none while fewer wait than are under
// way, since answers bring more, and operations that travel together cost less. It is half of all
// when they are many.
func (t *traffic) share(waiting int, now time.Time) int {
	if waiting == 0 {
		return 0
	}
	if _, ok := t.free(); !ok {
		return 0
	}
	underWay := t.underWay(now)
	if waiting < underWay {
		return 0
	}
	return min(max((waiting+underWay+1)/2, divisible), most)
}
