package redislease_test

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"

	"github.com/anishathalye/porcupine"
)

// lockState is the model's state of a lock. It is never changed: each step makes another.
type lockState struct {
	now     int64 // us of the server's clock: what comes later is answered no earlier
	highest int64 // token that any client has seen
	holds   []lockHold
	lost    map[int64]bool // tokens of the holds that were taken away
	key     string         // of all that
}

// lockHold is a grant. Each request has a holder of its own.
type lockHold struct {
	holder  string
	permits int
	token   int64 // 0 while no client has seen it: it is then above after
	after   int64
	until   int64 // its lease does not end before, in us of the server's clock
}

const (
	withdraws action = "withdraw"
	shows     action = "show"
)

// lockInput is a client's request.
type lockInput struct {
	action  action
	holder  string
	permits int
	limit   int
	inQueue bool  // it may have to queue behind other waiters
	token   int64 // of the grant
	sent    int64 // us; this machine's clock is the server's
	ttl     int64 // us
}

// lockOutput is the answer that a client got.
type lockOutput struct {
	verdict   verdict
	holder    string // in the way
	token     int64  // of the grant, or of the one in the way
	now       int64  // of the server's clock, us
	remaining int64  // us
	lost      []lockHold
	holds     []lockHold // the ones that were shown
}

// fencedLock says what may happen to a lock of which no more than its limit is held at a time,
// under rising tokens: a mutex, a semaphore, or one for readers and writers, as the permits and
// limits of its claims have it.
var fencedLock = porcupine.NondeterministicModel{
	Init:  func() []any { return []any{lockState{}} },
	Equal: func(a, b any) bool { return a.(lockState).key == b.(lockState).key },
	Hash: func(s any) uint64 {
		h := fnv.New64a()
		_, _ = h.Write([]byte(s.(lockState).key))
		return h.Sum64()
	},
	Step: func(s, in, out any) []any {
		l, i, a := s.(lockState), in.(lockInput), out.(lockOutput)
		var next []lockState
		switch {
		case i.action == claims && a.verdict == unknown:
			next = l.mayClaim(i)
		case i.action == claims:
			next = l.claim(i, a)
		case i.action == shows:
			next = l.show(a)
		default:
			next = l.use(i, a)
		}
		states := make([]any, len(next))
		for n, s := range next {
			s.key = fmt.Sprint(s.now, s.highest, s.holds, s.lost)
			states[n] = s
		}
		return states
	},
	DescribeOperation: func(in, out any) string { return fmt.Sprintf("%+v -> %+v", in, out) },
}

func (l lockState) find(holder string) int {
	return slices.IndexFunc(l.holds, func(h lockHold) bool { return h.holder == holder })
}

func (l lockState) held() (permits int) {
	for _, h := range l.holds {
		permits += h.permits
	}
	return permits
}

// without takes the holds with these indices away, as lost or not.
func (l lockState) without(lost bool, indices ...int) lockState {
	holds := l.holds
	l.holds, l.lost = nil, maps.Clone(l.lost)
	for i, h := range holds {
		if !slices.Contains(indices, i) {
			l.holds = append(l.holds, h)
		} else if lost && h.token != 0 {
			if l.lost == nil {
				l.lost = map[int64]bool{}
			}
			l.lost[h.token] = true
		}
	}
	return l
}

func (l lockState) with(h lockHold) lockState {
	l.holds = append(slices.Clone(l.holds), h)
	slices.SortFunc(l.holds, func(a, b lockHold) int { return cmp.Compare(a.holder, b.holder) })
	l.highest = max(l.highest, h.token)
	return l
}

// see takes in that a client has seen the token of a hold, and that its lease does not end before
// until. It fails if that is another grant.
func (l lockState) see(holder string, token, until int64) (lockState, bool) {
	i := l.find(holder)
	if i < 0 {
		return l, false
	}
	h := l.holds[i]
	if h.token == 0 && token > h.after {
		h.token = token
	}
	if h.token != token {
		return l, false
	}
	h.until = max(h.until, until)
	return l.without(false, i).with(h), true
}

