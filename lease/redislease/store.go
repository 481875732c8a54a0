package redislease

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/solotick/solotick/lease"
)

// Store is a [lease.Store] on Redis. It is safe for concurrent use. Close it when it is no longer used.
type Store struct {
	namespace string
	client    redis.UniversalClient
	cluster   bool
	pipe      *pipe
}

// chunk is how many leases one script renews: more would hold up the other clients of the server.
const chunk = 128

// A record is garbage when its name has not been used for so long.
const (
	retention     = 400 * 24 * time.Hour // of a name with a memory: jobs may run once a year
	lockRetention = 24 * time.Hour       // of a plain lock, after its term
)

type options struct {
	namespace string
	timeout   time.Duration
	hooks     []redis.Hook
}

// Option changes a default of [New].
type Option func(*options)

// WithNamespace keeps the records apart from those of other namespaces. The default is "default".
func WithNamespace(name string) Option { return func(o *options) { o.namespace = name } }

// WithTimeout bounds each round trip to Redis, connecting included. The default is 1 s; at least 10 ms. Choose it well
// below the shortest term: a lease whose renewal hangs is renewed on another connection only after this.
func WithTimeout(d time.Duration) Option { return func(o *options) { o.timeout = d } }

// WithHook lets h see the commands of the store's own client, for counting or tracing.
func WithHook(h redis.Hook) Option { return func(o *options) { o.hooks = append(o.hooks, h) } }

// New makes a store for the Redis that client is connected to. It uses the options of client, a *redis.Client (also for
// Sentinel) or *redis.ClusterClient, for a small client of its own, and does not connect yet.
func New(client redis.UniversalClient, opts ...Option) (*Store, error) {
	o := options{namespace: "default", timeout: time.Second}
	for _, opt := range opts {
		opt(&o)
	}
	var faults []error
	if !lease.ValidName(o.namespace) {
		faults = append(faults, fmt.Errorf("redislease: namespace %q %s", o.namespace, lease.NameRule))
	}
	if o.timeout < 10*time.Millisecond {
		faults = append(faults, fmt.Errorf("redislease: timeout %s must be at least 10ms", o.timeout))
	}
	own, cluster, err := ownClient(client, o.timeout)
	if err = errors.Join(append(faults, err)...); err != nil {
		return nil, err
	}
	for _, h := range o.hooks {
		own.AddHook(h)
	}
	return &Store{
		namespace: o.namespace,
		client:    own,
		cluster:   cluster,
		pipe:      &pipe{client: own, lanes: lanes, timeout: o.timeout},
	}, nil
}

// Namespace returns the namespace that the records are kept in.
func (s *Store) Namespace() string { return s.namespace }

// Close closes the store's connections. Calls that are under way fail.
func (s *Store) Close() error { return s.client.Close() }

func (s *Store) key(name string) string { return "solotick:{" + s.namespace + ":" + name + "}" }
func (s *Store) channel() string        { return "solotick:" + s.namespace + ":wake" }

// Claim implements [lease.Store].
func (s *Store) Claim(ctx context.Context, c lease.Claim) (lease.Answer, error) {
	if err := c.Validate(); err != nil {
		return lease.Answer{}, err
	}
	keep := retention
	if c.Occasion == 0 {
		keep = lockRetention + c.Term
	}
	cmd, err := s.pipe.do(ctx, claimScript.command(ctx, []string{s.key(c.Name)},
		c.Occasion, c.Holder, c.Request, c.Term.Microseconds(), unixMilli(c.NotBefore), unixMilli(c.NotAfter),
		c.Known, c.Takeovers, int(c.Overlap), keep.Milliseconds()))
	if err != nil {
		return lease.Answer{}, fmt.Errorf("claim %q: %w", c.Name, err)
	}
	a, err := readAnswer(cmd)
	if err != nil {
		return lease.Answer{}, fmt.Errorf("claim %q: %w", c.Name, err)
	}
	return a, nil
}

// Renew implements [lease.Store].
func (s *Store) Renew(ctx context.Context, grants []lease.Grant) []error {
	size := chunk
	if s.cluster {
		size = 1 // names live in slots of their own
	}
	var cmds []*redis.Cmd
	for start := 0; start < len(grants); start += size {
		cmds = append(cmds, s.renewal(ctx, grants[start:min(start+size, len(grants))]))
	}
	s.pipe.all(ctx, cmds)
	answers := make([]error, 0, len(grants))
	for i, cmd := range cmds {
		part := grants[i*size : min((i+1)*size, len(grants))]
		kept, err := cmd.Int64Slice()
		if err == nil && len(kept) != len(part) {
			err = fmt.Errorf("%w: %d answers for %d leases", errReply, len(kept), len(part))
		}
		for j, g := range part {
			switch {
			case err != nil:
				answers = append(answers, fmt.Errorf("renew %q: %w", g.Name, err))
			case kept[j] == 0:
				answers = append(answers, lease.ErrFenced)
			default:
				answers = append(answers, nil)
			}
		}
	}
	return answers
}

