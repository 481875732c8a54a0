package redislease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/solotick/solotick/lease"
)

// Store is a [lease.Store] on Redis. It is safe for concurrent use. Close it when it is no longer used.
type Store struct {
	namespace string
	end       context.CancelFunc
	client    redis.UniversalClient
	router    *router
	grace     time.Duration
	unwanted  *unwanted // nil when no replica is waited for
	interest  *interest // nil but on Cluster
	values    *values
}

// chunk is how many leases one script renews: more would hold up the other clients of the server.
const chunk = 128

type options struct {
	timeout  time.Duration
	hooks    []redis.Hook
	replicas int
	grace    time.Duration
}

// Option changes a default of [New].
type Option func(*options)

// WithTimeout bounds each round trip to Redis, connecting included. The default is 1 s; at least 10 ms. A call whose
// context is cancelled returns within 1 s; at a context's deadline a call returns at once. Choose the timeout well
// below the shortest term: a lease whose renewal hangs is renewed on another connection only after this.
func WithTimeout(d time.Duration) Option { return func(o *options) { o.timeout = d } }

// WithHook lets h see the commands of the store's own client, for counting or tracing.
func WithHook(h redis.Hook) Option { return func(o *options) { o.hooks = append(o.hooks, h) } }

// New makes a store for the Redis that client is connected to. It uses the options of client, a *redis.Client (also for
// Sentinel) or *redis.ClusterClient, for a small client of its own, and does not connect yet. Keep a client of Sentinel open
// for as long as the store.
//
// The namespace names the fleet: services that share a server give each one of its own, and all replicas of a service give
// the same. Two services in one namespace take each other's ticks and locks wherever names are equal. It matches the
// pattern of a name; see [lease.ValidName].
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
	if !lease.ValidName(namespace) {
		faults = append(faults, fmt.Errorf("redislease: namespace %q %s", namespace, lease.NameRule))
	}
	if o.timeout < 10*time.Millisecond {
		faults = append(faults, fmt.Errorf("redislease: timeout %s must be at least 10ms", o.timeout))
	}
	if o.replicas < 0 || o.replicas > MaxReplicas {
		faults = append(faults, fmt.Errorf("redislease: replicas %d must be from 0 to %d", o.replicas, MaxReplicas))
	}
	if o.replicas > 0 && o.timeout < minWaitingTimeout {
		faults = append(faults, fmt.Errorf("redislease: timeout %s must be at least %s with replicas to wait for", o.timeout, minWaitingTimeout))
	}
	if o.grace < 0 || o.grace > MaxFailoverGrace {
		faults = append(faults, fmt.Errorf("redislease: failover grace %s must be from 0s to %s", o.grace, MaxFailoverGrace))
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
	s := &Store{
		namespace: namespace,
		end:       end,
		client:    own,
		grace:     o.grace,
	}
	s.values = newValues(s)
	scripts := &opScripts{
		scripts: [opKinds]*script{essentialOp: essentialScript, readOp: readScript, growingOp: growingScript},
		channel: s.values.channel(), graceKey: s.fleetKey(":server"), grace: o.grace,
	}
	if o.grace > 0 {
		scripts.scripts[growingOp] = gracedScript
	}
	s.router = newRouter(own, o.timeout, o.replicas > 0, scripts)
	if s.router.cluster != nil {
		s.interest = newInterest()
	}
	if o.replicas > 0 {
		addHook(own, waiter{replicas: o.replicas, most: o.timeout})
		s.unwanted = newUnwanted(s.Release)
	}
	return s, nil
}

// Namespace implements [lease.Namespacer].
func (s *Store) Namespace() string { return s.namespace }

// Close closes the store's connections. Calls that are under way fail.
func (s *Store) Close() error {
	s.end()
	if s.unwanted != nil {
		s.unwanted.close()
	}
	return s.client.Close()
}

// Names have no colon: so the scripts can tell the namespace and the name of a key apart.
func (s *Store) key(name string) string      { return "solotick:{" + s.namespace + ":" + name + "}" }
func (s *Store) fleetKey(what string) string { return "solotick:{" + s.namespace + "}" + what }
func (s *Store) channel() string             { return "solotick:" + s.namespace + ":wake" }

// Claim implements [lease.Store].
func (s *Store) Claim(ctx context.Context, c lease.Claim) (lease.Answer, error) {
	if err := c.Validate(); err != nil {
		return lease.Answer{}, err
	}
	if c.Ticket > 0 {
		s.interest.note(c.Name, c.Ticket+besides)
	}
	a, err := s.claim(ctx, &c)
	if err != nil {
		return lease.Answer{}, fmt.Errorf("claim %q: %w", c.Name, err)
	}
	return a, nil
}

