package redislease

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/solotick/solotick/internal/quorumnode"
)

// Node is one of the independent servers of a quorum: a quorum.Node. Its methods are safe for
// concurrent use. Close it when it is no longer used, after the quorum's store.
//
// It keeps its registers apart from the records of a [Store] of the same namespace, and needs the
// right to +info besides those of a Store:
//
//	solotick:{NAMESPACE:KEY}:register   what a register holds, a hash; see lua/node_registers.lua. KEY is a name, a word, a
//	                                    colon and a name, or list: and one of these
//	solotick:{NAMESPACE}:node           which run of the server remembers the namespace, and since when
//	solotick:{NAMESPACE}:members        the members
//	solotick:NAMESPACE:node:wake        the channel on which waiters are woken
type Node struct {
	store *Store
	addr  string
}

var (
	//go:embed lua/node_registers.lua
	nodeRegistersSource string

	// The one is for what has to work when Redis is out of memory.
	nodeScript      = newScript("#!lua flags=allow-oom", clockSource, nodeRegistersSource)
	nodeGrowsScript = newScript("#!lua", clockSource, nodeRegistersSource)
)

const (
	nodeChunk  = 64 // how many operations one script carries out
	nodeFields = 5  // of an answer to one operation
	nodeHead   = 3  // of an answer, before those

	registerSuffix = ":register"
)

// NewNode makes a node of the server that client is connected to. It uses the options of client, a
// *redis.Client, for a small client of its own, and does not connect yet. Namespace and options are
// those of [New]. Give each node a server of its own: a Cluster, whose servers keep different keys,
// is none.
func NewNode(client redis.UniversalClient, namespace string, opts ...Option) (*Node, error) {
	if _, ok := client.(*redis.ClusterClient); ok {
		return nil, errors.New("redislease: a node of a quorum needs a server of its own: give a *redis.Client, not a *redis.ClusterClient")
	}
	s, err := New(client, namespace, opts...)
	if err != nil {
		return nil, err
	}
	n := &Node{store: s}
	if c, ok := client.(*redis.Client); ok {
		n.addr = c.Options().Addr
	}
	return n, nil
}

// Close closes the node's connections. Calls that are under way fail.
func (n *Node) Close() error { return n.store.Close() }

// Namespace returns the namespace of the registers. A quorum refuses nodes of another than its own.
func (n *Node) Namespace() string { return n.store.namespace }

// String returns the server's address.
func (n *Node) String() string { return n.addr }

// Do implements quorum.Node.
func (n *Node) Do(ctx context.Context, ops []quorumnode.Op) (quorumnode.State, error) {
	var cmds []*redis.Cmd
	for start := 0; start == 0 || start < len(ops); start += nodeChunk {
		cmds = append(cmds, n.command(ctx, ops[start:min(start+nodeChunk, len(ops))]))
	}
	var err error
	if len(cmds) == 1 {
		cmds[0], err = n.store.router.do(ctx, cmds[0])
	} else {
		cmds, err = n.store.router.all(ctx, cmds)
	}
	if err != nil {
		return quorumnode.State{}, err
	}
	var s quorumnode.State
	for i, cmd := range cmds {
		part, err := readNodeState(cmd)
		if err != nil {
			return quorumnode.State{}, err
		}
		if i == 0 {
			s = part
			continue
		}
		if part.ID != s.ID || !part.Since.Equal(s.Since) {
			return quorumnode.State{}, errors.New("the server was started or emptied meanwhile")
		}
		s.Replies = append(s.Replies, part.Replies...)
	}
	return s, nil
}

func (n *Node) key(name string) string { return "solotick:{" + n.store.namespace + ":" + name + "}" }

func (n *Node) command(ctx context.Context, ops []quorumnode.Op) *redis.Cmd {
	script := nodeScript
	keys := make([]string, 1, 1+len(ops))
	keys[0] = n.store.fleetKey(":node")
	args := make([]any, 0, 6*len(ops))
	for _, op := range ops {
		what, since := "p", ""
		if op.Accept {
			what = "a"
		}
		if op.Grows {
			script = nodeGrowsScript
		}
		if !op.Since.IsZero() {
			since = strconv.FormatInt(op.Since.UnixMicro(), 10)
		}
		keys = append(keys, n.key(op.Key)+registerSuffix)
		args = append(args, what, op.Ballot, since, op.Value, op.Age.Microseconds(), max(0, op.Keep.Milliseconds()))
	}
	return script.command(ctx, keys, args...)
}

func readNodeState(cmd *redis.Cmd) (s quorumnode.State, err error) {
	r, err := cmd.Slice()
	if err != nil {
		return s, err
	}
	if len(r) < nodeHead || (len(r)-nodeHead)%nodeFields != 0 {
		return s, fmt.Errorf("%w: %d values", errReply, len(r))
	}
	ok := true
	text := func(i int) string { v, is := r[i].(string); ok = ok && is; return v }
	number := func(i int) int64 { v, is := r[i].(int64); ok = ok && is; return v }
	s.ID, s.Now, s.Since = text(0), time.UnixMicro(number(1)).UTC(), time.UnixMicro(number(2)).UTC()
	s.Replies = make([]quorumnode.Reply, 0, len(r)/nodeFields)
	for i := nodeHead; i < len(r); i += nodeFields {
		s.Replies = append(s.Replies, quorumnode.Reply{
			OK: number(i) == 1, Promised: text(i + 1), Accepted: text(i + 2), Value: text(i + 3),
			Age: time.Duration(number(i+4)) * time.Microsecond,
		})
	}
	if !ok {
		return quorumnode.State{}, fmt.Errorf("%w: %.200v", errReply, r)
	}
	return s, nil
}

// Keys implements quorum.Node.
func (n *Node) Keys(ctx context.Context, prefix, cursor string, count int) (keys []string, next string, err error) {
	start := strings.TrimSuffix(n.key(""), "}")
	keys, next, err = n.store.scan(ctx, start+prefix+"*}"+registerSuffix, cursor, count)
	for i, key := range keys {
		keys[i] = key[len(start) : len(key)-len("}"+registerSuffix)]
	}
	return keys, next, err
}

// Publish implements quorum.Node.
func (n *Node) Publish(ctx context.Context, message string) error {
	return n.store.client.Publish(ctx, n.channel(), message).Err()
}

func (n *Node) channel() string { return "solotick:" + n.store.namespace + ":node:wake" }

// Listen implements quorum.Node.
func (n *Node) Listen(ctx context.Context, receive func(message string)) error {
	return n.store.subscribe(ctx, "listen", receive, n.channel())
}

// Fleet implements quorum.Node.
func (n *Node) Fleet() quorumnode.Fleet { return n.store }
