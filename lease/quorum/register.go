package quorum

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// registers are replicated registers: one value per key, which changes atomically while a majority of the nodes can be
// reached, whatever the others do. It is CASPaxos (D. Rystsov, 2018), a Paxos of single values without a log.
//
// A change has two phases. First a proposer asks every node to promise a ballot, and learns from each what it has accepted
// for the last time. When a majority has promised, the value with the highest ballot is the current one, or may be: it is
// what the change is applied to. Then it asks every node to accept the result at its ballot, which a node does that has
// not promised a higher one meanwhile. A value that a majority has accepted is chosen: every later majority has a node
// in common with that one, and shows it.
type registers struct {
	*nodes
	turns turns

	mu       sync.Mutex
	counters map[string]sight // so that the first ballot is high enough
}

// sight is the highest counter that was seen, and when.
type sight struct {
	counter uint64
	at      time.Time
}

// others is how long a counter is expected to stay as it is: so much higher is the ballot of who has not looked for longer, for
// others may have changed the value meanwhile. 48 bits last for more than a century.
const others = 16 * time.Microsecond

// opening is how a change begins.
type opening int

const (
	// look reads first and promises nothing: for what often changes nothing. Whoever loses then disturbs nobody.
	look opening = iota
	// first asks for a promise of the lowest ballot, which is given if there is no value, and is as good as reading if
	// there is one.
	first
	// above asks for a promise of a ballot above the last one seen.
	above
)

// mostCounters bounds the memory of counters; to forget one costs a round trip.
const mostCounters = 1 << 17

// change is what update applies. It may be called more than once for a key, with what others have made of it in between.
type change func(i int, at reading) (outcome, error)

// update applies a change to registers, each atomically by itself. The keys are different. grows says that a node which
// is out of memory may refuse. It returns what f returned for each key, or why the outcome is unknown.
//
// What changes nothing is answered after one round when a majority has accepted the same ballot, and none of those that
// were asked a higher one. That is linearizable: the value is chosen, since a majority has accepted it; and before the
// first of them was asked no higher ballot was chosen, since one of them would have accepted that.
func (r *registers) update(ctx context.Context, keys []string, begin opening, grows bool, f change) []error {
	ctx, cancel := context.WithTimeoutCause(ctx, r.timeout, errTimeout)
	defer cancel()
	errs := make([]error, len(keys))
	open := make([]*proposal, len(keys))
	for i, key := range keys {
		open[i] = &proposal{index: i, key: key}
		switch begin {
		case look:
		case first:
			open[i].ballot = ballotAbove(0)
		case above:
			open[i].ballot = r.above(key)
		}
	}
	mine := false // nobody else in this process has its turn at these keys
	for conflicts := 0; ; {
		if begin != look && !mine {
			give, err := r.turns.take(ctx, keysOf(open))
			if err != nil {
				return fill(errs, open, err)
			}
			defer give()
			mine = true
		}
		began := time.Now()
		if err := r.round(ctx, open, grows, f, errs); err != nil {
			return fill(errs, open, err)
		}
		open = pick(open, func(p *proposal) bool { return !p.done })
		if len(open) == 0 {
			return errs
		}
		refused := pick(open, func(p *proposal) bool { return p.ballot != "" })
		if len(refused) > 0 {
			// The first ballot may have been too low for no other reason than that we knew none.
			if conflicts++; conflicts > 1 {
				if err := backOff(ctx, conflicts, time.Since(began)); err != nil {
					return fill(errs, open, err)
				}
			}
		}
		for _, p := range open {
			switch {
			case begin == look && p.ballot != "": // whoever was faster may have made it unnecessary
				p.ballot = ""
			case p.ballot == "" && p.torn == 1 && !p.seen.chosen: // somebody is about to have a value chosen: let them
			default:
				p.ballot = r.above(p.key)
			}
		}
		if begin == look && !mine {
			give, err := r.turns.take(ctx, keysOf(open))
			if err != nil {
				return fill(errs, open, err)
			}
			defer give()
			mine = true
		}
	}
}

// round asks for promises, and to accept what comes of them.
func (r *registers) round(ctx context.Context, open []*proposal, grows bool, f change, errs []error) error {
	ops := make([]Op, len(open))
	for i, p := range open {
		ops[i] = Op{Key: p.key, Ballot: p.ballot}
	}
	began := time.Now()
	counted, others, err := r.ask(ctx, func(int) []Op { return ops }, nil)
	if err != nil {
		return err
	}
	took := time.Since(began)
	r.see(open, counted)
	r.see(open, others)
	for i, p := range open {
		v, err := r.view(p, i, counted, took)
		if err == nil {
			err = p.learn(v, f)
		}
		if err != nil {
			errs[p.index], p.done = err, true
		}
	}
	r.catchUp(open, counted, others)
	writes := pick(open, func(p *proposal) bool { return p.next != "" })
	if len(writes) == 0 {
		return nil
	}
	since := make([]time.Time, len(r.list))
	for _, a := range slices.Concat(counted, others) {
		since[a.node] = a.state.Since
	}
	return r.accept(ctx, writes, since, grows)
}

