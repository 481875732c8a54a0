package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/quorumnode"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/lease/quorum"
)

// fakeNode is a node in memory, with a clock and a network of its own.
type fakeNode struct {
	name string

	mu        sync.Mutex
	runs      int
	since     time.Time // by its clock; zero until somebody asks
	registers map[string]*fakeRegister
	fleet     *memlease.Store
	listeners map[*func(string)]struct{}
	offset    time.Duration
	rate      float64 // of its clock, beside ours; 0 is 1
	made      time.Time
	calls     int

	fault func() fault // decides about each call; nil: none has any
	down  bool
	full  bool          // has no memory left
	hangs chan struct{} // closed when it no longer hangs; nil while it does not
}

// fault is how one call goes wrong.
type fault struct {
	before, after time.Duration // on the way there, and back
	drop, lose    bool          // the request, or the reply
	twice         time.Duration // it comes again, so much later; 0: it does not
}

type fakeRegister struct {
	promised, accepted, value string
	promisedAt, at            time.Time
}

var (
	errDown = errors.New("connection refused")
	errLost = errors.New("connection reset")
	errFull = errors.New("OOM command not allowed")
)

func newFakeNodes(n int) (list []*fakeNode) {
	for i := range n {
		list = append(list, &fakeNode{name: fmt.Sprint("node-", i), made: time.Now(), fleet: new(memlease.Store)})
	}
	return list
}

