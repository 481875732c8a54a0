package storehealth

import (
	"time"

	"github.com/solotick/solotick/internal/steady"
)

// Failures follows how the requests about one job fail. If the store has several servers, others may
// have answered meanwhile.
type Failures struct {
	row     int32          // how many failed in a row
	since   steady.Instant // when the first of them was sent; 0 when there is none
	contact steady.Instant // when the store answered again after a longer time of failures
}

// firstRetry and lastRetry bound the wait after a failure, which doubles each time, in ms. It ends
// early when the store answers again.
const firstRetry, lastRetry = 50, 1000

// Add records a request that was sent then and failed, and returns after how many ms to send it again.
func (f *Failures) Add(sent steady.Instant) (wait int64) {
	if f.since == 0 {
		f.since = sent
	}
	wait = min(int64(firstRetry)<<min(f.row, 10), lastRetry)
	f.row++
	return wait
}

// Answered records that a request was answered now. gap is what ends the contact.
func (f *Failures) Answered(now steady.Instant, gap time.Duration) {
	if f.silent(now, gap) {
		f.contact = now
	}
	f.row, f.since = 0, 0
}

// silent reports whether the requests have failed for so long that those of a holder may have failed
// too.
func (f *Failures) silent(now steady.Instant, gap time.Duration) bool {
	return f.since != 0 && f.since.Until(now) > gap
}

// LastsFor returns the contact with the part of the store that keeps a job, as Lasts does. reached is
// what the store says about that part.
func (c *Contact) LastsFor(f *Failures, now steady.Instant, reached func(gap time.Duration) (begun, ends steady.Instant, ok bool)) (since, until steady.Instant, ok bool) {
	since, until, ok = c.Lasts(now)
	if f.contact != 0 {
		since = max(since, f.contact)
	}
	if ok {
		var begun, ends steady.Instant
		if begun, ends, ok = reached(c.Gap()); begun != 0 {
			since, until = max(since, begun), min(until, ends)
		}
	}
	return since, until, ok && !f.silent(now, c.Gap())
}
