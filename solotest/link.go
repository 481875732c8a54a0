package solotest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/solotick/solotick/lease/driver"
)

var (
	errCut  = errors.New("solotest: the store cannot be reached")
	errLost = errors.New("solotest: the reply is lost")
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

// fail puts the store into a condition. When it works again, each link is refused for so much
// longer as reconnect returns.
func (s *server) fail(c condition, reconnect func() time.Duration) {
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
			back := time.Now().Add(reconnect())
			l.set(func() { l.back = back })
		}
	}
	s.state = c
}

func (s *server) now() (state condition, thaw, gone <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state, s.thaw, s.gone
}

// link is one replica's way to the store, and whether the replica goes on.
type link struct {
	server *server
	store  *driver.Memory
	seed   uint64

	mu     sync.Mutex
	state  condition // works, refuses or drops
	killed bool
	back   time.Time      // connections are refused until then
	lost   float64        // the part of replies that get lost
	slow   time.Duration  // at most, there and back
	part   float64        // of requests that are slow
	tossed map[string]int // at the present moment, by request
	at     time.Time
	frozen chan struct{} // closed when the replica goes on; nil unless it is frozen
}

func newLink(s *server, store *driver.Memory, seed uint64) *link {
	l := &link{server: s, store: store, seed: seed}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.links = append(s.links, l)
	return l
}

func (l *link) set(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
}

func (l *link) heal() { l.set(func() { l.state, l.lost, l.slow = works, 0, 0 }) }

func (l *link) freeze() {
	l.set(func() {
		if l.frozen == nil {
			l.frozen = make(chan struct{})
		}
	})
}

func (l *link) goOn() {
	l.set(func() {
		if l.frozen != nil {
			close(l.frozen)
			l.frozen = nil
		}
	})
}

func (l *link) isKilled() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.killed
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

// luck is what a request meets.
type luck struct {
	there, back time.Duration // its delay, and that of its reply
	lost        bool          // the reply
	late        bool          // it is carried out though its caller gave up
}

// toss draws the luck of a request. It depends on the link, the moment and the request, not on
// those before it: so the order of goroutines does not matter.
func (l *link) toss(what string) (t luck) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); !now.Equal(l.at) {
		l.at, l.tossed = now, map[string]int{}
	}
	l.tossed[what]++
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, l.at.UnixNano(), what, l.tossed[what])
	draw := rand.New(rand.NewPCG(l.seed, h.Sum64()))
	t.lost, t.late = draw.Float64() < l.lost, draw.IntN(2) == 0
	if l.slow > 0 && draw.Float64() < l.part {
		t.there, t.back = time.Duration(draw.Int64N(int64(l.slow)+1)), time.Duration(draw.Int64N(int64(l.slow)+1))
	}
	return t
}

// reach returns the condition of the whole way, and what ends a freeze of the store.
func (l *link) reach() (state condition, thaw, gone <-chan struct{}) {
	state, thaw, gone = l.server.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.killed, l.state == works && time.Now().Before(l.back):
		return refuses, nil, gone
	case l.state != works:
		return l.state, nil, gone
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
func (l *link) through(ctx context.Context, what string, do func()) error {
	l.awaitThaw()
	luck := l.toss(what)
	if err := context.Cause(ctx); err != nil {
		return err
	}
	began := time.Now()
	if err := wait(ctx, luck.there); err != nil {
		if luck.late {
			time.AfterFunc(time.Until(began.Add(luck.there)), do)
		}
		return err
	}
	state, thaw, gone := l.reach()
	switch state {
	case refuses:
		return errCut
	case drops:
		return cmp.Or(wait(ctx, time.Minute), errLost)
	case freezes:
		select {
		case <-thaw:
		case <-ctx.Done():
			if luck.late {
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
	err := wait(ctx, luck.back)
	l.awaitThaw()
	select {
	case <-gone:
		return errLost
	default:
	}
	switch state, _, _ := l.reach(); {
	case state == refuses:
		return errCut
	case luck.lost, state == drops:
		return errLost
	}
	return cmp.Or(err, context.Cause(ctx))
}

// Do implements driver.Store.
func (l *link) Do(ctx context.Context, ops []driver.Op) []driver.Result {
	var results []driver.Result
	what := ""
	if len(ops) > 0 {
		what = fmt.Sprint(ops[0].Key, ops[0].Change != nil)
	}
	ops = slices.Clone(ops)
	err := l.through(ctx, what, func() { results = l.store.Do(context.Background(), ops) })
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
func (l *link) Scan(ctx context.Context, prefix, cursor string, count int) ([]string, string, error) {
	var keys []string
	var next string
	var fault error
	if err := l.through(ctx, "", func() { keys, next, fault = l.store.Scan(context.Background(), prefix, cursor, count) }); err != nil {
		return nil, "", err
	}
	return keys, next, fault
}

// Due implements driver.Index.
func (l *link) Due(ctx context.Context, job string, shares []int, until time.Time, count int) ([]driver.DueKey, error) {
	var keys []driver.DueKey
	var fault error
	if err := l.through(ctx, "", func() { keys, fault = l.store.Due(context.Background(), job, shares, until, count) }); err != nil {
		return nil, err
	}
	return keys, fault
}

// Time implements driver.Store.
func (l *link) Time(ctx context.Context) (time.Time, time.Time, error) {
	var now, since time.Time
	var fault error
	if err := l.through(ctx, "", func() { now, since, fault = l.store.Time(context.Background()) }); err != nil {
		return time.Time{}, time.Time{}, err
	}
	return now, since, fault
}

// Subscribe implements driver.Store, until ctx ends or the connection breaks. Notifications that do
// not get through are lost.
func (l *link) Subscribe(ctx context.Context, notify func(driver.Notification)) error {
	l.awaitThaw()
	state, _, gone := l.reach()
	if state != works {
		return errCut
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-gone:
			cancel(errLost)
		case <-ctx.Done():
		}
	}()
	return l.store.Subscribe(ctx, func(n driver.Notification) {
		if l.delivers(n.Name + string(n.Message)) {
			notify(n)
		}
	})
}

// delivers reports whether a notification gets through.
func (l *link) delivers(what string) bool {
	state, _, _ := l.reach()
	lost := l.toss(what).lost
	l.mu.Lock()
	defer l.mu.Unlock()
	return state == works && l.frozen == nil && !lost
}
