// Package stores opens the store that a configuration names: Redis, a Cluster, Sentinel, a quorum, or memory.
package stores

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/solotick/solotick/config"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/lease/protocol"
	"github.com/solotick/solotick/lease/quorum"
	"github.com/solotick/solotick/lease/redislease"
)

// Store is where the fleet meets, and what there is to know of it.
type Store struct {
	protocol.Store
	io.Closer
	redis      config.Redis          // as it is configured
	Addr       string                // of Redis, for people; "" for a store in this process
	Connection *Connection           // nil for a store in this process
	Streams    redis.UniversalClient // for the runs of redis_stream jobs; nil without Redis and for a quorum
	Nodes      []*redis.Client       // of a quorum, for doctor
}

// CommandTimeout bounds each call of a command. No lease depends on it, so it need not follow the TTL as [CallTimeout] does.
const CommandTimeout = 3 * time.Second

// CallTimeout bounds each call of a worker, so that a lease whose renewal hangs can be renewed again in time.
func CallTimeout(cfg *config.Config) time.Duration { return min(time.Second, cfg.Lease.TTL/6) }

// Open opens the store that is configured, without connecting to it. Each call of it takes at most timeout, and twice that
// on a quorum. count is called with the number of commands that it sends.
func Open(cfg *config.Config, timeout time.Duration, logger *slog.Logger, count func(n int)) (*Store, error) {
	if !cfg.Redis.Configured() {
		s, err := memlease.New(cfg.Namespace)
		if err != nil {
			return nil, err
		}
		return &Store{Store: s, Closer: closers{}}, nil
	}
	c, err := NewConnection(cfg)
	if err != nil {
		return nil, err
	}
	c.bound(timeout) // a TLS handshake sees this one, and no context
	redis.SetLogger(redisLog{logger})
	if c.Quorum != nil {
		return openQuorum(cfg, c, timeout, count)
	}
	// The leases must not wait for what jobs do, so the store makes a client of its own, from the options of this one. A
	// run that has to stop returns within the timeout, and what it adds after that it adds once all the same.
	client := c.client()
	s, err := redislease.New(client, cfg.Namespace,
		redislease.WithTimeout(timeout),
		redislease.WithReplicas(cfg.Redis.WaitReplicas),
		redislease.WithFailoverGrace(cfg.Redis.FailoverGrace),
		redislease.WithHook(commandCounter{count}),
	)
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	addCounter(client, count)
	return &Store{Store: s, Closer: closers{s, client}, redis: cfg.Redis, Addr: c.String(), Connection: c, Streams: client}, nil
}

// openQuorum opens a store over independent servers.
func openQuorum(cfg *config.Config, c *Connection, timeout time.Duration, count func(n int)) (*Store, error) {
	made := &Store{redis: cfg.Redis, Addr: c.String(), Connection: c}
	var nodes []quorum.Node
	var opened closers
	for _, o := range c.Quorum {
		client := redis.NewClient(o)
		opened = append(opened, client)
		made.Nodes = append(made.Nodes, client)
		node, err := redislease.NewNode(client, cfg.Namespace,
			redislease.WithTimeout(timeout), redislease.WithHook(commandCounter{count}))
		if err != nil {
			return nil, errors.Join(err, opened.Close())
		}
		opened = append(opened, node)
		nodes = append(nodes, node)
	}
	s, err := quorum.New(nodes, cfg.Namespace, quorum.WithTerm(cfg.Lease.TTL), quorum.WithTimeout(2*timeout))
	if err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	made.Store, made.Closer = s, append(closers{s}, opened...)
	return made, nil
}

// closers are closed together, in order.
type closers []io.Closer

func (all closers) Close() error {
	var faults []error
	for _, c := range all {
		faults = append(faults, c.Close())
	}
	return errors.Join(faults...)
}

// commandCounter is a hook that counts what go-redis sends.
type commandCounter struct{ count func(n int) }

// addCounter counts the commands where they are sent: by the clients of a Cluster's servers.
func addCounter(client redis.UniversalClient, count func(n int)) {
	if c, ok := client.(*redis.ClusterClient); ok {
		c.OnNewNode(func(node *redis.Client) { node.AddHook(commandCounter{count}) })
		return
	}
	client.AddHook(commandCounter{count})
}

// DialHook implements [redis.Hook].
func (c commandCounter) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

// ProcessHook implements [redis.Hook].
func (c commandCounter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.count(1)
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook implements [redis.Hook].
func (c commandCounter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		c.count(len(cmds))
		return next(ctx, cmds)
	}
}
