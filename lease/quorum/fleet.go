package quorum

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/quorumnode"
)

// A majority of the nodes has to accept an announcement. Of the answers of a majority the newest
// holds.

// SendHeartbeat implements [protocol.Store]. Every node that answers learns that a life is
// over, not a majority only. A node that does not learn it lists the member until it would have
// ended.
func (s *store) SendHeartbeat(ctx context.Context, holder string, info []byte, life time.Duration) error {
	switch {
	case !protocol.ValidName(holder):
		return fmt.Errorf("quorum: holder %q %s", holder, protocol.NameRule)
	case len(info) > protocol.MaxInfo:
		return fmt.Errorf("quorum: %d bytes about %s, must be at most %d", len(info), holder, protocol.MaxInfo)
	}
	info = bytes.Clone(info) // a slow node gets it after this has returned, as in the other methods
	var enough func([]struct{}) bool
	if life <= 0 {
		enough = func(answers []struct{}) bool { return len(answers) == len(s.values.nodes.list) }
	}
	_, err := gather(ctx, s.values.nodes, "announce "+holder, func(ctx context.Context, f quorumnode.Fleet) (struct{}, error) {
		return struct{}{}, f.SendHeartbeat(ctx, holder, info, life)
	}, enough)
	return err
}

// Members implements [protocol.Store].
func (s *store) Members(ctx context.Context) ([]protocol.Member, error) {
	return s.listMembers(ctx, "members", quorumnode.Fleet.Members)
}

// MembersBut implements [protocol.Store].
func (s *store) MembersBut(ctx context.Context, known map[string]string) ([]protocol.Member, error) {
	known = maps.Clone(known)
	return s.listMembers(ctx, "members", func(f quorumnode.Fleet, ctx context.Context) ([]protocol.Member, error) {
		return f.MembersBut(ctx, known)
	})
}

func (s *store) listMembers(ctx context.Context, what string, f func(quorumnode.Fleet, context.Context) ([]protocol.Member, error)) ([]protocol.Member, error) {
	lists, err := gather(ctx, s.values.nodes, what, func(ctx context.Context, fleet quorumnode.Fleet) ([]protocol.Member, error) { return f(fleet, ctx) }, nil)
	if err != nil {
		return nil, err
	}
	list := slices.Concat(lists...)
	slices.SortFunc(list, func(a, b protocol.Member) int {
		return cmp.Or(cmp.Compare(a.Holder, b.Holder), cmp.Compare(b.Remaining, a.Remaining), b.LastHeartbeat.Compare(a.LastHeartbeat))
	})
	return slices.CompactFunc(list, func(a, b protocol.Member) bool { return a.Holder == b.Holder }), nil
}

// FormerMembers implements [protocol.Store]. Who lives on a majority of the nodes is not among them,
// whatever a node says that has missed that.
func (s *store) FormerMembers(ctx context.Context) ([]protocol.Member, error) {
	former, err := s.listMembers(ctx, "former members", quorumnode.Fleet.FormerMembers)
	if err != nil {
		return nil, err
	}
	living, err := s.Members(ctx)
	if err != nil {
		return nil, err
	}
	former = slices.DeleteFunc(former, func(m protocol.Member) bool {
		return slices.ContainsFunc(living, func(l protocol.Member) bool { return l.Holder == m.Holder })
	})
	slices.SortFunc(former, func(a, b protocol.Member) int {
		return cmp.Or(b.LastHeartbeat.Compare(a.LastHeartbeat), cmp.Compare(a.Holder, b.Holder))
	})
	return former[:min(len(former), protocol.MaxFormer)], nil
}

