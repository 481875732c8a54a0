package quorum_test

import (
	"fmt"

	"github.com/anishathalye/porcupine"
)

// step is a request of a client about one tick. Each claim has a holder of its own.
type step struct {
	verb    string
	holder  string
	attempt int            // of the grant; of a claim 0
	token   int64          // the same
	sent    int64          // ns, by the clock of the bubble, which the nodes have too
	ttl     int64          // ns
	seen    map[int]string // who was seen to hold each attempt, by anybody: the rest went unnoticed
}

// said is the answer that the client got.
type said struct {
	verdict   string // granted, held, decided, done, fenced or unknown
	attempt   int
	token     int64
	now       int64 // the store's clock, ns
	remaining int64 // ns
}

// fate is the state of the tick in the model.
type fate struct {
	attempt int
	token   int64 // of the last grant; 0 while nobody has seen it
	highest int64 // that anybody has seen
	holder  string
	until   int64 // the lease does not end before
	free    bool
	settled int // by which attempt; 0 while undecided
}

// oneTick says what may happen to a tick that is granted to one holder at a time and settled
// once.
var oneTick = porcupine.NondeterministicModel{
	Init: func() []any { return []any{fate{}} },
	Step: func(state, in, out any) (next []any) {
		f, i, o := state.(fate), in.(step), out.(said)
		after := f.end
		if i.verb == "claim" {
			after = f.claim
		}
		for _, n := range after(i, o) {
			next = append(next, n)
		}
		return next
	},
	DescribeOperation: func(in, out any) string {
		i := in.(step)
		i.seen = nil
		return fmt.Sprintf("%+v -> %+v", i, out)
	},
}

func (f fate) claim(i step, o said) []fate {
	switch o.verdict {
	case "decided":
		if f.settled > 0 {
			return []fate{f}
		}
	case "held":
		if f.settled == 0 && f.attempt == o.attempt && !f.free && f.holder != i.holder && f.sees(o.token) {
			return []fate{f}
		}
	case "granted":
		switch {
		case f.settled > 0:
		case f.attempt == o.attempt && f.holder == i.holder && !f.free && f.sees(o.token): // asked again
			return []fate{f}
		case o.attempt == f.attempt+1 && o.token > f.highest && (f.attempt == 0 || f.free || o.now >= f.until):
			return []fate{{attempt: o.attempt, token: o.token, highest: o.token, holder: i.holder, until: i.sent + i.ttl}}
		}
	case "unknown":
		holder, noticed := i.seen[f.attempt+1]
		if f.settled > 0 || !noticed || holder != i.holder {
			return []fate{f}
		}
		return []fate{f, {attempt: f.attempt + 1, highest: f.highest, holder: i.holder, until: i.sent + i.ttl}}
	}
	return nil
}

// end is the step of a renewal, release or settlement.
func (f fate) end(i step, o said) []fate {
	current := f.settled == 0 && f.attempt == i.attempt
	after := f
	switch i.verb {
	case "renew":
		current = current && !f.free
		after.until = max(f.until, i.sent+i.ttl)
	case "release":
		after.free = true
	case "settle":
		current = current || f.settled == i.attempt
		after.settled = i.attempt
	}
	switch {
	case o.verdict == "unknown" && current:
		return []fate{f, after}
	case o.verdict == "unknown", o.verdict == "fenced" && !current:
		return []fate{f}
	case o.verdict == "done" && current && after.sees(i.token):
		return []fate{after}
	}
	return nil
}

// sees takes in the token of the last grant, and reports whether it can be that.
func (f *fate) sees(token int64) bool {
	if f.token == 0 && token > f.highest {
		f.token, f.highest = token, token
	}
	return f.token == token
}