// openFake makes a store over nodes in memory, whose namespace counts as unused, and closes it with
// the test.
func openFake(t testing.TB, list []*fakeNode, opts ...quorum.Option) *quorum.Store {
	t.Helper()
	nodes := make([]quorum.Node, len(list))
	for i, n := range list {
		nodes[i] = n
	}
	s, err := quorum.New(nodes, "default", append([]quorum.Option{quorum.WithFreshStart()}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func (n *fakeNode) String() string { return n.name }

// empty restarts the node, which has then forgotten everything.
func (n *fakeNode) empty() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.runs++
	n.since, n.registers, n.fleet = time.Time{}, nil, new(memlease.Store)
}

func (n *fakeNode) set(down bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down = down
}

// fill takes the node's memory, or gives it back.
func (n *fakeNode) fill(yes bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.full = yes
}

// step moves the node's clock.
func (n *fakeNode) step(d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.offset += d
	n.fleet.Step(d)
}

// meet decides what happens to calls from now on.
func (n *fakeNode) meet(f func() fault) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.fault = f
}

// hang lets calls wait, until it is called again or their contexts end.
func (n *fakeNode) hang(yes bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.hangs != nil {
		close(n.hangs)
		n.hangs = nil
	}
	if yes {
		n.hangs = make(chan struct{})
	}
}

func (n *fakeNode) clockLocked() time.Time {
	passed := time.Since(n.made)
	if n.rate != 0 {
		passed = time.Duration(float64(passed) * n.rate)
	}
	return n.made.Add(passed).Add(n.offset)
}

// travel carries a call to the node and back: f is carried out, or not, once or twice.
func (n *fakeNode) travel(ctx context.Context, f func()) error {
	n.mu.Lock()
	n.calls++
	var way fault
	if n.fault != nil {
		way = n.fault()
	}
	down, hangs := n.down, n.hangs
	n.mu.Unlock()
	switch {
	case down:
		return errDown
	case hangs != nil:
		select {
		case <-hangs:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if way.drop {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	if way.twice > 0 {
		time.AfterFunc(way.before+way.twice, f)
	}
	if way.before > 0 {
		arrived := make(chan struct{})
		time.AfterFunc(way.before, func() { f(); close(arrived) }) // whether or not anybody waits
		select {
		case <-arrived:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	} else {
		f()
	}
	if way.after > 0 {
		select {
		case <-time.After(way.after):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if way.lose {
		return errLost
	}
	return nil
}

// Do implements quorum.Node.
func (n *fakeNode) Do(ctx context.Context, ops []quorumnode.Op) (s quorumnode.State, err error) {
	n.mu.Lock()
	full := n.full && slices.ContainsFunc(ops, func(op quorumnode.Op) bool { return op.Grows })
	n.mu.Unlock()
	if full {
		return s, errFull
	}
	states := make(chan quorumnode.State, 2) // it may come twice
	if err := n.travel(ctx, func() { states <- n.carryOut(ops) }); err != nil {
		return s, err
	}
	return <-states, nil
}

func (n *fakeNode) carryOut(ops []quorumnode.Op) quorumnode.State {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := n.clockLocked()
	if n.since.IsZero() {
		n.since = now
	}
	if n.registers == nil {
		n.registers = make(map[string]*fakeRegister)
	}
	s := quorumnode.State{ID: fmt.Sprint(n.name, "-", n.runs), Now: now, Since: n.since, Replies: make([]quorumnode.Reply, len(ops))}
	for i, op := range ops {
		r := n.registers[op.Key]
		if r == nil {
			r = new(fakeRegister)
			n.registers[op.Key] = r
		}
		s.Replies[i] = r.carryOut(op, now, n.since)
	}
	return s
}

func (r *fakeRegister) carryOut(op quorumnode.Op, now, since time.Time) (a quorumnode.Reply) {
	if !op.Accept {
		if a.OK = op.Ballot != "" && op.Ballot >= r.promised; op.Ballot > r.promised {
			r.promised, r.promisedAt = op.Ballot, now
		}
		a.Promised, a.Accepted, a.Value = r.promised, r.accepted, r.value
		if r.accepted != "" {
			a.Age = now.Sub(r.at)
		}
		return a
	}
	if a.OK = op.Ballot >= r.promised && (op.Since.IsZero() || op.Since.Equal(since)); a.OK && op.Ballot != r.accepted {
		if r.at = now.Add(-op.Age); op.Age == 0 && r.promised == op.Ballot {
			r.at = r.promisedAt
		}
		if r.promised != op.Ballot {
			r.promised, r.promisedAt = op.Ballot, now
		}
		r.accepted, r.value = op.Ballot, op.Value
	}
	a.Promised = r.promised
	return a
}

// Keys implements quorum.Node. The cursor is the key that was listed last.
func (n *fakeNode) Keys(ctx context.Context, prefix, cursor string, count int) (keys []string, next string, err error) {
	lists := make(chan []string, 2) // it may come twice
	err = n.travel(ctx, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		var list []string
		for _, key := range slices.Sorted(maps.Keys(n.registers)) {
			if key > cursor && strings.HasPrefix(key, prefix) {
				list = append(list, key)
			}
		}
		lists <- list
	})
	if err != nil {
		return nil, "", err
	}
	if keys = <-lists; len(keys) > count {
		keys = keys[:count]
		next = keys[count-1]
	}
	return keys, next, nil
}

// Publish implements quorum.Node.
func (n *fakeNode) Publish(ctx context.Context, message string) error {
	return n.travel(ctx, func() {
		n.mu.Lock()
		notify := slices.Collect(maps.Keys(n.listeners))
		n.mu.Unlock()
		for _, f := range notify {
			(*f)(message)
		}
	})
}

// Listen implements quorum.Node.
func (n *fakeNode) Listen(ctx context.Context, notify func(string)) error {
	err := n.travel(ctx, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.listeners == nil {
			n.listeners = make(map[*func(string)]struct{})
		}
		n.listeners[&notify] = struct{}{}
	})
	defer func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.listeners, &notify)
	}()
	if err != nil {
		return err
	}
	notify("")
	<-ctx.Done()
	return context.Cause(ctx)
}

// Fleet implements quorum.Node.
func (n *fakeNode) Fleet() quorumnode.Fleet { return n }

// reached calls f with the store if the call arrives at the node.
func reached[T any](ctx context.Context, n *fakeNode, f func(s *memlease.Store) (T, error)) (T, error) {
	type answer struct {
		said T
		err  error
	}
	answers := make(chan answer, 2) // it may come twice
	err := n.travel(ctx, func() {
		n.mu.Lock()
		fleet := n.fleet
		n.mu.Unlock()
		said, err := f(fleet)
		answers <- answer{said, err}
	})
	if err != nil {
		var none T
		return none, err
	}
	a := <-answers
	return a.said, a.err
}

// SendHeartbeat implements quorum.Fleet.
func (n *fakeNode) SendHeartbeat(ctx context.Context, holder string, info []byte, life time.Duration) error {
	_, err := reached(ctx, n, func(s *memlease.Store) (struct{}, error) {
		return struct{}{}, s.SendHeartbeat(context.WithoutCancel(ctx), holder, info, life)
	})
	return err
}

// Members implements quorum.Fleet.
func (n *fakeNode) Members(ctx context.Context) ([]protocol.Member, error) {
	return reached(ctx, n, func(s *memlease.Store) ([]protocol.Member, error) { return s.Members(ctx) })
}

// MembersBut implements quorum.Fleet.
func (n *fakeNode) MembersBut(ctx context.Context, known map[string]string) ([]protocol.Member, error) {
	return reached(ctx, n, func(s *memlease.Store) ([]protocol.Member, error) { return s.MembersBut(ctx, known) })
}

// FormerMembers implements quorum.Fleet.
func (n *fakeNode) FormerMembers(ctx context.Context) ([]protocol.Member, error) {
	return reached(ctx, n, func(s *memlease.Store) ([]protocol.Member, error) { return s.FormerMembers(ctx) })
}

// PutSet implements quorum.Fleet.
func (n *fakeNode) PutSet(ctx context.Context, set []byte, life time.Duration) error {
	_, err := reached(ctx, n, func(s *memlease.Store) (struct{}, error) {
		return struct{}{}, s.PutSet(context.WithoutCancel(ctx), set, life)
	})
	return err
}

// KeepSets implements quorum.Fleet.
func (n *fakeNode) KeepSets(ctx context.Context, digests []string, life time.Duration) (kept []bool, err error) {
	return reached(ctx, n, func(s *memlease.Store) ([]bool, error) { return s.KeepSets(ctx, digests, life) })
}

// GetSets implements quorum.Fleet.
func (n *fakeNode) GetSets(ctx context.Context, digests []string) (sets [][]byte, err error) {
	return reached(ctx, n, func(s *memlease.Store) ([][]byte, error) { return s.GetSets(ctx, digests) })
}
