package lock_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease/memlease"
)

var errDown = errors.New("the store is down")

// link is between a process and the store that it shares with others, and can break.
type link struct {
	*memlease.Store

	claims, renewals, releases, listens atomic.Int64

	mu                          sync.Mutex
	claim, renew, release, look fault
	deaf                        func(name string, requests []string) bool // messages that it does not deliver
	listen                      error                                     // what Listen fails with
	listening                   map[int]context.CancelFunc
	wake                        func(name string, requests []string)
	listeners                   int
	late                        time.Duration // of messages
}

// fault stands between a caller and do, which makes the call. The caller gets the error of the
// fault.
type fault func(ctx context.Context, do func() error) error

func (f fault) call(ctx context.Context, do func() error) error {
	if f == nil {
		return do()
	}
	return f(ctx, do)
}

func (l *link) set(change func(*link)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(l)
}

// cut takes the store away, or brings it back.
func (l *link) cut(f fault) { l.set(func(l *link) { l.claim, l.renew, l.release = f, f, f }) }

func (l *link) faultOf(which func(*link) fault) fault {
	l.mu.Lock()
	defer l.mu.Unlock()
	return which(l)
}

func (l *link) ClaimLock(ctx context.Context, c protocol.LockClaim) (a protocol.LockAnswer, err error) {
	l.claims.Add(1)
	err = l.faultOf(func(l *link) fault { return l.claim }).call(ctx, func() (err error) {
		a, err = l.Store.ClaimLock(context.WithoutCancel(ctx), c)
		return err
	})
	if err != nil {
		return protocol.LockAnswer{}, err
	}
	return a, nil
}

func (l *link) RenewLocks(ctx context.Context, grants []protocol.LockGrant) []error {
	l.renewals.Add(int64(len(grants)))
	answers := make([]error, len(grants))
	err := l.faultOf(func(l *link) fault { return l.renew }).call(ctx, func() error {
		copy(answers, l.Store.RenewLocks(context.WithoutCancel(ctx), grants))
		return nil
	})
	for i := range answers {
		if err != nil {
			answers[i] = err
		}
	}
	return answers
}

func (l *link) ReleaseLock(ctx context.Context, g protocol.LockGrant) error {
	l.releases.Add(1)
	return l.faultOf(func(l *link) fault { return l.release }).call(ctx, func() error {
		return l.Store.ReleaseLock(context.WithoutCancel(ctx), g)
	})
}

func (l *link) Lock(ctx context.Context, name string) (v protocol.Lock, err error) {
	err = l.faultOf(func(l *link) fault { return l.look }).call(ctx, func() (err error) {
		v, err = l.Store.Lock(ctx, name)
		return err
	})
	return v, err
}

func (l *link) Listen(ctx context.Context, wake func(name string, requests []string)) error {
	l.listens.Add(1)
	l.mu.Lock()
	l.wake = wake
	err := l.listen
	l.mu.Unlock()
	if err != nil {
		return err
	}
	ctx, hangUp := context.WithCancelCause(ctx)
	defer hangUp(nil)
	defer l.hungUp(func() { hangUp(errDown) })()
	return l.Store.Listen(ctx, func(name string, requests []string) {
		l.mu.Lock()
		deaf, late := l.deaf, l.late
		l.mu.Unlock()
		switch {
		case deaf != nil && deaf(name, requests):
		case late > 0:
			time.AfterFunc(late, func() { wake(name, requests) })
		default:
			wake(name, requests)
		}
	})
}

// wakes returns what its messages are given to.
func (l *link) wakes() func(name string, requests []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.wake
}

// hungUp lets hangUp end subscriptions.
func (l *link) hungUp(f func()) (stop func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.listening == nil {
		l.listening = make(map[int]context.CancelFunc)
	}
	l.listeners++
	id := l.listeners
	l.listening[id] = f
	return func() { l.set(func(l *link) { delete(l.listening, id) }) }
}

// hangUp ends the subscription; new ones fail with err.
func (l *link) hangUp(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.listen = err
	for _, f := range l.listening {
		f()
	}
}

// names are the messages that are not those by which a subscription begins.
func names(name string, _ []string) bool { return name != "" }

func fails(context.Context, func() error) error { return errDown }

func hangs(ctx context.Context, _ func() error) error { <-ctx.Done(); return context.Cause(ctx) }

// losesTheReply makes the call, and does not return until the caller has given up.
func losesTheReply(ctx context.Context, do func() error) error {
	_ = do()
	<-ctx.Done()
	return context.Cause(ctx)
}

// failsAfterwards makes the call, and then returns an error as if it had not.
func failsAfterwards(_ context.Context, do func() error) error {
	_ = do()
	return errDown
}

// firstThen is f for n calls and g after them.
func firstThen(n int64, f, g fault) fault {
	var calls atomic.Int64
	return func(ctx context.Context, do func() error) error {
		if calls.Add(1) <= n {
			return f.call(ctx, do)
		}
		return g.call(ctx, do)
	}
}
