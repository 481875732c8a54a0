package quorum

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/solotick/solotick/lease/protocol"
)

// Announce implements [protocol.Roster]. A majority of the nodes has to hear of it. One that has not heard that a life is
// over tells of it until it would have ended.
func (s *Store) Announce(ctx context.Context, holder string, info []byte, life time.Duration) error {
	switch {
	case !protocol.ValidName(holder):
		return fmt.Errorf("quorum: holder %q %s", holder, protocol.NameRule)
	case len(info) > protocol.MaxInfo:
		return fmt.Errorf("quorum: %d bytes about %s, must be at most %d", len(info), holder, protocol.MaxInfo)
	}
	_, err := gather(ctx, s.registers.nodes, func(ctx context.Context, n Node) (struct{}, error) {
		return struct{}{}, n.Announce(ctx, holder, info, life)
	})
	if err != nil {
		return fmt.Errorf("announce %s: %w", holder, err)
	}
	return nil
}

// Members implements [protocol.Roster]: whoever is known to one of a majority of the nodes.
func (s *Store) Members(ctx context.Context) ([]protocol.Member, error) {
	lists, err := gather(ctx, s.registers.nodes, func(ctx context.Context, n Node) ([]protocol.Member, error) { return n.Members(ctx) })
	if err != nil {
		return nil, fmt.Errorf("members: %w", err)
	}
	newest := make(map[string]protocol.Member)
	for _, m := range slices.Concat(lists...) {
		if known, ok := newest[m.Holder]; !ok || m.Left > known.Left {
			newest[m.Holder] = m
		}
	}
	var all []protocol.Member
	for _, m := range newest {
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b protocol.Member) int { return cmp.Compare(a.Holder, b.Holder) })
	return all, nil
}

// gather calls every node and returns what the first majority says that answers. Who takes part is announced again and
// again, so a node counts even if it has forgotten.
func gather[T any](ctx context.Context, n *nodes, f func(ctx context.Context, n Node) (T, error)) ([]T, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, n.timeout, errTimeout)
	defer cancel()
	type answer struct {
		said T
		err  error
	}
	answers := make(chan answer, len(n.list))
	err := n.call(func(ctx context.Context, i int) {
		said, err := f(ctx, n.list[i])
		if err != nil {
			err = fmt.Errorf("%s: %w", n.list[i], err)
		}
		answers <- answer{said, err}
	})
	if err != nil {
		return nil, err
	}
	var said []T
	short := &MajorityError{Nodes: len(n.list), Needed: n.majority()}
	for range n.list {
		select {
		case a := <-answers:
			if a.err != nil {
				short.Causes = append(short.Causes, a.err)
				continue
			}
			if said = append(said, a.said); len(said) == n.majority() {
				return said, nil
			}
			short.Answered++
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", short, context.Cause(ctx))
		}
	}
	return nil, short
}
