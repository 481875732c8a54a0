package quorum

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/solotick/solotick/internal/keyqueue"
	"github.com/solotick/solotick/internal/quorumnode"
	"github.com/solotick/solotick/internal/sleep"
)

// registers are replicated registers: one value per key, which changes atomically while a majority
// of the nodes can be reached, whatever the others do. It is CASPaxos (D. Rystsov, 2018), a Paxos
// of single values without a log.
//
// A change has two phases. First a proposer asks every node to promise a ballot, and learns from
// each what it has accepted for the last time. When a majority has promised, the value with the
// highest ballot is the current one, or may be: the change is applied to it. Then it asks every
// node to accept the result at its ballot, which a node does that has not promised a higher one
// meanwhile. A value that a majority has accepted is chosen: every later majority has a node in
// common with that one, and shows it.
//
// A request that changes nothing after all has a promise left over. The next one of the same key
// that changes something uses it, and has nothing to do but the second phase.
type registers struct {
	*nodes
	queue    keyqueue.Queue // of those in this process who change a register, so that they do not contend
	sights   sights
	promises promises
}

// update carries requests out, each atomically by itself. Their keys are different. grows says that
// a node which is out of memory may refuse. It returns what apply returned for each, or why the
// outcome is unknown.
//
// What changes nothing is answered after one round when a majority has accepted the same ballot,
// and none of those that were asked a higher one. That is linearizable. The value is chosen, since
// a majority has accepted it. Before the first of them was asked no higher ballot was chosen, since
// one of them would have accepted that.
func (r *registers) update(ctx context.Context, requests []request, grows bool) []error {
	ctx, cancel := context.WithTimeoutCause(ctx, r.timeout, errTimeout)
	defer cancel()
	errs := make([]error, len(requests))
	open := make([]*proposal, len(requests))
	var changed []string
	for i, q := range requests {
		open[i] = &proposal{request: q, index: i}
		if q.changes {
			changed = append(changed, q.key)
		}
	}
	fail := func(err error) []error {
		for _, p := range open {
			if !p.done {
				errs[p.index] = err
			}
		}
		return errs
	}
	if err := r.queue.Take(ctx, changed...); err != nil {
		return fail(err)
	}
	defer r.queue.Give(changed...)
	for _, p := range open {
		if p.changes {
			p.ballot = r.sights.above(p.key)
		}
	}
	for conflicts := 0; ; {
		began := time.Now()
		if err := r.round(ctx, open, grows, errs); err != nil {
			return fail(err)
		}
		open = pick(open, func(p *proposal) bool { return !p.done })
		if len(open) == 0 {
			return errs
		}
		if slices.ContainsFunc(open, func(p *proposal) bool { return p.ballot != "" }) {
			// The first ballot may have been too low for no other reason than that none was known.
			if conflicts++; conflicts > 1 {
				if err := backOff(ctx, conflicts, time.Since(began)); err != nil {
					return fail(err)
				}
			}
		}
		for _, p := range open {
			switch {
			case !p.changes && p.ballot != "": // perhaps it is not necessary any more
				p.ballot = ""
			case p.ballot == "" && p.torn == 1 && !p.seen.chosen: // somebody is about to have a value chosen: let them
			default:
				p.ballot = r.sights.above(p.key)
			}
		}
	}
}

