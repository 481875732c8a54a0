package solotest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/solotick/solotick/lease/driver"
)

var (
	errCut  = errors.New("solotest: the replica is cut off from the store")
	errLost = errors.New("solotest: the reply is lost")
)

// link is one replica's way to the store, and whether the replica goes on.
type link struct {
	store driver.Store

	mu     sync.Mutex
	cut    bool
	lose   bool
	killed bool
	thaw   chan struct{} // closed when the replica goes on; nil unless it is frozen
}

func (l *link) set(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
}

// pass waits while the replica is frozen, and reports how the call ends.
func (l *link) pass() (cut, lost bool) {
	for {
		l.mu.Lock()
		cut, lost, thaw := l.cut || l.killed, l.lose, l.thaw
		l.mu.Unlock()
		if thaw == nil {
			return cut, lost
		}
		<-thaw
	}
}

func (l *link) isKilled() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.killed
}

// Do implements driver.Store.
func (l *link) Do(ctx context.Context, ops []driver.Op) []driver.Result {
	cut, lost := l.pass()
	err := context.Cause(ctx)
	var results []driver.Result
	if !cut && err == nil {
		results = l.store.Do(ctx, ops)
	}
	switch after, _ := l.pass(); {
	case cut, after:
		err = errCut
	case lost:
		err = errLost
	}
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
	if cut, _ := l.pass(); cut {
		return nil, "", errCut
	}
	return l.store.Scan(ctx, prefix, cursor, count)
}

// Time implements driver.Store.
func (l *link) Time(ctx context.Context) (now, since time.Time, err error) {
	if cut, lost := l.pass(); cut || lost {
		return now, since, errCut
	}
	return l.store.Time(ctx)
}

// Subscribe implements driver.Store. While the replica is cut off, notifications get lost.
func (l *link) Subscribe(ctx context.Context, notify func(driver.Notification)) error {
	return l.store.Subscribe(ctx, func(n driver.Notification) {
		if l.open() {
			notify(n)
		}
	})
}

func (l *link) open() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.cut && !l.killed && !l.lose && l.thaw == nil
}