func (s *Store) renewal(ctx context.Context, grants []lease.Grant) *redis.Cmd {
	keys := make([]string, len(grants))
	args := make([]any, 0, 1+7*len(grants))
	args = append(args, retention.Milliseconds())
	for i, g := range grants {
		keys[i] = s.key(g.Name)
		args = append(args, g.Occasion, g.Token, g.Attempt, g.Takeovers, g.Term.Microseconds(), g.Holder, g.Request)
	}
	return renewScript.command(ctx, keys, args...)
}

// Settle implements [lease.Store].
func (s *Store) Settle(ctx context.Context, g lease.Grant, outcome lease.Outcome) error {
	if outcome == "" {
		return fmt.Errorf("settle %q: the outcome is empty", g.Name)
	}
	return s.settle(ctx, "settle", g, outcome)
}

// Release implements [lease.Store].
func (s *Store) Release(ctx context.Context, g lease.Grant) error {
	return s.settle(ctx, "release", g, "")
}

func (s *Store) settle(ctx context.Context, verb string, g lease.Grant, outcome lease.Outcome) error {
	cmd, err := s.pipe.do(ctx, settleScript.command(ctx, []string{s.key(g.Name)},
		g.Occasion, g.Token, string(outcome), retention.Milliseconds(), s.channel(), g.Name,
		g.Attempt, g.Takeovers, g.Holder, g.Request))
	if err != nil {
		return fmt.Errorf("%s %q: %w", verb, g.Name, err)
	}
	if n, err := cmd.Int64(); err != nil {
		return fmt.Errorf("%s %q: %w", verb, g.Name, err)
	} else if n == 0 {
		return lease.ErrFenced
	}
	return nil
}

// Pass implements [lease.Store].
func (s *Store) Pass(ctx context.Context, p lease.Pass) (int64, bool, error) {
	cmd, err := s.pipe.do(ctx, passScript.command(ctx, []string{s.key(p.Name)}, p.From, p.To, string(p.Outcome), p.Request))
	var r []int64
	if err == nil {
		r, err = cmd.Int64Slice()
	}
	if err == nil && len(r) != 2 {
		err = fmt.Errorf("unexpected answer %v", r)
	}
	if err != nil {
		return 0, false, fmt.Errorf("pass %q: %w", p.Name, err)
	}
	return max(r[0], 0), r[1] == 1, nil
}

// Sync implements [lease.Store].
func (s *Store) Sync(ctx context.Context, syncs []lease.Sync) ([]lease.Record, error) {
	cmds := make([]*redis.Cmd, len(syncs))
	for i, y := range syncs {
		if !lease.ValidName(y.Name) {
			return nil, fmt.Errorf("sync: name %q %s", y.Name, lease.NameRule)
		}
		cmds[i] = syncScript.command(ctx, []string{s.key(y.Name)}, y.Mark, y.Known, retention.Milliseconds())
	}
	s.pipe.all(ctx, cmds)
	records := make([]lease.Record, len(syncs))
	for i, cmd := range cmds {
		var err error
		if records[i], err = readRecord(syncs[i].Name, cmd); err != nil {
			return nil, fmt.Errorf("sync %q: %w", syncs[i].Name, err)
		}
	}
	return records, nil
}

// Time implements [lease.Store].
func (s *Store) Time(ctx context.Context) (now, since time.Time, err error) {
	cmd, err := s.pipe.do(ctx, timeScript.command(ctx, []string{"solotick:{" + s.namespace + "}"}))
	var r []int64
	if err == nil {
		r, err = cmd.Int64Slice()
	}
	if err == nil && len(r) != 2 {
		err = fmt.Errorf("unexpected answer %v", r)
	}
	if err != nil {
		return time.Time{}, time.Time{}, fmt.Errorf("time: %w", err)
	}
	return time.UnixMicro(r[0]).UTC(), time.UnixMicro(r[1]).UTC(), nil
}

// Inspect implements [lease.Inspector].
func (s *Store) Inspect(ctx context.Context, name string) (lease.Record, error) {
	r, err := s.client.HMGet(ctx, s.key(name), "mark", "token", "open", "settled").Result()
	var now time.Time
	if err == nil {
		now, err = s.client.Time(ctx).Result()
	}
	if err != nil {
		return lease.Record{}, fmt.Errorf("inspect %q: %w", name, err)
	}
	text := func(i int) string { v, _ := r[i].(string); return v }
	number := func(i int) int64 { n, _ := strconv.ParseInt(text(i), 10, 64); return n }
	rec := lease.Record{Name: name, Mark: number(0), Token: number(1)}
	rec.Open, err = readLines(text(2), now.UnixMicro())
	if err == nil {
		rec.Settled, err = readSettled(text(3))
	}
	if err != nil {
		return lease.Record{}, fmt.Errorf("inspect %q: %w", name, err)
	}
	return rec, nil
}

// Watch implements [lease.Watcher].
func (s *Store) Watch(ctx context.Context, wake func(name string)) error {
	sub := s.client.Subscribe(ctx, s.channel())
	defer func() { _ = sub.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = sub.Close() }) // a read in progress does not see ctx
	defer stop()
	for {
		m, err := sub.Receive(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return fmt.Errorf("watch: %w", err)
		}
		switch m := m.(type) {
		case *redis.Subscription:
			wake("")
		case *redis.Message:
			wake(m.Payload)
		}
	}
}

func unixMilli(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
