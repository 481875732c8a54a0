// Package storehealth follows how the store answers a replica: whether it works ([Health]), since when
// there is contact with it ([Contact]), and how long a call may take ([Timeout]).
package storehealth

import (
	"sync"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/sleep"
)

// CallKind is the kind of a call, by what it shows about the store.
type CallKind int

const (
	// Reads change nothing. If they fail, the store does not answer.
	Reads CallKind = iota
	// Renewals write what is there already. Full memory fails none, so one that works says nothing
	// about other writes.
	Renewals
	// Writes may grow what the store keeps. Full memory and full disks fail these alone.
	Writes
)

// ClaimKind returns the kind of a claim. A claim that was refused has only read.
func ClaimKind(a protocol.Answer, err error) CallKind {
	switch {
	case err != nil, a.Status == protocol.Granted, a.Status == protocol.Skipped, a.Status == protocol.Lost, a.Status == protocol.Queued:
		return Writes
	default:
		return Reads
	}
}

// Change reports that the store stopped working, or works again. Its fields are those of the
// scheduler's StoreChanged.
type Change struct {
	Up         bool
	WritesOnly bool
	Away       time.Duration
	Err        error
	Hint       string
}

// Health follows whether the store answers and takes writes.
type Health struct {
	observe func(Change)
	hint    func(error) string
	Back    func(since time.Time) // is called when the store answers again, if it is not nil

	mu       sync.Mutex
	up       bool
	last     error     // what a call failed with last; nil when none has
	gone     time.Time // when the first call was made that it left without an answer; zero while it is up
	changed  time.Time // when up did, or the health was made
	answered time.Time // when the latest of the calls that were answered was made
	Trouble  sleep.Signal

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

// quiet is how long no call may fail before the store counts as working again. A claim that keeps
// failing is repeated within that time, so a store that fails some calls stays down.
const quiet = 1500 * time.Millisecond

// New returns the Health of a store that has not answered yet. It calls observe with each change.
func New(observe func(Change), hint func(error) string) *Health {
	now := time.Now()
	return &Health{observe: observe, hint: hint, changed: now, since: now, Trouble: sleep.NewSignal()}
}

// outageAfter is how long the store must have been down for its recovery to matter. A store that
// fails every other call would otherwise recover all the time, and everything that failed would be
// sent again each time.
const outageAfter = 200 * time.Millisecond

// Report records the result of a call that ended now and took that long. recovered is true for the
// first success after an outage.
func (h *Health) Report(kind CallKind, took time.Duration, err error) (recovered bool) {
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
		if kind != Reads && h.refused == nil && !made.Before(h.written) {
			h.refused, h.asked = err, now
		}
		h.Trouble.Set()
	default:
		if made.After(h.answered) {
			h.answered = made
		}
		if kind == Writes && made.After(h.written) {
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
	event, changed := h.changeLocked(kind, made, now, err)
	is := h.up
	h.mu.Unlock()
	if changed {
		h.observe(event)
	}
	if is && !was && h.Back != nil && !gone.IsZero() {
		h.Back(gone)
	}
	return recovered
}

// changeLocked returns the change that a call has caused, if any. After a failed write, the next
// read decides whether the store does not answer or only writes fail.
func (h *Health) changeLocked(kind CallKind, made, now time.Time, err error) (event Change, changed bool) {
	ceased := h.works || !h.said
	switch {
	case ceased && err != nil && kind == Reads && !h.up:
		h.works, h.said, h.writesOnly = false, true, false
		h.since = now
		return Change{Err: err, Hint: h.hint(err)}, true
	case ceased && err == nil && kind == Reads && h.refused != nil && !made.Before(h.asked):
		h.works, h.said, h.writesOnly = false, true, true
		h.since = h.asked
		return Change{WritesOnly: true, Err: h.refused, Hint: h.hint(h.refused)}, true
	case !h.works && h.up && h.refused == nil && (h.failed.IsZero() || !h.said || now.Sub(h.failed) >= quiet):
		h.works, h.said = true, true
		return Change{Up: true, WritesOnly: h.writesOnly, Away: h.regained.Sub(h.since)}, true
	}
	return event, false
}

// LastError returns the error of the last call that failed, or nil if none has.
func (h *Health) LastError() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last
}

// FailedLast returns when a call last failed, or the zero time if none has.
func (h *Health) FailedLast() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.failed
}

// IsUp reports whether the store answered the last call.
func (h *Health) IsUp() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.up
}

// IsWorking reports whether the store works, as the last Change said.
func (h *Health) IsWorking() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.works
}

// IsProbed reports whether the store did not work when it was last called, so that the next calls
// show when it does.
func (h *Health) IsProbed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.refused != nil || h.said && !h.works
}
