package redislease_test

import (
	"fmt"
	"math"
	"time"

	"github.com/anishathalye/porcupine"
)

// occasion is what the model knows of one occasion. Its grants are told apart by their attempt.
type occasion struct {
	attempt   int   // of the last grant; 0 before the first
	token     int64 // of the last grant; 0 while nobody has seen it
	highest   int64 // token that anybody has seen
	request   string
	until     int64 // the last grant's lease does not end before, in us of the server's clock
	free      bool  // it was released
	settledBy int   // the attempt; 0 while undecided
}

type action string

const (
	claims   action = "claim"
	renews   action = "renew"
	releases action = "release"
	settles  action = "settle"
)

// input is what a client asked for.
type input struct {
	action  action
	holder  string
	request string
	attempt int   // of the grant, for all but claims
	token   int64 // of the grant, for all but claims
	open    bool  // a claim of the occasion only if it is open
	sent    int64 // us; this machine's clock is the server's
	term    int64 // us
	seen    *sightings
}

// sightings are the grants of an occasion that anybody was told of. They leave few of those that may have gone unnoticed,
// and so a checker with an end.
type sightings struct {
	holder map[int]string // by attempt
	last   int            // attempt
}

// unnoticed tells whether a claim of holder may have been granted that attempt without its knowing.
func (s *sightings) unnoticed(attempt int, holder string) bool {
	h, ok := s.holder[attempt]
	return attempt <= s.last && (!ok || h == holder)
}

func (s *sightings) see(attempt int, holder string) {
	s.holder[attempt] = holder
	s.last = max(s.last, attempt)
}

type verdict string

const (
	grantedTo verdict = "granted"
	heldBy    verdict = "held"
	decided   verdict = "decided"
	done      verdict = "done"
	fenced    verdict = "fenced"
	unknown   verdict = "unknown" // nobody knows whether it was done, or will be
)

// output is what a client was told.
type output struct {
	verdict verdict
	attempt int
	token   int64
	now     int64 // of the server's clock, us
	left    int64 // us
}

// fencedOccasion says what may happen to an occasion that is granted to one holder at a time, settled once, and never
// granted again.
var fencedOccasion = porcupine.NondeterministicModel{
	Init: func() []any { return []any{occasion{}} },
	Step: func(s, in, out any) []any {
		o, i, a := s.(occasion), in.(input), out.(output)
		var next []occasion
		if i.action == claims {
			next = o.claim(i, a)
		} else {
			next = o.use(i, a)
		}
		states := make([]any, len(next))
		for n, s := range next {
			states[n] = s
		}
		return states
	},
	DescribeOperation: func(in, out any) string { return fmt.Sprintf("%+v -> %+v", in, out) },
}

func (o occasion) claim(i input, a output) []occasion {
	switch a.verdict {
	case decided:
		if o.settledBy > 0 || i.open && o.attempt == 0 {
			return []occasion{o}
		}
	case heldBy:
		if o.settledBy == 0 && o.attempt == a.attempt && !o.free && o.request != i.request && o.sees(a.token) {
			o.until = max(o.until, a.now+a.left)
			return []occasion{o}
		}
	case grantedTo:
		switch {
		case o.settledBy > 0, i.open && o.attempt == 0:
		case a.attempt == o.attempt && i.request == o.request && !o.free && o.sees(a.token): // asked again
			o.until = max(o.until, a.now+a.left)
			return []occasion{o}
		case a.attempt == o.attempt+1 && a.token > o.highest && (o.attempt == 0 || o.free || a.now >= o.until):
			return []occasion{{
				attempt: a.attempt, token: a.token, highest: a.token, request: i.request, until: a.now + a.left,
			}}
		}
	case unknown:
		if o.settledBy > 0 || i.open && o.attempt == 0 || !i.seen.unnoticed(o.attempt+1, i.holder) {
			return []occasion{o}
		}
		granted := occasion{attempt: o.attempt + 1, highest: o.highest, request: i.request, until: i.sent + i.term}
		if o.attempt > 0 && !o.free {
			granted.until = max(granted.until, o.until+i.term)
		}
		return []occasion{o, granted}
	}
	return nil
}

// use is the step of a renewal, release or settlement.
func (o occasion) use(i input, a output) []occasion {
	current := o.settledBy == 0 && o.attempt == i.attempt
	after := o
	switch i.action {
	case renews:
		current = current && !o.free
		after.until = max(o.until, i.sent+i.term)
	case releases:
		after.free = true
	case settles:
		current = current || o.settledBy == i.attempt
		after.settledBy = i.attempt
	}
	switch {
	case a.verdict == unknown && current:
		return []occasion{o, after}
	case a.verdict == unknown, a.verdict == fenced && !current:
		return []occasion{o}
	case a.verdict == done && current && after.sees(i.token):
		return []occasion{after}
	}
	return nil
}

// sees takes in the token of the last grant, and reports whether it can be that.
func (o *occasion) sees(token int64) bool {
	if o.token == 0 && token > o.highest {
		o.token, o.highest = token, token
	}
	return o.token == token
}

// returned is when an operation ends for the model: one of which the outcome is unknown may be done at any time.
func returned(v verdict) int64 {
	if v == unknown {
		return math.MaxInt64
	}
	return time.Now().UnixNano()
}
