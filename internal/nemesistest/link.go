package nemesistest

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/solotick/solotick/lease/driver"
)

var (
	errRefused = errors.New("nemesis: connection refused")
	errLost    = errors.New("nemesis: the connection broke before the reply")
)

// condition is how a store, or the way to it, treats a request.
type condition int

const (
	works   condition = iota
	refuses           // at once
	drops             // the request gets no answer
	freezes           // the request is carried out when the store goes on
)

// server is the store that a fleet shares, or does not reach.
type server struct {
	mu    sync.Mutex
	state condition
	thaw  chan struct{} // closed when a frozen store goes on
	gone  chan struct{} // closed when connections break
	links []*link
}

func newServer() *server { return &server{thaw: make(chan struct{}), gone: make(chan struct{})} }

// fail puts the store into a condition until it is told that it works. When it works again, each
// link connects after a delay of at most reconnect.
func (s *server) fail(c condition, draw *rand.Rand, reconnect time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == freezes && c != freezes {
		close(s.thaw)
		s.thaw = make(chan struct{})
	}
	if c == refuses || c == drops {
		close(s.gone)
		s.gone = make(chan struct{})
	}
	if c == works && (s.state == refuses || s.state == drops) {
		for _, l := range s.links {
			l.setBack(time.Now().Add(time.Duration(draw.Int64N(int64(reconnect)))))
		}
	}
	s.state = c
}

func (s *server) now() (state condition, thaw, gone <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state, s.thaw, s.gone
}

// link is a replica's way to the store.
type link struct {
	server *server
	store  driver.Store

	mu     sync.Mutex
	draw   *rand.Rand
	state  condition // works, refuses or drops
	back   time.Time // connections are refused until then
	lost   float64   // the part of replies that get lost
	slow   time.Duration
	frozen chan struct{} // closed when the replica goes on; nil while it does
}

func newLink(s *server, store driver.Store, seed uint64) *link {
	l := &link{server: s, store: store, draw: rand.New(rand.NewPCG(seed, 7))}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.links = append(s.links, l)
	return l
}

func (l *link) setBack(t time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.back = t
}

func (l *link) set(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
}

func (l *link) heal() { l.set(func() { l.state, l.lost, l.slow = works, 0, 0 }) }

func (l *link) freeze() { l.set(func() { l.frozen = make(chan struct{}) }) }

func (l *link) goOn() {
	l.set(func() {
		if l.frozen != nil {
			close(l.frozen)
			l.frozen = nil
		}
	})
}

// awaitThaw waits while the replica is frozen.
func (l *link) awaitThaw() {
	for {
		l.mu.Lock()
		frozen := l.frozen
		l.mu.Unlock()
		if frozen == nil {
			return
		}
		<-frozen
	}
}

// toss draws the delays of a request and of its reply, whether the reply gets lost, and whether a
// request that its caller gave up is carried out later.
func (l *link) toss() (there, back time.Duration, lost, late bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	within := func(d time.Duration) time.Duration { return time.Duration(l.draw.Int64N(int64(d) + 1)) }
	return within(l.slow), within(l.slow), l.draw.Float64() < l.lost, l.draw.IntN(2) == 0
}

func (l *link) condition() condition {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == works && time.Now().Before(l.back) {
		return refuses
	}
	return l.state
}

// reach returns the condition of the whole way, and what ends a freeze.
func (l *link) reach() (condition, <-chan struct{}, <-chan struct{}) {
	state, thaw, gone := l.server.now()
	if own := l.condition(); own != works {
		return own, nil, gone
	}
	return state, thaw, gone
}

func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

// through carries a request out at the store, and returns an error unless its reply arrives. What
// do writes must not be read after an error.
func (l *link) through(ctx context.Context, do func()) error {
	l.awaitThaw()
	there, back, lost, late := l.toss()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if err := wait(ctx, there); err != nil {
		return err
	}
	state, thaw, gone := l.reach()
	switch state {
	case refuses:
		return errRefused
	case drops:
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Minute):
			return errLost
		}
	case freezes:
		select {
		case <-thaw:
		case <-ctx.Done():
			if late {
				go func() {
					<-thaw
					do()
				}()
			}
			return context.Cause(ctx)
		}
	case works:
	}
	do()
	err := wait(ctx, back)
	l.awaitThaw()
	select {
	case <-gone:
		return errLost
	default:
	}
	if state, _, _ := l.reach(); lost || state == refuses || state == drops {
		return errLost
	}
	if err == nil {
		err = context.Cause(ctx)
	}
	return err
}

// listen calls subscribe until ctx ends or the connection breaks. Messages that do not get through
// are lost.
func (l *link) listen(ctx context.Context, subscribe func(ctx context.Context, through func() bool) error) error {
	l.awaitThaw()
	state, _, gone := l.reach()
	if state != works {
		return errRefused
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(ctx, func() {})
	defer stop()
	go func() {
		select {
		case <-gone:
			cancel(errLost)
		case <-ctx.Done():
		}
	}()
	return subscribe(ctx, func() bool {
		state, _, _ := l.reach()
		l.mu.Lock()
		defer l.mu.Unlock()
		return state == works && l.frozen == nil && l.draw.Float64() >= l.lost
	})
}

// Do implements driver.Store.
func (l *link) Do(ctx context.Context, ops []driver.Op) []driver.Result {
	var results []driver.Result
	ops = slices.Clone(ops)
	err := l.through(ctx, func() { results = l.store.Do(context.Background(), ops) })
	if err == nil {
		return results
	}
	failed := make([]driver.Result, len(ops))
	for i := range failed {
		failed[i].Err = err
	}
	return failed
}

// Scan implements driver.Store.
func (l *link) Scan(ctx context.Context, prefix, cursor string, count int) (keys []string, next string, err error) {
	var list []string
	var after string
	var fault error
	if err := l.through(ctx, func() { list, after, fault = l.store.Scan(context.Background(), prefix, cursor, count) }); err != nil {
		return nil, "", err
	}
	return list, after, fault
}

// Time implements driver.Store.
func (l *link) Time(ctx context.Context) (now, since time.Time, err error) {
	var n, s time.Time
	var fault error
	if err := l.through(ctx, func() { n, s, fault = l.store.Time(context.Background()) }); err != nil {
		return now, since, err
	}
	return n, s, fault
}

// Subscribe implements driver.Store.
func (l *link) Subscribe(ctx context.Context, notify func(driver.Notification)) error {
	return l.listen(ctx, func(ctx context.Context, through func() bool) error {
		return l.store.Subscribe(ctx, func(n driver.Notification) {
			if through() {
				notify(n)
			}
		})
	})
}
