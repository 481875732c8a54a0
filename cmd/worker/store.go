package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/solotick/solotick/config"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/lease/redislease"
)

// store is where the fleet meets, and what to tell people about it.
type store struct {
	lease.Store
	io.Closer
	addr    string                // of Redis; "" for a store in this process
	streams redis.UniversalClient // for the runs of redis_stream jobs; nil without Redis
}

// openStore opens the store that is configured, without connecting to it. count is told how many commands it sends.
func openStore(cfg *config.Config, logger *slog.Logger, count func(n int)) (*store, error) {
	if cfg.Redis.URL.Reveal() == "" {
		s, err := memlease.New(cfg.Namespace)
		if err != nil {
			return nil, err
		}
		return &store{Store: s, Closer: closers{}}, nil
	}
	options, err := redisOptions(cfg)
	if err != nil {
		return nil, err
	}
	timeout := min(time.Second, cfg.Lease.TTL/6)
	options.DialTimeout = timeout // a TLS handshake sees this one, and no context
	redis.SetLogger(redisLog{logger})
	client := redis.NewClient(options) // the store takes its options only
	defer func() { _ = client.Close() }()
	s, err := redislease.New(client, cfg.Namespace,
		redislease.WithTimeout(timeout),
		redislease.WithReplicas(cfg.Redis.WaitReplicas),
		redislease.WithFailoverGrace(cfg.Redis.FailoverGrace),
		redislease.WithHook(commandCounter{count}),
	)
	if err != nil {
		return nil, err
	}
	streams := streamClient(options, timeout, count)
	return &store{Store: s, Closer: closers{s, streams}, addr: options.Addr, streams: streams}, nil
}

// streamClient makes the client of redis_stream jobs. It is not the store's, whose leases must not wait for what jobs
// do. A run that has to stop returns within the timeout, and what it adds after that it adds once all the same.
func streamClient(options *redis.Options, timeout time.Duration, count func(n int)) *redis.Client {
	o := *options
	o.ContextTimeoutEnabled = true
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = timeout, timeout, timeout, timeout
	o.DialerRetries = 1
	o.MinIdleConns = 0 // where no job needs it, it connects to nothing
	o.DisableIdentity = true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	client := redis.NewClient(&o)
	client.AddHook(commandCounter{count})
	return client
}

// closers are closed together.
type closers []io.Closer

func (all closers) Close() error {
	var faults []error
	for _, c := range all {
		faults = append(faults, c.Close())
	}
	return errors.Join(faults...)
}

// redisOptions reads redis.url. The error is a *configError that shows nothing of it: where a password is not escaped,
// any part of the URL may be a part of the password.
func redisOptions(cfg *config.Config) (*redis.Options, error) {
	options, err := redis.ParseURL(cfg.Redis.URL.Reveal())
	if err != nil {
		return nil, &configError{&config.Error{Field: "redis.url", Value: cfg.Redis.URL.String(), Rule: "cannot be used: " +
			"what follows a ? in it must be options of go-redis, such as ?protocol=3, and a ? in a password is written %3F"}}
	}
	return options, nil
}

// commandCounter is a hook that counts what go-redis sends.
type commandCounter struct{ count func(n int) }

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