func (s *Store) claim(ctx context.Context, c *lease.Claim) (lease.Answer, error) {
	if s.unwanted != nil {
		if err := s.unwanted.await(ctx, c); err != nil {
			return lease.Answer{}, err
		}
	}
	cmd, err := s.router.do(ctx, s.claimCmd(ctx, c))
	few := short(cmd, err)
	if err != nil && !few {
		return lease.Answer{}, err
	}
	if left := refusal(cmd); left != nil {
		return lease.Answer{}, left
	}
	a, fault := readAnswer(cmd, c)
	if fault != nil || !few {
		return a, fault
	}
	switch a.Status {
	case lease.Held, lease.Decided, lease.Early, lease.Late, lease.Unknown, lease.OutOfBounds: // these wrote nothing
		return a, nil
	case lease.Granted:
		s.unwanted.add(lease.Grant{
			Name: c.Name, Occasion: c.Occasion, Holder: c.Holder, Request: c.Request,
			Token: a.Token, Attempt: a.Attempt, Takeovers: a.Takeovers, Term: c.Term, Permits: c.Permits, Limit: c.Limit, Tell: c.Tell,
		})
		return lease.Answer{}, err
	default: // these did
		return lease.Answer{}, err
	}
}

func (s *Store) claimCmd(ctx context.Context, c *lease.Claim) *redis.Cmd {
	if c.Limit > 0 {
		return s.guard(ctx, s.lockClaimCmd(ctx, c))
	}
	args := make([]any, 0, 12)
	args = append(args, c.Occasion, c.Holder, c.Request, c.Term.Microseconds(), unixMilli(c.NotBefore), unixMilli(c.NotAfter),
		c.Known, c.Takeovers, int(c.Overlap), unixMilli(c.Until), unixMilli(c.TakeoverUntil))
	if c.OnlyOpen {
		args = append(args, 1)
	}
	return s.guard(ctx, claimScript.command(ctx, []string{s.key(c.Name)}, args...))
}

// Renew implements [lease.Store].
func (s *Store) Renew(ctx context.Context, grants []lease.Grant) []error {
	answers := make([]error, len(grants))
	valid, locks := make([]int, 0, len(grants)), []int(nil) // indices
	for i, g := range grants {
		switch answers[i] = g.Validate(); {
		case answers[i] != nil:
		case g.Limit > 0:
			locks = append(locks, i)
		default:
			valid = append(valid, i)
		}
	}
	size := chunk
	if s.router.cluster != nil {
		size = 1 // names live in slots of their own
	}
	parts := slices.AppendSeq(slices.Collect(slices.Chunk(valid, size)), slices.Chunk(locks, size))
	cmds := make([]*redis.Cmd, len(parts))
	for i, part := range parts {
		cmds[i] = s.renewal(ctx, grants, part)
	}
	cmds, ended := s.router.all(ctx, cmds)
	for i, part := range parts {
		var kept []any
		var few error // of replicas
		err := ended
		if err == nil && len(part) > 1 && errors.Is(cmds[i].Err(), lease.ErrRecord) {
			s.renewHalves(ctx, grants, part, answers)
			continue
		}
		if err == nil {
			if failed := cmds[i].Err(); short(cmds[i], failed) {
				few = failed
			}
			kept, err = cmds[i].Slice()
		}
		if err == nil && len(kept) != len(part) {
			err = fmt.Errorf("%w: %d answers for %d leases", errReply, len(kept), len(part))
		}
		for j, n := range part {
			switch {
			case err != nil:
				answers[n] = fmt.Errorf("renew %q: %w", grants[n].Name, err)
			case kept[j] == int64(0):
				answers[n] = lease.ErrFenced
			case kept[j] == int64(2):
				answers[n] = lease.ErrReplaced
			case text(kept[j]) != "":
				answers[n] = &lease.CancelledError{By: text(kept[j])}
			case few != nil:
				answers[n] = fmt.Errorf("renew %q: %w", grants[n].Name, few)
			}
		}
	}
	return answers
}

// renewHalves renews those of the grants that part lists by two scripts: one record that cannot be read fails the script of
// all.
func (s *Store) renewHalves(ctx context.Context, grants []lease.Grant, part []int, answers []error) {
	for half := range slices.Chunk(part, (len(part)+1)/2) {
		some := make([]lease.Grant, len(half))
		for i, n := range half {
			some[i] = grants[n]
		}
		for i, err := range s.Renew(ctx, some) {
			answers[half[i]] = err
		}
	}
}

