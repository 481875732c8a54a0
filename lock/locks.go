package lock

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease"
)

// Locks makes the locks of one store. They share one renewer and one subscription. It is safe for
// concurrent use.
type Locks struct {
	store   lease.Store // nil when fault is not
	renewer *lease.Renewer
	holder  string
	events  observers
	observe func(Event) // nil without observers
	fault   error       // of the arguments of New; acquisitions return it

	life context.Context
	end  context.CancelFunc
	late context.Context // ends closeTimeout later
	over context.CancelFunc
	work sync.WaitGroup // Close waits for it; Add from 0 only under mu and while life has not ended

	mu              sync.Mutex
	waiters         map[string]*waiter // by request
	watches         map[*waiter]struct{}
	gates           map[gateKey]*gate
	holds           map[string]*Hold // by request
	listenerStarted bool             // the goroutine of listen runs
	subscribed      bool             // the subscription exists
	returns         []abandoned
	returners       int              // goroutines of returnAbandoned
	tokens          map[string]int64 // the newest known token of each name
}

// LocksOption changes a default of [New].
type LocksOption func(*Locks)

// WithHolder sets the name that holds and waiters show to people. Several Locks may share it. It
// matches the pattern of a name. The default is made from the host's name and the
// process id.
func WithHolder(name string) LocksOption { return func(s *Locks) { s.holder = name } }

// WithObserver calls f with every [Event], one at a time and in order, on a goroutine of its own. f
// may be slow, block or panic: no lock waits for it. At most 16,384 events wait for it; more are
// dropped, and [EventsDropped] has their number. Close waits for f for at most a second, so f must
// not call Close.
func WithObserver(f func(Event)) LocksOption { return func(s *Locks) { s.events.add(f) } }

// WithSyncObserver calls f with every [Event], on the goroutine of the event: f misses nothing, and
// locks wait for it. It is for counters, such as those of package metrics. Several goroutines call
// f at once. f must not block or call Close. A panic of f is contained.
func WithSyncObserver(f func(Event)) LocksOption {
	return func(s *Locks) { s.events.sync = append(s.events.sync, f) }
}

// New returns a maker of locks in store. It does not call the store. Acquisitions return the faults
// of the arguments.
func New(store lease.Store, opts ...LocksOption) *Locks {
	s := &Locks{
		renewer: lease.NewRenewer(store),
		holder:  defaultHolder(),
		waiters: make(map[string]*waiter),
		watches: make(map[*waiter]struct{}),
		gates:   make(map[gateKey]*gate),
		holds:   make(map[string]*Hold),
		tokens:  make(map[string]int64),
	}
	if protocol.IsNil(store) {
		s.fault = errors.New("lock: store: nil must be a store")
	} else {
		s.store = store
	}
	s.life, s.end = context.WithCancel(context.Background())
	s.late, s.over = context.WithCancel(context.Background())
	for i, o := range opts {
		if o == nil {
			s.fault = errors.Join(s.fault, fmt.Errorf("lock: options[%d]: nil must be an option", i))
			continue
		}
		o(s)
	}
	if s.events.any() {
		s.observe = s.events.observe
	}
	return s
}

// closeTimeout is how long Close waits for abandoned claims to be returned. A store may take a
// second to notice one.
const closeTimeout = 2 * time.Second

// Close ends all waits, returns their positions in the queue, stops renewing holds without
// releasing them, and ends the subscription. It waits for all of that, at most two seconds while
// the store does not answer. Release holds before.
func (s *Locks) Close() {
	s.mu.Lock()
	s.end()
	s.mu.Unlock()
	defer time.AfterFunc(closeTimeout, s.over).Stop()
	s.renewer.Close()
	s.work.Wait()
	s.events.flush()
}

// begin makes Close wait until work.Done is called. It returns false after Close.
func (s *Locks) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life.Err() != nil {
		return false
	}
	s.work.Add(1)
	return true
}

// until returns a context that ends with ctx, at Close, and after the limit unless that is 0.
func (s *Locks) until(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	waiting, end := context.WithCancelCause(ctx)
	stop := context.AfterFunc(s.life, func() { end(ErrClosed) })
	cancel := context.CancelFunc(func() {})
	if limit > 0 {
		waiting, cancel = context.WithTimeoutCause(waiting, limit, errWaitTimeout)
	}
	return waiting, func() {
		stop()
		cancel()
		end(nil)
	}
}

