package engine

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/solotick/solotick/internal/keyqueue"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/steady"
	"github.com/solotick/solotick/lease/driver"
)

// Session is a lease.Store over a [driver.Store]. It is safe for concurrent use.
//
// The zero value is over a [driver.Memory] of its own, in the namespace "default".
type Session struct {
	namespace string
	store     driver.Store // nil of the zero value: see medium
	options   Options

	memory  driver.Memory
	clock   clock
	known   known
	queue   keyqueue.Queue // of the changes of a key
	takings together[protocol.Take, protocol.Taken]
	acts    together[act, struct{}]
	members members
	origin  atomic.Pointer[string] // begins the ids of changes
	count   atomic.Uint64
	took    atomic.Int64 // the last round trip, in ns

	published atomic.Pointer[driver.Version] // of the value that carries messages; nil before the first
}

// Options are what a session may be told of its store.
type Options struct {
	Hint func(err error) string // what to change when a call fails with err; "" when it cannot say
	// Note, if set, takes down what somebody asked for about a name, as a notification says it, for
	// those who miss the notification.
	Note func(ctx context.Context, name string, tick int64) error
	// Take, if set, has the store decide requests for units of a limit.
	Take    func(ctx context.Context, q *Taking) (TakenBatch, error)
	Waiting func() // is called when a claim of a lock has joined a queue, so that the store looks for notifications more often
}

// NewSession makes a session over a store, in which the namespace is the caller's. The namespace
// matches the pattern of a name.
func NewSession(store driver.Store, namespace string, options Options) (*Session, error) {
	if !protocol.ValidName(namespace) {
		return nil, fmt.Errorf("namespace %q %s", namespace, protocol.NameRule)
	}
	return &Session{namespace: namespace, store: store, options: options}, nil
}

// Namespace implements [protocol.Store].
func (s *Session) Namespace() string { return cmp.Or(s.namespace, protocol.DefaultNamespace) }

func (s *Session) medium() driver.Store {
	if s.store == nil {
		return &s.memory
	}
	return s.store
}

// ReachedSince implements [protocol.Store]: a session knows of no server that answers by itself.
func (s *Session) ReachedSince(string, time.Duration) (since, until steady.Instant, ok bool) {
	return 0, 0, true
}

// Check implements [protocol.Store].
func (s *Session) Check(ctx context.Context) error { return protocol.Check(ctx, s) }

// Hint implements [protocol.Store].
func (s *Session) Hint(err error) string {
	if s.options.Hint == nil {
		return ""
	}
	return s.options.Hint(err)
}

// Warnings implements [protocol.Store].
func (s *Session) Warnings(context.Context) []protocol.Warning { return nil }

// Memory returns the store of a zero Session.
func (s *Session) Memory() *driver.Memory { return &s.memory }

// nextID makes the id of a change.
func (s *Session) nextID() string {
	var short [32]byte
	return string(strconv.AppendUint(append(short[:0], s.name()...), s.count.Add(1), 36))
}

// name returns a name that is unique to this session.
func (s *Session) name() string {
	origin := s.origin.Load()
	if origin == nil {
		text := strconv.FormatUint(rand.Uint64(), 36) + "-"
		s.origin.CompareAndSwap(nil, &text)
		origin = s.origin.Load()
	}
	return *origin
}

// clock reckons the store's time from its last answer.
type clock struct {
	mu       sync.Mutex
	now      time.Time // the store's, with the last answer
	received time.Time // when that came, by the local monotonic clock
}

// set notes what a store said whose answer has just come.
func (c *clock) set(now time.Time) {
	if now.IsZero() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	// An answer is late by its way back, so the reckoning that is ahead is the nearer one.
	received := time.Now()
	ahead := c.now.Add(received.Sub(c.received)).Sub(now)
	if ahead > 0 && ahead < mostLate && received.Sub(c.received) < trusted {
		return
	}
	c.now, c.received = now, received
}

const (
	mostLate = 20 * time.Millisecond // by which an answer is thought to be late, rather than the store's clock set back
	trusted  = 5 * time.Second       // for how long an answer is preferred to later ones
)

// reckon returns the store's time, the zero time when no answer has come yet.
func (c *clock) reckon() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now.IsZero() {
		return time.Time{}
	}
	return c.now.Add(time.Since(c.received))
}
