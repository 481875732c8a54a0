package redislease_test

import (
	"fmt"
	"math"
	"time"

	"github.com/anishathalye/porcupine"
)

// tick is the model's state of one tick. Its grants are distinguished by their attempt.
type tick struct {
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

// input is a client's request.
type input struct {
	action  action
	holder  string
	request string
	attempt int   // of the grant, for all but claims
	token   int64 // of the grant, for all but claims
	open    bool  // a claim of the tick only if it is open
	sent    int64 // us; this machine's clock is the server's
	ttl     int64 // us
	seen    *sightings
}

// sightings are the grants of a tick that any client has seen. They leave few that may have gone
// unnoticed, so that the checker comes to an end.
type sightings struct {
	holder map[int]string // by attempt
	last   int            // attempt
}

// unnoticed reports whether a claim of holder may have been granted that attempt without its
// knowing.
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

// output is the answer that a client got.
type output struct {
	verdict   verdict
	attempt   int
	token     int64
	now       int64 // of the server's clock, us
	remaining int64 // us
}

// fencedTick says what may happen to a tick that is granted to one holder at a time, settled
// once, and never granted again.
var fencedTick = porcupine.NondeterministicModel{
	Init: func() []any { return []any{tick{}} },
	Step: func(s, in, out any) []any {
		o, i, a := s.(tick), in.(input), out.(output)
		var next []tick
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

func (o tick) claim(i input, a output) []tick {
	switch a.verdict {
	case decided:
		if o.settledBy > 0 || i.open && o.attempt == 0 {
			return []tick{o}
		}
	case heldBy:
		if o.settledBy == 0 && o.attempt == a.attempt && !o.free && o.request != i.request && o.sees(a.token) {
			o.until = max(o.until, a.now+a.remaining)
			return []tick{o}
		}
	case grantedTo:
		switch {
		case o.settledBy > 0, i.open && o.attempt == 0:
		case a.attempt == o.attempt && i.request == o.request && !o.free && o.sees(a.token): // asked again
			o.until = max(o.until, a.now+a.remaining)
			return []tick{o}
		case a.attempt == o.attempt+1 && a.token > o.highest && (o.attempt == 0 || o.free || a.now >= o.until):
			return []tick{{
				attempt: a.attempt, token: a.token, highest: a.token, request: i.request, until: a.now + a.remaining,
			}}
		}
	case unknown:
		if o.settledBy > 0 || i.open && o.attempt == 0 || !i.seen.unnoticed(o.attempt+1, i.holder) {
			return []tick{o}
		}
		granted := tick{attempt: o.attempt + 1, highest: o.highest, request: i.request, until: i.sent + i.ttl}
		if o.attempt > 0 && !o.free {
			granted.until = max(granted.until, o.until+i.ttl)
		}
		return []tick{o, granted}
	}
	return nil
}

// use is the step of a renewal, release or settlement.
func (o tick) use(i input, a output) []tick {
	current := o.settledBy == 0 && o.attempt == i.attempt
	after := o
	switch i.action {
	case renews:
		current = current && !o.free
		after.until = max(o.until, i.sent+i.ttl)
	case releases:
		after.free = true
	case settles:
		current = current || o.settledBy == i.attempt
		after.settledBy = i.attempt
	}
	switch {
	case a.verdict == unknown && current:
		return []tick{o, after}
	case a.verdict == unknown, a.verdict == fenced && !current:
		return []tick{o}
	case a.verdict == done && current && after.sees(i.token):
		return []tick{after}
	}
	return nil
}

// sees takes in the token of the last grant, and reports whether it can be that.
func (o *tick) sees(token int64) bool {
	if o.token == 0 && token > o.highest {
		o.token, o.highest = token, token
	}
	return o.token == token
}

// returned is when an operation ends for the model: one of which the outcome is unknown may be done
// at any time.
func returned(v verdict) int64 {
	if v == unknown {
		return math.MaxInt64
	}
	return time.Now().UnixNano()
}
