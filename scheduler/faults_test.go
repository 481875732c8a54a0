package scheduler_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

// The verbs of a store, as faults name them.
const (
	verbClaim   = "claim"
	verbRenew   = "renew"
	verbSettle  = "settle"
	verbRelease = "release"
	verbPoint   = "checkpoint" // writes and reads them
	verbPass    = "pass"
	verbSync    = "sync"
	verbDue     = "due"
	verbTime    = "time"
	verbWake    = "wake" // the notifications of Watch
	verbPublish = "publish"
	verbReceive = "receive" // what Subscribe receives
	verbLock    = "lock"    // claims, renewals and releases of locks
)

// fault decides how one call ends. The zero fault is none.
type fault struct {
	cut  bool          // it does not reach the store, and fails at once
	hang bool          // it does not reach the store, and its caller waits until its context ends, or a second
	lost bool          // the store does it, and the caller gets an error
	slow time.Duration // it takes so long there, and so long back; the store does it even if the caller has given up

	there, back time.Duration // and so much longer there, or back
}

var (
	errCut  = errors.New("the link is cut")
	errLost = errors.New("the reply is lost")
)

// link is one replica's way to the store.
type link struct {
	protocol.Store // calls that have no method here pass without a fault

	calls sync.WaitGroup // those under way whose caller may have given up

	mu       sync.Mutex
	fault    func(call) fault
	answered time.Time                                  // when the newest of the answered calls was made
	claims   func(c protocol.Claim, answered time.Time) // see onClaim
}

// call holds the values that a fault can depend on.
type call struct {
	verb string
	tick int64 // of a claim
}

// set calls f for each call from now on. A nil f removes all faults.
func (l *link) set(f func(call) fault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fault = f
}

// onClaim calls f with each claim from now on, and when the newest of the answered calls was made.
func (l *link) onClaim(f func(c protocol.Claim, answered time.Time)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.claims = f
}

func (l *link) heal() { l.set(nil) }
func (l *link) cut()  { l.set(func(call) fault { return fault{cut: true} }) }
func (l *link) hang() { l.set(func(call) fault { return fault{hang: true} }) }

// loseReplies loses the reply to every n-th call of a verb.
func (l *link) loseReplies(n int, verb string) {
	calls := 0
	l.set(func(c call) fault {
		if c.verb != verb {
			return fault{}
		}
		calls++
		return fault{lost: calls%n == 0}
	})
}

func (l *link) next(c call) fault {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fault == nil {
		return fault{}
	}
	return l.fault(c)
}

// through makes a call that returns T, under the fault that is due.
func through[T any](ctx context.Context, l *link, c call, apply func(context.Context) (T, error)) (T, error) {
	var none T
	f := l.next(c)
	switch {
	case f.cut:
		return none, errCut
	case f.hang:
		ctx, cancel := context.WithTimeout(ctx, time.Second) // a client has a limit of its own
		defer cancel()
		<-ctx.Done()
		return none, context.Cause(ctx)
	case f.slow+f.there+f.back > 0:
		type result struct {
			value T
			err   error
		}
		done := make(chan result, 1)
		l.calls.Go(func() {
			time.Sleep(f.slow + f.there)
			value, err := apply(context.WithoutCancel(ctx))
			time.Sleep(f.slow + f.back)
			done <- result{value, err}
		})
		select {
		case r := <-done:
			if !f.lost {
				return r.value, r.err
			}
		case <-ctx.Done():
			return none, context.Cause(ctx)
		}
	default:
		began := time.Now()
		value, err := apply(ctx)
		if !f.lost {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.answered = began
			return value, err
		}
	}
	return none, errLost
}

func (l *link) Claim(ctx context.Context, c protocol.Claim) (protocol.Answer, error) {
	l.mu.Lock()
	if l.claims != nil {
		l.claims(c, l.answered)
	}
	l.mu.Unlock()
	return through(ctx, l, call{verbClaim, c.Tick}, func(ctx context.Context) (protocol.Answer, error) { return l.Store.Claim(ctx, c) })
}

func (l *link) Renew(ctx context.Context, grants []protocol.Grant) []error {
	grants = slices.Clone(grants)
	answers, err := through(ctx, l, call{verb: verbRenew}, func(ctx context.Context) ([]error, error) { return l.Store.Renew(ctx, grants), nil })
	if err != nil {
		return slices.Repeat([]error{err}, len(grants))
	}
	return answers
}

func (l *link) Settle(ctx context.Context, g protocol.Grant, outcome protocol.Outcome) error {
	_, err := through(ctx, l, call{verb: verbSettle}, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, l.Store.Settle(ctx, g, outcome)
	})
	return err
}

func (l *link) Release(ctx context.Context, g protocol.Grant) error {
	_, err := through(ctx, l, call{verb: verbRelease}, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, l.Store.Release(ctx, g)
	})
	return err
}

