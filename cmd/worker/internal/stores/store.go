// Package stores opens the store that a configuration names, and checks the configuration of Redis.
package stores

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/solotick/solotick/config"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/lease/quorum"
	"github.com/solotick/solotick/lease/redislease"
	"github.com/solotick/solotick/lease/sqlitelease"
)

// Store is the store of a fleet, with the connection that it uses.
type Store struct {
	protocol.Store
	io.Closer
	redis      config.Redis // as configured
	namespace  string
	url        bool                  // it is configured as store.url, and not below redis
	Addr       string                // of the server, without passwords, or the path of the file; "" for a store in this process
	Connection *Connection           // nil without Redis
	Checker    protocol.Store        // the store, where that is neither Redis nor in this process
	File       *sqlitelease.Store    // nil for another store
	Streams    redis.UniversalClient // for redis_stream jobs; nil without Redis and for a quorum
	Nodes      []*redis.Client       // of a quorum, for doctor
}

// CommandTimeout is the timeout of each call of a command. No lease depends on it, so it does not
// follow the TTL as [CallTimeout] does.
const CommandTimeout = 3 * time.Second

// CallTimeout is the timeout of each call of a worker. It leaves time to renew a lease again when a
// renewal hangs.
func CallTimeout(cfg *config.Config) time.Duration { return min(time.Second, cfg.Lease.TTL/6) }

// Open opens the configured store for a worker. It does not connect, nor make a file yet. Each call
// of the store takes at most timeout, on a quorum at most twice that. The store calls count with
// the number of commands that it sends to Redis, from several goroutines.
func Open(cfg *config.Config, timeout time.Duration, logger *slog.Logger, count func(n int)) (*Store, error) {
	if cfg.Redis.Configured() {
		c, err := newConnection(cfg)
		if err != nil {
			return nil, err
		}
		return openRedis(cfg, c, timeout, logger, count)
	}
	if path, ok := cfg.Store.File(); ok {
		return openFile(cfg.Namespace, path, sqlitelease.WithTimeout(timeout))
	}
	if scheme, url, ok := cfg.Store.Server(); ok {
		return openServer(scheme, url, cfg.Namespace, timeout)
	}
	s, err := memlease.New(cfg.Namespace)
	if err != nil {
		return nil, err
	}
	return &Store{Store: s, Closer: closers{}}, nil
}

// Ask opens the configured store for a command: as Open does, but it makes no file.
func Ask(cfg *config.Config) (*Store, error) {
	logger, count := slog.New(slog.DiscardHandler), func(int) {}
	if cfg.Redis.Configured() {
		c, err := newConnection(cfg)
		if err != nil {
			return nil, err
		}
		c.failFast()
		return openRedis(cfg, c, CommandTimeout, logger, count)
	}
	if path, ok := cfg.Store.File(); ok {
		return openFile(cfg.Namespace, path, sqlitelease.WithTimeout(CommandTimeout), sqlitelease.WithExistingFile())
	}
	return Open(cfg, CommandTimeout, logger, count)
}

// Exists reports whether anything has run in the namespace, and makes nothing for that.
func (s *Store) Exists(ctx context.Context) (bool, error) {
	if e, ok := s.Checker.(interface {
		Exists(ctx context.Context) (bool, error)
	}); ok {
		return e.Exists(ctx)
	}
	if s.Streams != nil {
		return remembers(ctx, s.Streams, "solotick:{"+s.namespace+"}") // as package redislease says
	}
	found, faults := make([]bool, len(s.Nodes)), make([]error, len(s.Nodes))
	var asked sync.WaitGroup
	for i, node := range s.Nodes {
		asked.Go(func() { found[i], faults[i] = remembers(ctx, node, "solotick:{"+s.namespace+"}:node") })
	}
	asked.Wait()
	// Without a majority the calls that follow say so.
	return slices.Contains(found, true) || errors.Join(faults...) != nil, nil
}

// remembers reports whether a server of Redis has the key of a namespace, whatever it is.
func remembers(ctx context.Context, client redis.UniversalClient, key string) (bool, error) {
	n, err := client.HLen(ctx, key).Result()
	if redis.HasErrorPrefix(err, "WRONGTYPE") {
		return true, nil
	}
	return n > 0, err
}

func openFile(namespace, path string, opts ...sqlitelease.Option) (*Store, error) {
	s, err := sqlitelease.New(path, namespace, opts...)
	if err != nil {
		return nil, err
	}
	return &Store{Store: s, Closer: s, Checker: s, File: s, Addr: path}, nil
}

// InMemory reports whether the store is in the memory of this process.
func (s *Store) InMemory() bool { return s.Connection == nil && s.Checker == nil }

func openRedis(cfg *config.Config, c *Connection, timeout time.Duration, logger *slog.Logger, count func(n int)) (*Store, error) {
	c.setTimeouts(timeout) // a TLS handshake obeys this timeout, but no context
	redis.SetLogger(redisLog{logger})
	if c.Quorum != nil {
		return openQuorum(cfg, c, timeout, count)
	}
	// Calls of leases must not queue behind those of jobs, so the store makes a client of its own
	// from the options of this one. A cancelled run returns within the timeout. An entry that it
	// added meanwhile is still added once.
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
	return &Store{Store: s, Closer: closers{s, client}, redis: cfg.Redis, namespace: cfg.Namespace, url: cfg.Store.URL.Reveal() != "", Addr: c.String(), Connection: c, Streams: client}, nil
}

// openQuorum opens a store on independent servers.
func openQuorum(cfg *config.Config, c *Connection, timeout time.Duration, count func(n int)) (*Store, error) {
	made := &Store{redis: cfg.Redis, namespace: cfg.Namespace, url: cfg.Store.URL.Reveal() != "", Addr: c.String(), Connection: c}
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
	s, err := quorum.New(nodes, cfg.Namespace, quorum.WithTTL(cfg.Lease.TTL), quorum.WithTimeout(2*timeout))
	if err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	made.Store, made.Closer = s, append(closers{s}, opened...)
	return made, nil
}

// closers closes several parts, in order.
type closers []io.Closer

func (all closers) Close() error {
	var faults []error
	for _, c := range all {
		faults = append(faults, c.Close())
	}
	return errors.Join(faults...)
}

// commandCounter is a hook that counts the commands of a client.
type commandCounter struct{ count func(n int) }

// addCounter counts the commands of a client. On a Cluster, the clients of its servers send them.
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
