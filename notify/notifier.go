package notify

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/solotick/solotick/election"
	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lock"
)

// electionName is the lock that the elected notifier holds.
const electionName = "solotick.notifications"

// Notifier notifies the receivers, in one replica of the fleet at a time. It is safe for concurrent
// use.
type Notifier struct {
	fleet     *fleet.Fleet
	store     lease.Store
	receivers []Receiver
	options   options
	client    *http.Client
	soon      chan struct{} // of size 1: look again
	failures  chan string   // keys that failed on this replica

	mu     sync.Mutex
	states []State // of the receivers
}

type options struct {
	jobs     func() []*jobs.Job
	after    func(job string) int
	replica  string
	ttl      time.Duration
	interval time.Duration
	confirm  time.Duration
	logger   *slog.Logger
}

// Option changes a default of [New].
type Option func(*options)

// WithJobs says which jobs there are, by their definitions: only of these it is known whether they
// are overdue, and their groups. list is called at each look.
func WithJobs(list func() []*jobs.Job) Option { return func(o *options) { o.jobs = list } }

// WithAfter says how many ticks of a job go wrong in a row before the receivers are notified. A
// number below 1 is 1, the default.
func WithAfter(after func(job string) int) Option { return func(o *options) { o.after = after } }

// WithReplica sets the name by which others see who notifies; a name as of a job. The default is
// made from the host's name and the process id.
func WithReplica(id string) Option { return func(o *options) { o.replica = id } }

// WithTTL sets after how long another replica takes over from one that died; from 500 ms to 24 h.
// The default is 15 s.
func WithTTL(ttl time.Duration) Option { return func(o *options) { o.ttl = ttl } }

// WithInterval sets how often the elected notifier looks at the fleet; from 100 ms to 1 h. The
// default is 5 s. In a large fleet it is at least 20 times as long as a look takes.
func WithInterval(d time.Duration) Option { return func(o *options) { o.interval = d } }

// WithConfirm sets how long a job must be overdue or unserved until that is notified of; from 0 to
// 24 h. The default is 30 s: a fleet that starts is overdue for a moment, and a job is unserved
// while its only replica restarts.
func WithConfirm(d time.Duration) Option { return func(o *options) { o.confirm = d } }

// WithLogger sets the logger of sent and of failed notifications. The default discards.
func WithLogger(l *slog.Logger) Option { return func(o *options) { o.logger = l } }

// New makes a notifier on the store that the replicas use. It does not call the store. The error
// has every fault, those of receivers as [*Fault].
func New(store lease.Store, receivers []Receiver, opts ...Option) (*Notifier, error) {
	o := options{
		jobs: func() []*jobs.Job { return nil }, after: func(string) int { return 1 },
		ttl: 15 * time.Second, interval: 5 * time.Second, confirm: 30 * time.Second, logger: slog.New(slog.DiscardHandler),
	}
	var faults []error
	for i, opt := range opts {
		if opt == nil {
			faults = append(faults, fmt.Errorf("notify: options[%d]: nil, must be an option", i))
			continue
		}
		opt(&o)
	}
	within := func(name string, d, least, most time.Duration) {
		if d < least || d > most {
			faults = append(faults, fmt.Errorf("notify: %s: %q must be from %s to %s", name, d, least, most))
		}
	}
	within("interval", o.interval, 100*time.Millisecond, time.Hour)
	within("confirm", o.confirm, 0, 24*time.Hour)
	within("ttl", o.ttl, 500*time.Millisecond, 24*time.Hour)
	if o.jobs == nil || o.after == nil || o.logger == nil {
		faults = append(faults, errors.New("notify: jobs, after, logger: none may be nil"))
	}
	if err := Check(receivers); err != nil {
		faults = append(faults, fmt.Errorf("notify: %w", err))
	}
	f, err := fleet.New(store)
	faults = append(faults, err)
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	n := &Notifier{
		fleet: f, store: store, receivers: slices.Clone(receivers), options: o, client: newClient(), soon: make(chan struct{}, 1),
		failures: make(chan string, mostUnnoted),
	}
	for _, r := range receivers {
		n.states = append(n.states, State{Receiver: r.Name})
	}
	return n, nil
}

// Run notifies the receivers whenever this replica is elected, until ctx ends; then it returns the
// cause. It is called once.
func (n *Notifier) Run(ctx context.Context) error {
	if len(n.receivers) == 0 {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	var opts []lock.LocksOption
	if n.options.replica != "" {
		opts = append(opts, lock.WithHolder(n.options.replica))
	}
	locks := lock.New(n.store, opts...)
	defer locks.Close()
	defer n.client.CloseIdleConnections()
	var notes sync.WaitGroup
	defer notes.Wait()
	notes.Go(func() { n.note(ctx) })
	e := election.New(locks, electionName, lock.WithTTL(n.options.ttl))
	return e.Lead(ctx, func(ctx context.Context, _ int64) error {
		n.options.logger.Info("this replica sends the notifications")
		newTerm(n).run(ctx)
		n.idle()
		return context.Cause(ctx)
	})
}

// Nudge makes an elected notifier look at the fleet soon: when a tick has gone wrong, say. It never
// blocks.
func (n *Notifier) Nudge() {
	select {
	case n.soon <- struct{}{}:
	default:
	}
}

// State says how far a receiver is, as this process knows it.
type State struct {
	Receiver string
	Waiting  int       // jobs with a notification that the receiver has not taken; 0 where another replica notifies
	Since    time.Time // since when the oldest of them waits, by this machine's clock; zero when none does
	Error    string    // why the last try failed; empty when it did not
	Sent     int64     // notifications that the receiver has taken from this process
	Failures int64     // tries that have failed
}

// States returns the states of the receivers, in their order.
func (n *Notifier) States() []State {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.states)
}

func (n *Notifier) update(receiver int, change func(*State)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change(&n.states[receiver])
}

// idle forgets what waits: another replica sends it.
func (n *Notifier) idle() {
	for i := range n.receivers {
		n.update(i, func(s *State) { s.Waiting, s.Since, s.Error = 0, time.Time{}, "" })
	}
}

// Send sends one notification to a receiver, whatever its filters say, and returns nil when it has
// taken it. The error names no more of the URL than the host. now is the time for signatures.
// Nothing is kept of it.
func Send(ctx context.Context, r Receiver, n Notification, now time.Time) error {
	if err := Check([]Receiver{r}); err != nil {
		return err
	}
	client := newClient()
	defer client.CloseIdleConnections()
	return post(ctx, client, r, n, now)
}

// Example returns a notification to try a receiver with: a condition of a job of that name. It has
// an id of its own for each at.
func Example(namespace, job string, condition Condition, at time.Time) Notification {
	n := Notification{
		Namespace: namespace, Job: job, Condition: condition, Was: OK, Tick: at.Truncate(time.Second), At: at, Ticks: 1, Test: true,
	}
	if condition == OK {
		n.Was = Failed
	}
	if condition == Failed {
		n.Error = "this is a test"
	}
	n = n.identify(0)
	n.ID, n.Incident = digest(n.ID, "test", fmt.Sprint(at.UnixNano())), digest(n.Incident, "test")
	return n
}
