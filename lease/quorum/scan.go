package quorum

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// scan says how far keys have been looked for. Nodes are asked one after another, in the order of
// their names.
type scan struct {
	place  int    // in that order
	done   int    // nodes that were asked for all of their keys
	since  int64  // since when the one at place remembers, Unix ns; 0 before it was asked
	cursor string // of its
}

func (c scan) String() string {
	return fmt.Sprintf("%d %d %d %s", c.place, c.done, c.since, c.cursor)
}

// readScan reads a cursor; the zero scan of the empty one.
func readScan(text string) (c scan, err error) {
	if text == "" {
		return scan{}, nil
	}
	fields := strings.SplitN(text, " ", 4)
	if len(fields) == 4 {
		var faults [3]error
		c.place, faults[0] = strconv.Atoi(fields[0])
		c.done, faults[1] = strconv.Atoi(fields[1])
		c.since, faults[2] = strconv.ParseInt(fields[2], 10, 64)
		c.cursor = fields[3]
		err = errors.Join(faults[:]...)
	}
	if len(fields) < 4 || err != nil || c.place < 0 || c.done < 0 {
		return scan{}, fmt.Errorf("quorum: scan: cursor %q must be what was returned as next, or empty", text)
	}
	return c, nil
}

// enoughToScan is how many nodes have together everything that a majority has accepted.
func (n *nodes) enoughToScan() int { return len(n.list) - n.majority() + 1 }

// scan returns some keys that begin with prefix, each once, and how far it has come.
func (n *nodes) scan(ctx context.Context, prefix string, at scan, count int) (keys []string, next scan, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, n.timeout, errTimeout)
	defer cancel()
	order := n.inOrder()
	short := &MajorityError{Nodes: len(n.list), Needed: n.enoughToScan()}
	for ; at.done+len(order)-at.place >= n.enoughToScan(); at = (scan{place: at.place + 1, done: at.done}) {
		i := order[at.place]
		page, err := askOne(ctx, n, i, func(ctx context.Context) (page, error) { return n.page(ctx, i, prefix, at, count) })
		switch {
		case errors.Is(err, errClosed), ctx.Err() != nil:
			return nil, at, cmp.Or(context.Cause(ctx), err)
		case err != nil:
			short.Causes = append(short.Causes, fmt.Errorf("%s: %w", n.list[i], err))
			continue
		}
		if page.next == "" {
			return page.keys, scan{place: at.place + 1, done: at.done + 1}, nil
		}
		at.since, at.cursor = page.since, page.next
		return page.keys, at, nil
	}
	short.Answered = at.done
	return nil, at, short
}

// inOrder returns the nodes by their names: every store of the namespace scans them in the same
// order.
func (n *nodes) inOrder() []int {
	order := make([]int, len(n.list))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(n.list[a].String(), n.list[b].String()) })
	return order
}

type page struct {
	keys  []string
	next  string
	since int64
}

// errForgot is why a node is passed over that answers.
var errForgot = errors.New("it was started or emptied within the longest TTL, or during the scan")

// page asks one node for some of its keys. It must count, and have remembered the same since it was
// asked first.
func (n *nodes) page(ctx context.Context, i int, prefix string, at scan, count int) (p page, err error) {
	if p.keys, p.next, err = n.list[i].Keys(ctx, prefix, at.cursor, count); err != nil {
		return p, err
	}
	s, err := n.list[i].Do(ctx, nil)
	if err != nil {
		return p, err
	}
	p.since = s.Since.UnixNano()
	if counted, _ := n.count([]answer{{node: i, state: s}}); len(counted) == 0 || at.since != 0 && at.since != p.since {
		return p, errForgot
	}
	slices.Sort(p.keys)
	p.keys = slices.Compact(p.keys)
	return p, nil
}

// askOne calls one node and waits for it.
func askOne[T any](ctx context.Context, n *nodes, i int, f func(ctx context.Context) (T, error)) (said T, err error) {
	if err := context.Cause(ctx); err != nil {
		return said, err
	}
	type answer struct {
		said T
		err  error
	}
	answers := make(chan answer, 1)
	err = n.callOne(i, func(ctx context.Context, _ int) {
		said, err := f(ctx)
		answers <- answer{said, err}
	})
	if err != nil {
		return said, err
	}
	select {
	case a := <-answers:
		return a.said, a.err
	case <-ctx.Done():
		return said, context.Cause(ctx)
	}
}