// round asks for promises, and to accept what comes of them.
func (r *registers) round(ctx context.Context, open []*proposal, grows bool, errs []error) error {
	learn := func(p *proposal, v view, err error) {
		if err == nil {
			err = p.learn(v)
		}
		if err != nil {
			errs[p.index], p.done = err, true
		} else if p.done && p.ballot != "" && v.promised && v.chosen {
			r.promises.keep(p)
		}
	}
	ask := pick(open, func(p *proposal) bool {
		if v, ok := r.promises.use(p); ok {
			learn(p, v, nil)
			if p.done || p.result.next != "" {
				return false
			}
			p.ballot, p.next = r.sights.above(p.key), "" // others may have changed what it is to be answered
		}
		return true
	})
	if len(ask) > 0 {
		ops := make([]quorumnode.Op, len(ask))
		for i, p := range ask {
			ops[i] = quorumnode.Op{Key: p.key, Ballot: p.ballot}
		}
		began := time.Now()
		counted, others, err := r.ask(ctx, func(int) []quorumnode.Op { return ops }, nil)
		if err != nil {
			return err
		}
		took := time.Since(began)
		r.sights.see(ask, counted)
		r.sights.see(ask, others)
		for i, p := range ask {
			v, err := r.view(p, i, counted, others, took)
			learn(p, v, err)
		}
		r.catchUp(ask, counted, others)
	}
	return r.accept(ctx, pick(open, func(p *proposal) bool { return !p.done && p.next != "" }), grows)
}

// view looks at the i-th answers of a majority, which has taken so long to answer.
func (r *registers) view(p *proposal, i int, counted, others []answer, took time.Duration) (v view, err error) {
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
	v.now, v.received, v.round = r.clock.now(), time.Now(), took
	v.since = make([]time.Time, len(r.list))
	for _, a := range slices.Concat(counted, others) {
		v.since[a.node] = a.state.Since
	}
	if v.newest.Accepted == "" {
		v.stamps = v.envelope.stampsOf(counted, took)
		return v, nil
	}
	if v.envelope, err = readEnvelope(v.newest.Value); err != nil {
		return v, err
	}
	// Two majorities have a node in common, but it may have been restarted since. Then those must
	// do that have accepted the value, though they may have promised its ballot a little before it
	// was made.
	if d, ok := v.envelope.elapsed(counted); ok {
		v.elapsed = d
	} else {
		v.elapsed = max(0, v.elapsed-v.envelope.Round)
	}
	v.stamps = v.envelope.stampsOf(counted, took)
	return v, nil
}

// accept asks every node to accept the proposed values, and finishes the proposals that a majority
// has accepted.
func (r *registers) accept(ctx context.Context, writes []*proposal, grows bool) error {
	if len(writes) == 0 {
		return nil
	}
	ops := func(node int) []quorumnode.Op {
		list := make([]quorumnode.Op, len(writes))
		for i, p := range writes {
			list[i] = quorumnode.Op{Key: p.key, Ballot: p.ballot, Accept: true, Value: p.next, Since: p.seen.since[node], Keep: p.result.keep, Grows: grows}
		}
		return list
	}
	decided := func(counted []answer) bool {
		for i := range writes {
			if accepted, refused := countVotes(counted, i); accepted < r.majority() && refused == 0 {
				return false
			}
		}
		return true
	}
	counted, others, err := r.ask(ctx, ops, decided)
	if err != nil {
		return err
	}
	r.sights.see(writes, counted)
	r.sights.see(writes, others)
	for i, p := range writes {
		if accepted, _ := countVotes(counted, i); accepted >= r.majority() {
			p.finish()
		}
	}
	return nil
}

func countVotes(counted []answer, i int) (accepted, refused int) {
	for _, a := range counted {
		if a.state.Replies[i].OK {
			accepted++
		} else {
			refused++
		}
	}
	return accepted, refused
}

// catchUp sends the chosen value to nodes that have missed it, in the background. Those that are
// merely a little late get it anyway.
func (r *registers) catchUp(open []*proposal, counted, others []answer) {
	for _, a := range slices.Concat(counted, others) {
		var ops []quorumnode.Op
		for i, p := range open {
			if v := &p.seen; v.chosen && p.next == "" && v.elapsed > r.timeout && a.state.Replies[i].Accepted < v.newest.Accepted {
				ops = append(ops, quorumnode.Op{
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

// backOff waits for a random while, so that of several who contend one gets through.
func backOff(ctx context.Context, conflicts int, round time.Duration) error {
	if !sleep.For(ctx, sleep.Scatter(conflicts, max(round, time.Millisecond), 200*time.Millisecond)) {
		return fmt.Errorf("%w: %w", errContended, context.Cause(ctx))
	}
	return nil
}
