package redislease

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/solotick/solotick/internal/protocol"
)

// Locks implements [protocol.Store]. A lock that moves from one server to another meanwhile may be
// missed.
func (s *store) Locks(ctx context.Context, prefix, cursor string, count int) (locks []protocol.Lock, next string, err error) {
	if prefix != "" && !protocol.ValidName(prefix) { // a pattern's special characters are in no name
		return nil, "", context.Cause(ctx)
	}
	keys, next, err := s.values.keys(ctx, lockPrefix+prefix, cursor, count)
	if err != nil {
		return nil, "", fmt.Errorf("locks: %w", err)
	}
	cmds := make([]*redis.Cmd, len(keys))
	for i, key := range keys {
		cmds[i] = s.lockViewCmd(ctx, Key(s.namespace, key))
	}
	if cmds, err = s.router.all(ctx, cmds); err != nil {
		return nil, "", fmt.Errorf("locks: %w", err)
	}
	for i, cmd := range cmds {
		name := keys[i][len(lockPrefix):]
		l, err := readLock(name, cmd)
		if err != nil {
			return nil, "", fmt.Errorf("lock %q: %w", name, err)
		}
		if len(l.Holds) > 0 || l.Waiters > 0 {
			locks = append(locks, l)
		}
	}
	return locks, next, nil
}

// keys looks for keys that begin with prefix on one server.
func (v *values) keys(ctx context.Context, prefix, cursor string, count int) (keys []string, next string, err error) {
	keys, next, err = v.store.scan(ctx, "solotick:{"+v.store.namespace+"/*}:"+prefix+"*", cursor, max(count, 1))
	for i, key := range keys {
		_, keys[i], _ = strings.Cut(key, "}:")
	}
	return keys, next, err
}

// scan looks for keys on one server, about count at a time. On Cluster the servers are asked one
// after the other: the cursor is the server's address and its own cursor.
func (s *store) scan(ctx context.Context, pattern, cursor string, count int) (keys []string, next string, err error) {
	addr, from, _ := strings.Cut(cursor, " ")
	if _, err := strconv.ParseUint(cmp.Or(from, "0"), 10, 64); err != nil {
		return nil, "", fmt.Errorf("cursor %q must be what was returned as next, or empty", cursor)
	}
	p, addr, following, err := s.router.server(ctx, addr)
	if err != nil {
		return nil, "", err
	}
	cmd, err := p.do(ctx, redis.NewCmd(ctx, "scan", cmp.Or(from, "0"), "match", pattern, "count", count))
	if err != nil {
		return nil, "", err
	}
	r, err := cmd.Slice()
	if err != nil || len(r) != 2 {
		return nil, "", fmt.Errorf("%w: %v", cmp.Or(err, errReply), r)
	}
	list, _ := r[1].([]any)
	for _, key := range list {
		keys = append(keys, text(key))
	}
	switch {
	case text(r[0]) != "0":
		next = addr + " " + text(r[0])
	case following != "":
		next = following + " 0"
	}
	return keys, next, nil
}

// server returns the pipe to the server at addr, or the first one if that is empty. It also returns
// the address of the one that follows, if any. Servers of a Cluster are in the order of their
// addresses; when one has gone, the next takes its place.
func (r *router) server(ctx context.Context, addr string) (p *pipe, found, following string, err error) {
	if r.only != nil {
		return r.only, "-", "", nil
	}
	nodes, err := r.masters(ctx)
	if err != nil {
		return nil, "", "", err
	}
	i, _ := slices.BinarySearchFunc(nodes, addr, func(n *redis.Client, addr string) int { return cmp.Compare(n.Options().Addr, addr) })
	i = min(i, len(nodes)-1)
	if i+1 < len(nodes) {
		following = nodes[i+1].Options().Addr
	}
	return r.pipeTo(nodes[i]), nodes[i].Options().Addr, following, nil
}

// masters returns the servers of a Cluster that keep something, in the order of their addresses.
func (r *router) masters(ctx context.Context) ([]*redis.Client, error) {
	nodes, err := await(ctx, func() (nodes []*redis.Client, err error) { // it would not see that ctx is cancelled
		ctx, cancel := context.WithTimeout(ctx, r.timeout)
		defer cancel()
		var mu sync.Mutex
		err = r.cluster.ForEachMaster(ctx, func(_ context.Context, node *redis.Client) error {
			mu.Lock()
			defer mu.Unlock()
			nodes = append(nodes, node)
			return nil
		})
		return nodes, err
	})
	if err == nil && len(nodes) == 0 {
		err = fmt.Errorf("%w: a Cluster without servers", errReply)
	}
	slices.SortFunc(nodes, func(a, b *redis.Client) int { return cmp.Compare(a.Options().Addr, b.Options().Addr) })
	return nodes, err
}
