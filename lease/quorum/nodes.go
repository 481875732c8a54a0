package quorum

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/solotick/solotick/internal/quorumnode"
)

// nodes asks all nodes and waits for a majority of those that count. A node counts when it has
// remembered everything for a quarantine.
type nodes struct {
	list       []Node
	timeout    time.Duration // of one call of a node
	quarantine time.Duration
	clock      *clock

	life context.Context
	end  context.CancelFunc
	sent sync.WaitGroup // calls of nodes, which nobody may be waiting for any more

	mu     sync.Mutex
	closed bool
	fresh  bool // the namespace is unused, for all that is known
	asked  uint64
	about  []about
}

// about has what one node said of itself last.
type about struct {
	id      string
	since   time.Time // zero while nothing is known
	asked   uint64    // by which call that is known: answers may come in another order
	trusted string    // an id and a since for which it counts without a quarantine
}

// answer is the answer of one node.
type answer struct {
	node  int
	state quorumnode.State
	err   error
}

func (n *nodes) majority() int { return len(n.list)/2 + 1 }

func (n *nodes) close() {
	n.mu.Lock()
	n.closed = true
	n.mu.Unlock()
	n.end()
	n.sent.Wait()
}

// call runs f in a goroutine, for all nodes at once. What f does is not bound to the caller's
// context: every node shall get what a majority got.
func (n *nodes) call(f func(ctx context.Context, i int)) error {
	for i := range n.list {
		if err := n.callOne(i, f); err != nil {
			return err
		}
	}
	return nil
}

func (n *nodes) callOne(i int, f func(ctx context.Context, i int)) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return errClosed
	}
	n.sent.Go(func() {
		ctx, cancel := context.WithTimeout(n.life, n.timeout)
		defer cancel()
		f(ctx, i)
	})
	return nil
}

// ask sends every node its operations. It returns as soon as a majority of those that count has
// answered, and enough, which may be nil, agrees. It also returns what those say that do not count.
// The others are not waited for.
func (n *nodes) ask(ctx context.Context, ops func(node int) []quorumnode.Op, enough func(counted []answer) bool) (counted, others []answer, err error) {
	if err := context.Cause(ctx); err != nil {
		return nil, nil, err
	}
	answers := make(chan answer, len(n.list))
	send := make([][]quorumnode.Op, len(n.list))
	for i := range n.list {
		send[i] = ops(i)
	}
	n.mu.Lock()
	n.asked++
	asked := n.asked
	n.mu.Unlock()
	err = n.call(func(ctx context.Context, i int) {
		sent := n.clock.local()
		state, err := n.list[i].Do(ctx, send[i])
		if err == nil {
			n.clock.answered(i, sent, state.Now)
		} else {
			n.clock.failed(i)
		}
		if err == nil && len(state.Replies) != len(send[i]) {
			err = fmt.Errorf("%w: %d answers to %d operations", errReply, len(state.Replies), len(send[i]))
		}
		if err == nil {
			err = n.learn(i, asked, state)
		}
		answers <- answer{i, state, err}
	})
	if err != nil {
		return nil, nil, err
	}
	var failed []error
	var all []answer
	for waiting := len(n.list); waiting > 0; waiting-- {
		var a answer
		select {
		case a = <-answers:
		case <-ctx.Done():
			return nil, nil, fmt.Errorf("%w: %w", n.shortage(counted, others, failed), context.Cause(ctx))
		}
		if a.err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", n.list[a.node], a.err))
			if errors.Is(a.err, errTwice) {
				return nil, nil, a.err
			}
		} else {
			all = append(all, a)
		}
		counted, others = n.count(all)
		if len(counted) >= n.majority() && (enough == nil || waiting == 1 || enough(counted)) {
			return counted, others, nil
		}
	}
	return nil, nil, n.shortage(counted, others, failed)
}

// learn notes what a node says of itself.
func (n *nodes) learn(i int, asked uint64, s quorumnode.State) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for j, other := range n.about {
		if j != i && s.ID != "" && other.id == s.ID {
			return fmt.Errorf("%w: %s and %s", errTwice, n.list[min(i, j)], n.list[max(i, j)])
		}
	}
	if a := &n.about[i]; asked > a.asked {
		a.id, a.since, a.asked = s.ID, s.Since, asked
	}
	return nil
}

// count separates those that count from those that do not.
func (n *nodes) count(all []answer) (counted, others []answer) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, a := range all {
		if n.remaining(a.state) <= 0 || n.about[a.node].trusted == memory(a.state.ID, a.state.Since) {
			counted = append(counted, a)
		} else {
			others = append(others, a)
		}
	}
	if n.fresh && len(counted) > 0 {
		n.fresh = false // somebody has used it
	}
	if n.fresh && len(others) == len(n.list) {
		n.fresh = false
		for _, a := range others {
			n.about[a.node].trusted = memory(a.state.ID, a.state.Since)
		}
		return others, nil
	}
	return counted, others
}

// memory names what a node remembers.
func memory(id string, since time.Time) string { return id + " " + since.UTC().String() }

// remaining is for how long a node will not count yet.
func (n *nodes) remaining(s quorumnode.State) time.Duration { return n.quarantine - s.Now.Sub(s.Since) }

// shortage says that those that count are too few.
func (n *nodes) shortage(counted, others []answer, failed []error) error {
	e := &MajorityError{
		Nodes: len(n.list), Needed: n.majority(), Answered: len(counted), Restarted: len(others), Causes: failed,
	}
	if missing := e.Needed - e.Answered; missing > 0 && missing <= len(others) {
		waits := make([]time.Duration, len(others))
		for i, a := range others {
			waits[i] = n.remaining(a.state)
		}
		slices.Sort(waits)
		e.Wait = max(waits[missing-1], time.Millisecond)
	}
	return e
}

// since is the time since which a majority remembers everything, each by its own clock: of three,
// the second that began to. It is never later than before but when a node that was counted on has
// forgotten.
func (n *nodes) since() time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	var known []time.Time
	for _, a := range n.about {
		if !a.since.IsZero() {
			known = append(known, a.since)
		}
	}
	slices.SortFunc(known, time.Time.Compare)
	return known[min(n.majority(), len(known))-1].UTC()
}