// renewal renews those of the grants that part lists.
func (s *Store) renewal(ctx context.Context, grants []lease.Grant, part []int) *redis.Cmd {
	if grants[part[0]].Limit > 0 {
		return s.lockRenewal(ctx, grants, part)
	}
	keys := make([]string, len(part))
	args := make([]any, 0, 7*len(part))
	for i, n := range part {
		g := &grants[n]
		keys[i] = s.key(g.Name)
		args = append(args, g.Occasion, g.Token, g.Attempt, g.Takeovers, g.Term.Microseconds(), g.Holder, g.Request)
	}
	return renewScript.command(ctx, keys, args...)
}

// Settle implements [lease.Store].
func (s *Store) Settle(ctx context.Context, g lease.Grant, outcome lease.Outcome) error {
	if !lease.ValidOutcome(outcome) {
		return fmt.Errorf("settle %q: outcome %q %s", g.Name, outcome, lease.OutcomeRule)
	}
	if err := g.Validate(); err != nil {
		return err
	}
	return s.settle(ctx, "settle", g, outcome)
}

// Release implements [lease.Store].
func (s *Store) Release(ctx context.Context, g lease.Grant) error {
	return s.settle(ctx, "release", g, "")
}

func (s *Store) settle(ctx context.Context, verb string, g lease.Grant, outcome lease.Outcome) error {
	if err := g.ValidateRelease(); err != nil {
		return err
	}
	cmd, few := s.router.do(ctx, s.settleCmd(ctx, g, outcome))
	err := few
	if short(cmd, few) {
		err = nil
	}
	var done int64
	if err == nil {
		done, err = cmd.Int64()
	}
	if err == nil && done == 0 {
		return lease.ErrFenced
	}
	if err = cmp.Or(err, few); err != nil {
		return fmt.Errorf("%s %q: %w", verb, g.Name, err)
	}
	return nil
}

func (s *Store) settleCmd(ctx context.Context, g lease.Grant, outcome lease.Outcome) *redis.Cmd {
	if g.Limit > 0 {
		return s.lockReleaseCmd(ctx, g)
	}
	return settleScript.command(ctx, []string{s.key(g.Name)},
		g.Occasion, g.Token, string(outcome), g.Attempt, g.Holder, lease.Cut(g.Note, lease.MaxNote),
		g.Takeovers, g.Request, g.Term.Microseconds())
}

// Pass implements [lease.Store].
func (s *Store) Pass(ctx context.Context, p lease.Pass) (int64, bool, error) {
	if err := p.Validate(); err != nil {
		return 0, false, err
	}
	cmd, err := s.router.do(ctx, passScript.command(ctx, []string{s.key(p.Name)},
		p.From, p.To, string(p.Outcome), p.Request, p.Holder, lease.Cut(p.Note, lease.MaxNote), unixMilli(p.Until)))
	r, err := readNumbers(cmd, err, 2)
	if err != nil {
		return 0, false, fmt.Errorf("pass %q: %w", p.Name, outOfBounds(err, p.Until))
	}
	return max(r[0], 0), r[1] == 1, nil
}

// Sync implements [lease.Store].
func (s *Store) Sync(ctx context.Context, syncs []lease.Sync) ([]lease.Record, error) {
	cmds := make([]*redis.Cmd, len(syncs))
	for i, y := range syncs {
		if err := y.Validate(); err != nil {
			return nil, err
		}
		cmds[i] = syncScript.command(ctx, []string{s.key(y.Name)},
			y.Mark, y.Known, y.Revision, writePause(y.Paused), y.Schedule, unixMilli(y.Until))
	}
	cmds, err := s.router.all(ctx, cmds)
	if err != nil {
		return nil, fmt.Errorf("sync: %w", err)
	}
	records := make([]lease.Record, len(syncs))
	for i, cmd := range cmds {
		if records[i], err = readRecord(syncs[i].Name, cmd); err != nil {
			return nil, fmt.Errorf("sync %q: %w", syncs[i].Name, outOfBounds(err, syncs[i].Until))
		}
	}
	return records, nil
}

// Time implements [lease.Store].
func (s *Store) Time(ctx context.Context) (now, since time.Time, err error) {
	cmd, err := s.router.do(ctx, timeScript.command(ctx, []string{s.fleetKey("")}))
	r, err := readNumbers(cmd, err, 2)
	if err != nil {
		return time.Time{}, time.Time{}, fmt.Errorf("time: %w", err)
	}
	return time.UnixMicro(r[0]).UTC(), time.UnixMicro(r[1]).UTC(), nil
}

// Inspect implements [lease.Inspector].
func (s *Store) Inspect(ctx context.Context, name string) (lease.Record, error) {
	cmd, err := s.router.do(ctx, inspectScript.command(ctx, []string{s.key(name)}))
	var r lease.Record
	if err == nil {
		r, err = readRecord(name, cmd)
	}
	if err != nil {
		return lease.Record{}, fmt.Errorf("inspect %q: %w", name, err)
	}
	return r, nil
}

func unixMilli(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
