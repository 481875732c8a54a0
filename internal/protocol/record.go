package protocol

import (
	"errors"
	"fmt"
	"time"
)

// Record is the record of a name, as a store has it.
type Record struct {
	Name string
	Made bool // Sync has just made it
	// Restored says that the record was older than what this client had seen of it, and that Sync
	// has brought that back. The store went back in time. Other clients may know more.
	Restored  bool
	Watermark int64 // every tick up to it is settled or open
	Token     int64 // of the last grant
	Open      []Open
	Paused    *Pause // nil when it is not
	// Resumed is when the last pause ended, with a Policy that has a Jitter: ticks that were due by
	// then, and are not decided, are skipped.
	Resumed time.Time
	// Revision is the newest that a Sync has brought, and Revised when it was brought first, after
	// another or none, by the store's clock in microseconds.
	Revision string
	Revised  time.Time
	// Schedules are those that were in force since the watermark, oldest first: the last is that of
	// Revision. When there are more than MaxSchedules, the second oldest is dropped. So the
	// schedule in force at the watermark stays known while replicas that disagree start one after
	// the other.
	Schedules []Schedule

	// Policy is the one in force.
	Policy Policy

	// Settled holds the last ticks that were settled, in that order, newest last: as many as the
	// Policy keeps. Sync returns none, Inspect all.
	Settled []Settled
}

// Settled is the outcome of a tick. If From is set, it is the outcome of all ticks in (From, Tick]
// that nobody had decided.
type Settled struct {
	Tick    int64
	From    int64     // 0 for the one tick
	Token   int64     // of the grant that settled it; 0 when it was never granted
	Attempt int       // the last; 0 when it was never granted
	Outcome Outcome   //
	At      time.Time // when it was settled, by the store's clock, in microseconds
	Holder  string    // who settled it, or held it until it was lost or replaced
	Note    string
}

const (
	// Remembered is how many settled ticks of a name a store remembers one by one, at least. Within
	// so many, a repeated settle differs from a fenced one.
	Remembered = 16
	// History is how many it keeps to be looked at, unless the [Policy] of the name says otherwise.
	History = 128
	// MinHistory and MaxHistory are the least and the most that a Policy can ask for.
	MinHistory, MaxHistory = 4, 1000
)

// Outcome is how a tick was settled: a word of lower-case letters and underscores, such as those of
// package scheduler.
type Outcome string

const (
	// OutcomeSucceeded is how a holder settles what went well. No store settles anything as that on
	// its own.
	OutcomeSucceeded Outcome = "succeeded"
	// OutcomeFailed is how a holder settles what went wrong. No store settles anything as that, either.
	OutcomeFailed Outcome = "failed"
	// OutcomeSkipped is settled by a claim with OverlapSkip, or of a name that is paused. It is
	// also that of a tick that waited when a newer one came to wait.
	OutcomeSkipped Outcome = "skipped"
	// OutcomeLost is settled by a claim of a tick that may not be granted again.
	OutcomeLost Outcome = "lost"
	// OutcomeMissed is settled by a claim of a tick that was left for too long: see
	// [Claim].TakeoverWithin.
	OutcomeMissed Outcome = "missed"
	// OutcomeReplaced is settled of a tick that has made room for one with OverlapReplace.
	OutcomeReplaced Outcome = "replaced"
	// OutcomeCancelled is settled of a tick that somebody has cancelled: see [Canceller].
	OutcomeCancelled Outcome = "cancelled"
)

// What a store notes of ticks that it settles on its own.
const (
	NoteOverlap = "overlap" // another tick was open
	NotePaused  = "paused"  // the name was paused
	NoteOpen    = "open"    // MaxOpen ticks were open
	NoteNewer   = "newer"   // a newer one took its place in the queue
	NoteExpired = "expired" // the lease had run out or was released, and it may not be granted again; a grant with this note is refused
	NoteTooOld  = "too_old" // its lease had run out for longer than it may be taken over; a grant with this note is refused
)

// Summary is the short form of a record; the zero Record, but for its name, when there is none.
type Summary struct {
	// Record lacks the Policy, the Revision, Revised and Resumed. Of its Schedules it has only the last,
	// with no Since. Of the settled ticks it has the newest, the newest that is no range, the
	// newest that was granted and the newest that is [OutcomeSucceeded]. They come from those that
	// a store remembers, at least the last [Remembered]. Each is there once, newest last.
	Record
	// Newest are the outcomes of the last SummaryOutcomes ticks or ranges that were settled, newest
	// last.
	Newest []Outcome
}

const (
	// MaxSummaries is how many records one call of Summarize shows at most.
	MaxSummaries = 256
	// SummaryOutcomes is how many outcomes a [Summary] has at most.
	SummaryOutcomes = 12
)

// CheckNames returns every fault of the names that Summarize is given, joined; nil when there is
// none.
func CheckNames(names []string) error {
	var faults []error
	if len(names) > MaxSummaries {
		faults = append(faults, fmt.Errorf("lease: names: %d are asked for at once, must be at most %d", len(names), MaxSummaries))
	}
	for _, name := range names {
		if !ValidRecord(name) {
			faults = append(faults, fmt.Errorf("lease: name %q %s", name, NameRule))
		}
	}
	return errors.Join(faults...)
}

// Summarize makes the summary of a record that has all that is kept. It is for stores.
func Summarize(r Record) Summary {
	s := Summary{Record: r}
	s.Policy, s.Revision, s.Settled = Policy{}, "", nil
	s.Revised, s.Resumed = Record{}.Revised, Record{}.Resumed
	if n := len(r.Schedules); n > 0 {
		s.Schedules = []Schedule{{Text: r.Schedules[n-1].Text}}
	}
	for _, settled := range r.Settled[max(0, len(r.Settled)-SummaryOutcomes):] {
		s.Newest = append(s.Newest, settled.Outcome)
	}
	s.Settled = notable(r.Settled)
	return s
}

// notable returns the settled ticks that a summary has.
func notable(settled []Settled) (list []Settled) {
	var single, granted, succeeded bool
	for i := len(settled) - 1; i >= 0 && !(single && granted && succeeded); i-- {
		s := settled[i]
		isNew := i == len(settled)-1 || !single && s.From == 0 || !granted && s.Token != 0 || !succeeded && s.Outcome == OutcomeSucceeded
		single, granted, succeeded = single || s.From == 0, granted || s.Token != 0, succeeded || s.Outcome == OutcomeSucceeded
		if isNew {
			list = append([]Settled{s}, list...)
		}
	}
	return list
}