// view is what a majority has said of one key.
type view struct {
	newest   Reply // with the highest ballot
	envelope envelope
	stamps   []stamp       // of now
	round    time.Duration // how long it took to be told
	at       reading
	elapsed  time.Duration // since the newest was written, by the clock of a node that was there
	chosen   bool          // the newest is
	promised bool          // the proposal's ballot is
}

// view looks at the i-th answers of a majority, which has taken so long to answer.
func (r *registers) view(p *proposal, i int, counted []answer, took time.Duration) (v view, err error) {
	promises, same := 0, 0
	for n, a := range counted {
		reply := a.state.Replies[i]
		if reply.OK {
			promises++
		}
		age := max(reply.Age, 0)
		switch {
		case n == 0 || reply.Accepted > v.newest.Accepted:
			v.newest, v.elapsed, same = reply, age, 1
		case reply.Accepted == v.newest.Accepted:
			v.elapsed = min(v.elapsed, age)
			same++
		}
	}
	v.chosen = same >= r.majority()
	v.promised = p.ballot != "" && promises >= r.majority()
	v.at.now, v.round = r.clock.now(), took
	if v.newest.Accepted == "" {
		v.envelope.written = v.at.now
		v.stamps = v.envelope.stampsOf(counted, took)
		return v, nil
	}
	if v.envelope, err = readEnvelope(v.newest.Value); err != nil {
		return v, err
	}
	// Two majorities have a node in common, but it may have been started anew since. Then those must do that have accepted
	// the value, though they may have promised its ballot a little before it was made.
	if d, ok := v.envelope.elapsed(counted); ok {
		v.elapsed = d
	} else {
		v.elapsed = max(0, v.elapsed-v.envelope.round)
	}
	v.stamps = v.envelope.stampsOf(counted, took)
	v.at.value, v.at.shift = v.envelope.value, v.at.now.Sub(v.envelope.written)-v.elapsed
	return v, nil
}

// accept asks every node to accept what is proposed, and finishes what a majority has accepted. since is when each began
// to remember that has promised.
func (r *registers) accept(ctx context.Context, writes []*proposal, since []time.Time, grows bool) error {
	ops := func(node int) []Op {
		list := make([]Op, len(writes))
		for i, p := range writes {
			list[i] = Op{Key: p.key, Ballot: p.ballot, Accept: true, Value: p.next, Since: since[node], Keep: p.result.keep, Grows: grows}
		}
		return list
	}
	settled := func(counted []answer) bool {
		for i := range writes {
			if accepted, refused := tally(counted, i); accepted < r.majority() && refused == 0 {
				return false
			}
		}
		return true
	}
	counted, others, err := r.ask(ctx, ops, settled)
	if err != nil {
		return err
	}
	r.see(writes, counted)
	r.see(writes, others)
	for i, p := range writes {
		if accepted, _ := tally(counted, i); accepted >= r.majority() {
			p.finish(p.result)
		}
	}
	return nil
}

func tally(counted []answer, i int) (accepted, refused int) {
	for _, a := range counted {
		if a.state.Replies[i].OK {
			accepted++
		} else {
			refused++
		}
	}
	return accepted, refused
}

// catchUp gives nodes that have missed a value what was chosen, in the background. Those that are merely a little late get
// it anyway.
func (r *registers) catchUp(open []*proposal, counted, others []answer) {
	for _, a := range slices.Concat(counted, others) {
		var ops []Op
		for i, p := range open {
			if v := &p.seen; v.chosen && p.next == "" && v.elapsed > r.timeout && a.state.Replies[i].Accepted < v.newest.Accepted {
				ops = append(ops, Op{
					Key: p.key, Ballot: v.newest.Accepted, Accept: true, Value: v.newest.Value, Age: v.elapsed, Keep: p.result.keep,
					Since: a.state.Since,
				})
			}
		}
		if len(ops) > 0 { // it is no harm if that is in vain
			_ = r.callOne(a.node, func(ctx context.Context, i int) { _, _ = r.list[i].Do(ctx, ops) })
		}
	}
}

// see takes in the ballots of answers to the proposals.
func (r *registers) see(open []*proposal, answers []answer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.counters) > mostCounters {
		r.counters = nil
	}
	if r.counters == nil {
		r.counters = make(map[string]sight)
	}
	now := time.Now()
	for _, a := range answers {
		for i, p := range open {
			reply := a.state.Replies[i]
			highest := max(counterOf(max(reply.Promised, reply.Accepted)), counterOf(p.ballot))
			if highest >= r.counters[p.key].counter {
				r.counters[p.key] = sight{highest, now}
			}
		}
	}
}

// above returns a ballot that is above all that were seen of the key, and likely above what others have made of it since.
func (r *registers) above(key string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	seen, ok := r.counters[key]
	if !ok {
		return ballotAbove(0)
	}
	return ballotAbove(seen.counter + uint64(max(0, time.Since(seen.at)/others)))
}

// backOff waits for a random while, so that of several who contend one gets through.
func backOff(ctx context.Context, conflicts int, round time.Duration) error {
	most := min(max(round, time.Millisecond)<<min(conflicts, 6), 200*time.Millisecond)
	t := time.NewTimer(rand.N(most))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ErrContended, context.Cause(ctx))
	}
}
