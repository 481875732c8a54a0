package scheduler

import (
	"sync"
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

// callKind is what a call of the store shows about it.
type callKind int

const (
	// reads change nothing. A store that fails them does not answer.
	reads callKind = iota
	// renewals write what is there already. Full memory fails none, so one that works says nothing
	// about other writes.
	renewals
	// writes may grow what the store keeps. Full memory and full disks fail these alone.
	writes
)

// claimKind returns the kind of a claim: one that was refused a tick has only read.
func claimKind(a protocol.Answer, err error) callKind {
	switch {
	case err != nil, a.Status == protocol.Granted, a.Status == protocol.Skipped, a.Status == protocol.Lost, a.Status == protocol.Queued:
		return writes
	default:
		return reads
	}
}

// health watches how the store answers.
type health struct {
	observe func(Event)
	hint    func(error) string
	back    func(since time.Time) // is called when the store answers again, if it is not nil

	mu       sync.Mutex
	up       bool
	last     error         // what a call failed with last; nil when none has
	gone     time.Time     // when the first call was made that it left without an answer; zero while it is up
	changed  time.Time     // when up did, or the health was made
	answered time.Time     // when the latest of the calls that were answered was made
	trouble  chan struct{} // of size 1

	written time.Time // when the latest of the writes that worked was made
	refused error     // what a write failed with first, if none has worked since
	asked   time.Time // when that write failed

	works      bool      // as the last event says
	said       bool      // there was an event
	writesOnly bool      // the last event said that only writes fail
	since      time.Time // when it ceased to work, or the health was made
	failed     time.Time // when a call failed last
	regained   time.Time // when a call succeeded first after that
}

// quiet is for how long no call fails before a store works again. A claim that keeps failing is
// made again within lastRetry, so a store that fails some calls does not work all the while.
const quiet = 1500 * time.Millisecond

func newHealth(observe func(Event), hint func(error) string) *health {
	now := time.Now()
	return &health{observe: observe, hint: hint, changed: now, since: now, trouble: make(chan struct{}, 1)}
}

// outageAfter is how long the store has to be down at least for its recovery to matter. One that
// answers some calls and fails others goes down and up all the time, and what fails must not be
// asked for again each time.
const outageAfter = 200 * time.Millisecond

// report takes in one call of the store, which took so long until now. recovered shows that it is
// the first to succeed after an absence.
func (h *health) report(kind callKind, took time.Duration, err error) (recovered bool) {
	h.mu.Lock()
	now := time.Now()
	made, away, was, gone := now.Add(-took), now.Sub(h.changed), h.up, h.gone
	switch {
	case err != nil:
		h.last, h.failed, h.regained = err, now, time.Time{}
		// That a call hung says nothing about a store which has answered later ones since.
		if was && !made.Before(h.answered) {
			h.up, h.changed = false, now
		}
		if !h.up && h.gone.IsZero() {
			h.gone = made
		}
		if kind != reads && h.refused == nil && !made.Before(h.written) {
			h.refused, h.asked = err, now
		}
		select {
		case h.trouble <- struct{}{}: // wake-ups may coalesce
		default:
		}
	default:
		if made.After(h.answered) {
			h.answered = made
		}
		if kind == writes && made.After(h.written) {
			h.written, h.refused = made, nil
		}
		if h.regained.IsZero() {
			h.regained = now
		}
		if !was {
			h.up, h.changed, h.gone = true, now, time.Time{}
			recovered = away >= outageAfter
		}
	}
	event := h.changeLocked(kind, made, now, err)
	is := h.up
	h.mu.Unlock()
	if event != nil {
		h.observe(event)
	}
	if is && !was && h.back != nil && !gone.IsZero() {
		h.back(gone)
	}
	return recovered
}

// changeLocked returns the event that the store ceased to work, or works. Where a write failed, the
// next read decides which of the two it is: the store does not answer, or only writes fail.
func (h *health) changeLocked(kind callKind, made, now time.Time, err error) Event {
	ceased := h.works || !h.said
	switch {
	case ceased && err != nil && kind == reads && !h.up:
		h.works, h.said, h.writesOnly = false, true, false
		h.since = now
		return StoreChanged{Err: err, Hint: h.hint(err)}
	case ceased && err == nil && kind == reads && h.refused != nil && !made.Before(h.asked):
		h.works, h.said, h.writesOnly = false, true, true
		h.since = h.asked
		return StoreChanged{WritesOnly: true, Err: h.refused, Hint: h.hint(h.refused)}
	case !h.works && h.up && h.refused == nil && (h.failed.IsZero() || !h.said || now.Sub(h.failed) >= quiet):
		h.works, h.said = true, true
		return StoreChanged{Up: true, WritesOnly: h.writesOnly, Away: h.regained.Sub(h.since)}
	}
	return nil
}

// lastError returns what a call failed with last.
func (h *health) lastError() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last
}

// failedLast returns when a call failed last; the zero time when none has.
func (h *health) failedLast() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.failed
}

// isUp reports whether the store has answered the last call.
func (h *health) isUp() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.up
}

// isWorking reports what the last event said: that no call fails, nor did one lately.
func (h *health) isWorking() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.works
}

// isProbed reports whether the store did not work when it was called last: the next calls show
// when it does.
func (h *health) isProbed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.refused != nil || h.said && !h.works
}
