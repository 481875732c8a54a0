package protocol

import (
	"errors"
	"fmt"
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
		if !ValidName(name) {
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