// Inspect returns the holders and waiters of a lock.
func (s *Locks) Inspect(ctx context.Context, name string) (State, error) {
	if s.store == nil {
		return State{}, s.fault
	}
	l, err := s.store.Lock(ctx, name)
	return stateOf(l), err
}

// List returns locks that have holders or waiters and a name with the prefix, about count at a
// time, in no order. The cursor is "" at first and then the returned next, which is "" when there
// are no more. A lock that comes or goes meanwhile may be missing, and one may come twice.
func (s *Locks) List(ctx context.Context, prefix, cursor string, count int) (locks []State, next string, err error) {
	if s.store == nil {
		return nil, "", s.fault
	}
	list, next, err := s.store.Locks(ctx, prefix, cursor, count)
	for _, l := range list {
		locks = append(locks, stateOf(l))
	}
	return locks, next, err
}

// ForceRelease revokes the grant with this token, and reports whether it was held. The next waiter
// is notified. The holder's context ends at once, or else at its next renewal.
func (s *Locks) ForceRelease(ctx context.Context, name string, token int64) (held bool, err error) {
	if s.store == nil {
		return false, s.fault
	}
	return s.store.ForceRelease(ctx, name, token)
}

func defaultHolder() string {
	host, _ := os.Hostname()
	host = strings.Map(func(r rune) rune {
		if r < 128 && protocol.ValidName("a"+string(r)) {
			return r
		}
		return '-'
	}, host)
	return "p" + strconv.Itoa(os.Getpid()) + "." + host[:min(len(host), 100)]
}

// Option changes a default of one lock.
type Option func(*settings)

type settings struct {
	ttl, waiterTTL, maxHold, waitTimeout time.Duration
	order                                protocol.Order
	broadcast                            bool
	fault                                error // nil options
}

const (
	defaultTTL       = 15 * time.Second
	defaultWaiterTTL = 3 * time.Second

	unset = math.MinInt64 // of an option that has no constant default
)

func settingsOf(turn protocol.Order, opts []Option) settings {
	o := settings{ttl: defaultTTL, waiterTTL: unset, order: turn}
	for i, opt := range opts {
		if opt == nil {
			o.fault = errors.Join(o.fault, fmt.Errorf("lock: options[%d]: nil must be an option", i))
			continue
		}
		opt(&o)
	}
	if o.waiterTTL == unset { // a dead waiter should not delay others for longer than a dead holder
		o.waiterTTL = min(defaultWaiterTTL, max(o.ttl, time.Second))
	}
	return o
}

// WithTTL sets how long a hold lasts without renewal: how long others wait when the holder dies.
// The default is 15 s; at least 1 ms. Use several times the timeout of the store.
func WithTTL(d time.Duration) Option { return func(o *settings) { o.ttl = d } }

// WithWaiterTTL sets how long a position in the queue lasts without a new claim: how long a dead
// waiter delays those behind it. A waiter claims three times as often. The default is the TTL, from
// 1 s to 3 s. It may be from 1 ms to 1 h.
func WithWaiterTTL(d time.Duration) Option { return func(o *settings) { o.waiterTTL = d } }

// WithMaxHold limits how long the lock is held. After that it is lost, with the reason max_hold,
// even if renewals succeed. 0, the default, means no limit.
func WithMaxHold(d time.Duration) Option { return func(o *settings) { o.maxHold = d } }

// WithWaitTimeout limits how long Acquire waits; the error then matches [lease.ErrHeld]. 0, the
// default, means no limit but ctx. Unlike ctx, it does not limit the hold.
func WithWaitTimeout(d time.Duration) Option { return func(o *settings) { o.waitTimeout = d } }

// WithFairness grants the lock in the order of arrival: no waiter waits for ever. It is the default
// of a [ReadWrite]. All users of a lock should set the same order.
func WithFairness() Option { return withOrder(protocol.OrderArrival) }

// WithAnyOrder grants the lock to the first claim while there are permits: waiters are notified,
// but a newcomer may be faster. Those who wait in another order, such as a [Multi], go first. It is
// the default of all but a [ReadWrite], whose readers it prefers.
func WithAnyOrder() Option { return withOrder(protocol.OrderAny) }

// WithWritersFirst grants the lock to writers before readers, and generally to those that claim
// more permits. Readers may then wait for ever.
func WithWritersFirst() Option { return withOrder(protocol.OrderLargest) }

func withOrder(order protocol.Order) Option { return func(o *settings) { o.order = order } }

// WithBroadcast notifies all subscribers when the lock is granted and released, not only the waiter
// at the head of the queue. Package election uses it.
func WithBroadcast() Option { return func(o *settings) { o.broadcast = true } }