func (l lockState) claim(i lockInput, a lockOutput) []lockState {
	if a.now < l.now {
		return nil
	}
	l.now = a.now
	for _, lost := range a.lost {
		seen, ok := l.see(lost.holder, lost.token, 0)
		if !ok || seen.holds[seen.find(lost.holder)].until > a.now {
			return nil
		}
		l = seen.without(true, seen.find(lost.holder))
	}
	mine := l.find(i.holder)
	if a.verdict == heldBy {
		if a.token != 0 {
			var ok bool
			if l, ok = l.see(a.holder, a.token, a.now+a.remaining); !ok {
				return nil
			}
		}
		if a.remaining <= 0 || mine >= 0 || !i.inQueue && l.held()+i.permits <= i.limit {
			return nil
		}
		return []lockState{l}
	}
	if mine >= 0 { // asked again
		l, ok := l.see(i.holder, a.token, a.now+a.remaining)
		if !ok || len(a.lost) > 0 {
			return nil
		}
		return []lockState{l}
	}
	if a.token <= l.highest || l.held()+i.permits > i.limit {
		return nil
	}
	return []lockState{l.with(lockHold{holder: i.holder, permits: i.permits, token: a.token, until: a.now + a.remaining})}
}

// mayClaim is a claim of which nobody knows whether it was done: and when, so that any of the
// leases may have run out, those first that end first.
func (l lockState) mayClaim(i lockInput) (next []lockState) {
	next = append(next, l)
	l.now = max(l.now, i.sent)
	byEnd := make([]int, len(l.holds))
	for n := range byEnd {
		byEnd[n] = n
	}
	slices.SortFunc(byEnd, func(a, b int) int { return cmp.Compare(l.holds[a].until, l.holds[b].until) })
	then := func(l lockState) {
		if l.find(i.holder) < 0 && l.held()+i.permits <= i.limit {
			next = append(next, l.with(lockHold{
				holder: i.holder, permits: i.permits, after: l.highest, until: l.now + i.ttl,
			}))
		}
	}
	then(l)
	swept := func(l lockState, indices ...int) lockState {
		for _, n := range indices {
			l.now = max(l.now, l.holds[n].until)
		}
		return l.without(true, indices...)
	}
	if mine := l.find(i.holder); mine >= 0 {
		own := swept(l, mine)
		next = append(next, own)
		then(own)
	}
	if l.held()+i.permits > i.limit || i.inQueue {
		for n := range byEnd {
			after := swept(l, byEnd[:n+1]...)
			next = append(next, after)
			then(after)
		}
	}
	return next
}

// use is the step of a renewal, release or withdrawal.
func (l lockState) use(i lockInput, a lockOutput) []lockState {
	mine := l.find(i.holder)
	current := mine >= 0 && (i.action == withdraws || l.holds[mine].token == i.token)
	switch {
	case i.action == renews:
		if current != (a.verdict == done) {
			return nil
		}
		if current {
			l, _ = l.see(i.holder, i.token, i.sent+i.ttl)
		}
		return []lockState{l}
	case a.verdict == fenced:
		if current || !l.lost[i.token] {
			return nil
		}
		return []lockState{l}
	case !current && a.verdict == done && l.lost[i.token]:
		return nil
	case !current:
		return []lockState{l}
	case a.verdict == unknown:
		return []lockState{l, l.without(false, mine)}
	}
	return []lockState{l.without(false, mine)}
}

func (l lockState) show(a lockOutput) []lockState {
	if len(a.holds) != len(l.holds) {
		return nil
	}
	for _, h := range a.holds {
		var ok bool
		if l, ok = l.see(h.holder, h.token, 0); !ok {
			return nil
		}
	}
	return []lockState{l}
}