// Heartbeat implements [protocol.Store]: it reads the members before it announces the caller, to see
// who else uses its name.
func (s *store) Heartbeat(ctx context.Context, h protocol.Heartbeat) (p protocol.Pulse, err error) {
	if err := h.Validate(); err != nil {
		return p, err
	}
	if p.Now, p.Since, err = s.Time(ctx); err != nil {
		return p, err
	}
	if p.Now.Before(h.NotBefore) || !h.NotAfter.IsZero() && p.Now.After(h.NotAfter) {
		p.OutOfBounds = true
		return p, nil
	}
	known := maps.Clone(h.Known)
	delete(known, h.Holder)
	list, err := s.MembersBut(ctx, known)
	if err != nil {
		return p, err
	}
	me, found := slices.BinarySearchFunc(list, h.Holder, func(m protocol.Member, holder string) int { return cmp.Compare(m.Holder, holder) })
	if found && h.Before != "" && protocol.InfoDigest(list[me].Info) != h.Before {
		p.Other = list[me].Info
	}
	if err = s.SendHeartbeat(ctx, h.Holder, h.Info, h.Life); err != nil {
		return p, err
	}
	if !found {
		list = slices.Insert(list, me, protocol.Member{Holder: h.Holder})
	}
	list[me].Info, list[me].Remaining, list[me].LastHeartbeat = bytes.Clone(h.Info), h.Life, p.Now
	if p.Version = protocol.MembersVersion(list, h.Known); p.Version != h.Version {
		p.Members = list
	}
	return p, nil
}

// PutSet implements [protocol.Store].
func (s *store) PutSet(ctx context.Context, set []byte, life time.Duration) error {
	if err := protocol.CheckSet(set, life); err != nil {
		return err
	}
	set = bytes.Clone(set)
	_, err := gather(ctx, s.values.nodes, "put set", func(ctx context.Context, f quorumnode.Fleet) (struct{}, error) {
		return struct{}{}, f.PutSet(ctx, set, life)
	}, nil)
	return err
}

// KeepSets implements [protocol.Store]. A set counts as kept when a majority of the nodes keeps it:
// otherwise too few may.
func (s *store) KeepSets(ctx context.Context, digests []string, life time.Duration) ([]bool, error) {
	if err := protocol.CheckDigests(digests, life); err != nil || len(digests) == 0 {
		return nil, err
	}
	digests = slices.Clone(digests)
	kept := make([]bool, len(digests))
	count := func(answers [][]bool) (all bool) {
		all = true
		for i := range digests {
			n := 0
			for _, a := range answers {
				if a[i] {
					n++
				}
			}
			kept[i] = n >= s.values.majority()
			all = all && (kept[i] || n == 0)
		}
		return all
	}
	_, err := gather(ctx, s.values.nodes, "keep sets", func(ctx context.Context, f quorumnode.Fleet) ([]bool, error) {
		return f.KeepSets(ctx, digests, life)
	}, count)
	if err != nil {
		return nil, err
	}
	return kept, nil
}

// GetSets implements [protocol.Store]: one node that keeps a set is enough. What does not have its
// digest counts as not kept.
func (s *store) GetSets(ctx context.Context, digests []string) ([][]byte, error) {
	if err := protocol.CheckDigests(digests, time.Hour); err != nil || len(digests) == 0 {
		return nil, err
	}
	digests = slices.Clone(digests)
	answers, err := gather(ctx, s.values.nodes, "get sets", func(ctx context.Context, f quorumnode.Fleet) ([][]byte, error) {
		return f.GetSets(ctx, digests)
	}, nil)
	if err != nil {
		return nil, err
	}
	sets := make([][]byte, len(digests))
	for i, d := range digests {
		for _, a := range answers {
			if a[i] != nil && protocol.SetDigest(a[i]) == d {
				sets[i] = a[i]
			}
		}
	}
	return sets, nil
}

// gather calls every node and returns what those say that answer: the first majority, or more of
// them until enough, which may be nil, says so.
func gather[T any](ctx context.Context, n *nodes, what string, f func(ctx context.Context, fleet quorumnode.Fleet) (T, error), enough func([]T) bool) ([]T, error) {
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
		said, err := f(ctx, n.list[i].Fleet())
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
	for waiting := len(n.list); waiting > 0 && ctx.Err() == nil; waiting-- {
		select {
		case a := <-answers:
			if a.err != nil {
				short.Causes = append(short.Causes, a.err)
				continue
			}
			said = append(said, a.said)
			if len(said) >= n.majority() && (enough == nil || enough(said)) {
				return said, nil
			}
		case <-ctx.Done():
		}
	}
	if short.Answered = len(said); short.Answered >= short.Needed {
		return said, nil
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("%s: %w: %w", what, short, context.Cause(ctx))
	}
	return nil, fmt.Errorf("%s: %w", what, short)
}
