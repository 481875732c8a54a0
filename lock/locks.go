package lock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/protocol"
)

// Locks makes the locks that are kept in one store. All of them share a keeper, which renews what
// is held, and one subscription, by which those who wait are told. It is safe for concurrent use.
type Locks struct {
	store   protocol.Locker // nil when fault says why
	keeper  *lease.Keeper
	holder  string
	events  observers
	observe func(Event) // nil when nobody observes
	fault   error       // of New's arguments, which acquiring returns

	life context.Context
	end  context.CancelFunc
	late context.Context // ends a little later: see closing
	over context.CancelFunc
	work sync.WaitGroup // what Close waits for; from 0, Add under mu and only while life has not ended

	mu        sync.Mutex
	waiters   map[string]*waiter // by request
	watches   map[*waiter]struct{}
	gates     map[gateKey]*gate
	holds     map[string]*Hold // by request
	listens   bool             // the goroutine that listens runs
	listening bool             // and hears
	owed      []owed
	takers    int              // goroutines that give back what is owed
	tokens    map[string]int64 // the newest that is known of names
}

// LocksOption changes a default of [New].
type LocksOption func(*Locks)

// WithHolder says under what name locks are held and waited for: for people to see, not to tell
// holders apart. It matches the pattern of [protocol.ValidName]. The default is made from the
// host's name and the process id.
func WithHolder(name string) LocksOption { return func(s *Locks) { s.holder = name } }

// WithObserver calls f with every [Event], one at a time and in order, on a goroutine of its own. f
// may be slow, block or panic: no lock waits for it. 16,384 events wait for it at most; more are
// dropped, and [EventsDropped] says how many. Close waits for f, for a second at most, so f must
// not call it.
func WithObserver(f func(Event)) LocksOption { return func(s *Locks) { s.events.add(f) } }

// WithSyncObserver calls f with every [Event], on the goroutine that it happens on: f misses
// nothing, and locks wait for it. It is for counters, such as those of package metrics. f is called
// by several goroutines at once, and must not block, nor call Close. A panic of f is contained.
func WithSyncObserver(f func(Event)) LocksOption {
	return func(s *Locks) { s.events.sync = append(s.events.sync, f) }
}

// New returns a maker of the locks that are kept in store. Nothing is asked of the store before a
// lock is acquired. What is wrong with the arguments acquiring says: with a store that is no
// [protocol.Locker], an error that matches [ErrUnsupported].
func New(store protocol.Store, opts ...LocksOption) *Locks {
	s := &Locks{
		keeper:  lease.NewKeeper(store),
		holder:  defaultHolder(),
		waiters: make(map[string]*waiter),
		watches: make(map[*waiter]struct{}),
		gates:   make(map[gateKey]*gate),
		holds:   make(map[string]*Hold),
		tokens:  make(map[string]int64),
	}
	if protocol.IsNil(store) {
		s.fault = errors.New("lock: store: nil must be a store")
	} else if s.store, _ = store.(protocol.Locker); s.store == nil {
		s.fault = fmt.Errorf("lock: store: a %T must be a protocol.Locker: %w", store, ErrUnsupported)
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

// closing is how long Close gives what is to be given back: a store may take a second to notice
// that a claim was given up.
const closing = 2 * time.Second

// Close gives up all waiting, takes back the places in line, lets go of what is held without
// telling the store, ends the subscription, and waits for all that: while the store is away for up
// to two seconds. Release what is held before.
func (s *Locks) Close() {
	s.mu.Lock()
	s.end()
	s.mu.Unlock()
	defer time.AfterFunc(closing, s.over).Stop()
	s.keeper.Close()
	s.work.Wait()
	s.events.flush()
}

// begin tells Close to wait until work.Done is called, and reports whether it does: not after
// Close.
func (s *Locks) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life.Err() != nil {
		return false
	}
	s.work.Add(1)
	return true
}

// until returns a context that ends with ctx, at Close, and when the limit has passed unless that
// is 0.
func (s *Locks) until(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	waiting, end := context.WithCancelCause(ctx)
	stop := context.AfterFunc(s.life, func() { end(ErrClosed) })
	cancel := context.CancelFunc(func() {})
	if limit > 0 {
		waiting, cancel = context.WithTimeoutCause(waiting, limit, errWaited)
	}
	return waiting, func() {
		stop()
		cancel()
		end(nil)
	}
}

// Inspect shows who holds and who waits for the lock of that name.
func (s *Locks) Inspect(ctx context.Context, name string) (protocol.Lock, error) {
	if s.store == nil {
		return protocol.Lock{}, s.fault
	}
	return s.store.Lock(ctx, name)
}

// List lists the locks that are held or waited for: see [protocol.Locker].
func (s *Locks) List(ctx context.Context, prefix, cursor string, count int) (locks []protocol.Lock, next string, err error) {
	if s.store == nil {
		return nil, "", s.fault
	}
	return s.store.Locks(ctx, prefix, cursor, count)
}

// ForceRelease takes the grant with this token away from its holder, and reports whether it was
// held: see [protocol.Locker].
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
	term, ticket, maxHold, waitLimit time.Duration
	turn                             protocol.Turn
	tell                             bool
	fault                            error // nil options
}

const (
	defaultTerm   = 15 * time.Second
	defaultTicket = 3 * time.Second
)

func settingsOf(turn protocol.Turn, opts []Option) settings {
	o := settings{term: defaultTerm, ticket: defaultTicket, turn: turn}
	for i, opt := range opts {
		if opt == nil {
			o.fault = errors.Join(o.fault, fmt.Errorf("lock: options[%d]: nil must be an option", i))
			continue
		}
		opt(&o)
	}
	return o
}

// Term sets how long a hold lasts without renewal: how long others wait when the holder dies. The
// default is 15 s; at least 1 ms. Choose several times the timeout of the store.
func Term(d time.Duration) Option { return func(o *settings) { o.term = d } }

// Ticket sets how long a place in line is kept without being asked for again, which happens three
// times as often: how long a waiter that has died delays those behind it. The default is 3 s; from
// 1 ms to an hour.
func Ticket(d time.Duration) Option { return func(o *settings) { o.ticket = d } }

// MaxHold bounds how long the lock is held: then it is lost, with [lease.LostMaxHold], however well
// it can be renewed. 0, the default, means no bound.
func MaxHold(d time.Duration) Option { return func(o *settings) { o.maxHold = d } }

// WaitLimit bounds how long Acquire waits; the error then matches [lease.ErrHeld]. 0, the default,
// means no bound but that of the context. Unlike the context's it does not bound what is done while
// the lock is held.
func WaitLimit(d time.Duration) Option { return func(o *settings) { o.waitLimit = d } }

// Turn sets whom an acquisition lets go first. All who share a lock had better use the same. The
// default is [protocol.TurnAny]; for a [ReadWrite] it is [protocol.TurnArrival].
func Turn(t protocol.Turn) Option { return func(o *settings) { o.turn = t } }

// Fair lets those go first who came before: [protocol.TurnArrival].
func Fair() Option { return Turn(protocol.TurnArrival) }

// WritersFirst lets writers go before readers, and generally those who want more permits:
// [protocol.TurnLargest].
func WritersFirst() Option { return Turn(protocol.TurnLargest) }

// Tell tells everyone who listens when the lock is granted and released, not only those whose turn
// it is. Package election uses it.
func Tell() Option { return func(o *settings) { o.tell = true } }
