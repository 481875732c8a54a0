package redislease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/solotick/solotick/internal/engine"
	"github.com/solotick/solotick/internal/protocol"
)

// Store is a lease.Store on Redis. It is safe for concurrent use. Close it when it is no longer
// used.
type Store struct{ *store }

// store has the verbs.
type store struct {
	*engine.Session // of ticks, and of plain locks; other locks have scripts of their own

	namespace       string
	end             context.CancelFunc
	client          redis.UniversalClient
	router          *router
	grace           time.Duration
	abandonedClaims *abandonedClaims // nil when no replica is waited for
	values          *values
	notes           notes
}

type options struct {
	timeout  time.Duration
	hooks    []redis.Hook
	replicas int
	grace    time.Duration
}

// Option changes a default of [New].
type Option func(*options)

// WithTimeout bounds each round trip to Redis, connecting included. The default is 1 s; at least 10
// ms. A call whose context is cancelled returns within 1 s; at a context's deadline a call returns
// at once. Choose the timeout well below the shortest TTL: a lease whose renewal hangs is renewed
// on another connection only after this.
func WithTimeout(d time.Duration) Option { return func(o *options) { o.timeout = d } }

// WithHook lets h see the commands of the store's own client, for counting or tracing.
func WithHook(h redis.Hook) Option { return func(o *options) { o.hooks = append(o.hooks, h) } }

// New makes a store for the Redis that client is connected to. It uses the options of client, a
// *redis.Client (also for Sentinel) or *redis.ClusterClient, for a small client of its own, and
// does not connect yet. Keep a client of Sentinel open for as long as the store.
//
// The namespace names the fleet: services that share a server give each one of its own, and all
// replicas of a service give the same. Two services in one namespace take each other's ticks and
// locks wherever names are equal. It matches the pattern of a name.
func New(client redis.UniversalClient, namespace string, opts ...Option) (*Store, error) {
	o := options{timeout: time.Second}
	var faults []error
	for i, opt := range opts {
		if opt == nil {
			faults = append(faults, fmt.Errorf("redislease: options[%d]: nil must be an option", i))
			continue
		}
		opt(&o)
	}
	if !protocol.ValidName(namespace) {
		faults = append(faults, fmt.Errorf("redislease: namespace %q %s", namespace, protocol.NameRule))
	}
	if o.timeout < 10*time.Millisecond {
		faults = append(faults, fmt.Errorf("redislease: timeout %s must be at least 10ms", o.timeout))
	}
	if o.replicas < 0 || o.replicas > maxReplicas {
		faults = append(faults, fmt.Errorf("redislease: replicas %d must be from 0 to %d", o.replicas, maxReplicas))
	}
	if o.replicas > 0 && o.timeout < minWaitingTimeout {
		faults = append(faults, fmt.Errorf("redislease: timeout %s must be at least %s with replicas to wait for", o.timeout, minWaitingTimeout))
	}
	if o.grace < 0 || o.grace > maxFailoverGrace {
		faults = append(faults, fmt.Errorf("redislease: failover grace %s must be from 0s to %s", o.grace, maxFailoverGrace))
	}
	if _, ok := client.(*redis.ClusterClient); ok && o.grace != 0 {
		faults = append(faults, fmt.Errorf("redislease: failover grace %s must be 0s on Cluster: use WithReplicas there", o.grace))
	}
	life, end := context.WithCancel(context.Background())
	own, err := ownClient(life, client, o.timeout)
	if err = errors.Join(append(faults, err)...); err != nil {
		end()
		return nil, err
	}
	for _, h := range o.hooks {
		addHook(own, h)
	}
	s := &store{
		namespace: namespace,
		end:       end,
		client:    own,
		grace:     o.grace,
	}
	s.values = newValues(s)
	scripts := &opScripts{
		scripts: [opKinds]*script{renewalOp: essentialScript, essentialOp: essentialScript, readOp: readScript, growingOp: growingScript},
		channel: s.channel(), graceKey: s.fleetKey(":server"), grace: o.grace,
	}
	if o.grace > 0 {
		scripts.scripts[growingOp] = gracedScript
	}
	s.router = newRouter(own, o.timeout, o.replicas > 0, scripts)
	if s.Session, err = engine.NewSession(s.values, namespace, engine.Options{Hint: Hint, Note: s.note, Take: s.take}); err != nil {
		end()
		return nil, err
	}
	if o.replicas > 0 {
		addHook(own, waiter{replicas: o.replicas, most: o.timeout})
		s.abandonedClaims = newAbandonedClaims()
	}
	return &Store{s}, nil
}

// Namespace implements [protocol.Store].
func (s *store) Namespace() string { return s.namespace }

// Close closes the store's connections. Calls that are under way fail.
func (s *Store) Close() error {
	s.end()
	if s.abandonedClaims != nil {
		s.abandonedClaims.close()
	}
	return s.client.Close()
}

func (s *store) fleetKey(what string) string { return "solotick:{" + s.namespace + "}" + what }
func (s *store) channel() string             { return "solotick:" + s.namespace + ":wake" }

// Claim implements [protocol.Store].
func (s *store) Claim(ctx context.Context, c protocol.Claim) (protocol.Answer, error) {
	if err := c.Validate(); err != nil {
		return protocol.Answer{}, err
	}
	if s.abandonedClaims != nil {
		if err := s.abandonedClaims.await(ctx, claimIDOf(&c)); err != nil {
			return protocol.Answer{}, fmt.Errorf("claim %q: %w", c.Name, err)
		}
	}
	a, err := s.Session.Claim(ctx, c)
	if s.abandonedClaims != nil {
		a, err = s.confirmed(ctx, &c, a, err)
	}
	if refused, ok := errors.AsType[*engine.RefusedError](err); ok {
		err = fmt.Errorf("claim %q: %w", c.Name, &failoverError{Remaining: refused.Remaining})
	}
	return a, err
}

// confirmed returns the answer to a claim where replicas have to confirm it: a grant that they do
// not confirm is released.
func (s *store) confirmed(ctx context.Context, c *protocol.Claim, a protocol.Answer, err error) (protocol.Answer, error) {
	g := protocol.Grant{
		Name: c.Name, Tick: c.Tick, Holder: c.Holder, Request: c.Request,
		Token: a.Token, Attempt: max(a.Attempt, 1), Takeovers: c.Takeovers, TTL: c.TTL,
	}
	if err == nil && a.Status == protocol.Granted && a.Remaining < c.TTL {
		// It was found, and the request that it was granted to had no answer: have that confirmed.
		err = s.Session.Renew(ctx, []protocol.Grant{g})[0]
	}
	if few, ok := errors.AsType[*unconfirmedError](err); ok {
		if g.Token == 0 {
			g.Token = few.stamp
		}
		s.abandonedClaims.add(claimIDOf(c), c.TTL, func(ctx context.Context) error { return s.Release(ctx, g) })
	}
	if err != nil {
		return protocol.Answer{}, err
	}
	return a, nil
}

// Remove implements [protocol.Store]. A repeated one finds nothing that it could write again to have
// it confirmed, so replicas are asked whether they have that.
func (s *store) Remove(ctx context.Context, q protocol.Remove) (a protocol.Removed, err error) {
	a, err = s.Session.Remove(ctx, q)
	if err == nil && s.abandonedClaims != nil {
		err = s.values.confirm(ctx, q.Name)
	}
	if err != nil {
		return protocol.Removed{}, err
	}
	return a, nil
}