func (l *link) Checkpoint(ctx context.Context, list []protocol.Checkpoint) []error {
	list = slices.Clone(list)
	answers, err := through(ctx, l, call{verb: verbPoint}, func(ctx context.Context) ([]error, error) { return l.Store.Checkpoint(ctx, list), nil })
	if err != nil {
		return slices.Repeat([]error{err}, len(list))
	}
	return answers
}

func (l *link) Checkpoints(ctx context.Context, name string) ([]protocol.Checkpoint, error) {
	return through(ctx, l, call{verb: verbPoint}, func(ctx context.Context) ([]protocol.Checkpoint, error) { return l.Store.Checkpoints(ctx, name) })
}

func (l *link) Skip(ctx context.Context, p protocol.Skip) (int64, bool, error) {
	type moved struct {
		watermark int64
		passed    bool
	}
	m, err := through(ctx, l, call{verb: verbPass}, func(ctx context.Context) (moved, error) {
		watermark, passed, err := l.Store.Skip(ctx, p)
		return moved{watermark, passed}, err
	})
	return m.watermark, m.passed, err
}

func (l *link) Sync(ctx context.Context, syncs []protocol.Sync) ([]protocol.Record, error) {
	syncs = slices.Clone(syncs)
	return through(ctx, l, call{verb: verbSync}, func(ctx context.Context) ([]protocol.Record, error) { return l.Store.Sync(ctx, syncs) })
}

func (l *link) DueSchedules(ctx context.Context, job string, shares []int, until time.Time, count int) ([]protocol.DueName, error) {
	return through(ctx, l, call{verb: verbDue}, func(ctx context.Context) ([]protocol.DueName, error) {
		return l.Store.DueSchedules(ctx, job, shares, until, count)
	})
}

func (l *link) GetSchedules(ctx context.Context, names []string) ([]protocol.Keyed, error) {
	return through(ctx, l, call{verb: verbSync}, func(ctx context.Context) ([]protocol.Keyed, error) { return l.Store.GetSchedules(ctx, names) })
}

func (l *link) PlanSchedule(ctx context.Context, p protocol.Plan) error {
	_, err := through(ctx, l, call{verb: verbPass}, func(ctx context.Context) (struct{}, error) { return struct{}{}, l.Store.PlanSchedule(ctx, p) })
	return err
}

func (l *link) WithdrawSchedule(ctx context.Context, w protocol.Withdraw) (bool, error) {
	return through(ctx, l, call{verb: verbPass}, func(ctx context.Context) (bool, error) { return l.Store.WithdrawSchedule(ctx, w) })
}

func (l *link) ClaimLock(ctx context.Context, c protocol.LockClaim) (protocol.LockAnswer, error) {
	return through(ctx, l, call{verb: verbLock}, func(ctx context.Context) (protocol.LockAnswer, error) { return l.Store.ClaimLock(ctx, c) })
}

func (l *link) RenewLocks(ctx context.Context, grants []protocol.LockGrant) []error {
	answers, err := through(ctx, l, call{verb: verbLock}, func(ctx context.Context) ([]error, error) { return l.Store.RenewLocks(ctx, grants), nil })
	if err != nil {
		return slices.Repeat([]error{err}, len(grants))
	}
	return answers
}

func (l *link) ReleaseLock(ctx context.Context, g protocol.LockGrant) error {
	_, err := through(ctx, l, call{verb: verbLock}, func(ctx context.Context) (struct{}, error) { return struct{}{}, l.Store.ReleaseLock(ctx, g) })
	return err
}

func (l *link) Time(ctx context.Context) (now, since time.Time, err error) {
	times, err := through(ctx, l, call{verb: verbTime}, func(ctx context.Context) ([2]time.Time, error) {
		now, since, err := l.Store.Time(ctx)
		return [2]time.Time{now, since}, err
	})
	return times[0], times[1], err
}

func (l *link) Watch(ctx context.Context, wake func(name string, tick int64)) error {
	return l.Store.Watch(ctx, func(name string, tick int64) {
		if l.next(call{verb: verbWake}) == (fault{}) {
			wake(name, tick)
		}
	})
}

func (l *link) Publish(ctx context.Context, message []byte) error {
	message = slices.Clone(message)
	_, err := through(ctx, l, call{verb: verbPublish}, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, l.Store.Publish(ctx, message)
	})
	return err
}

func (l *link) PublishTo(ctx context.Context, letters []protocol.Letter) (sent bool, err error) {
	letters = slices.Clone(letters)
	return through(ctx, l, call{verb: verbPublish}, func(ctx context.Context) (bool, error) { return l.Store.PublishTo(ctx, letters) })
}

func (l *link) Subscribe(ctx context.Context, receive func(message []byte), names ...string) error {
	return l.Store.Subscribe(ctx, func(message []byte) {
		if l.next(call{verb: verbReceive}) == (fault{}) {
			receive(message)
		}
	}, names...)
}
