package scheduler

import (
	"context"
	"sync/atomic"
	"time"
)

// callTimeout bounds calls of the store. Calls that are made at about the same time share a
// context, and with it a timer. One for each is a good part of a call's cost where the store is
// near.
type callTimeout struct {
	limit time.Duration // the most a call may take; one may have up to an eighth less

	shared atomic.Pointer[sharedLimit] // nil before the first call
}

type sharedLimit struct {
	context.Context
	until  time.Time // it is for calls that are made before
	cancel context.CancelFunc
}

func newCallTimeout(limit time.Duration) *callTimeout { return &callTimeout{limit: limit} }

// context returns a context for a call that is made now.
func (l *callTimeout) context(now time.Time) context.Context {
	before := l.shared.Load()
	if before != nil && now.Before(before.until) {
		return before.Context
	}
	// The one before is left to end by itself: some may be using it.
	ctx, cancel := context.WithDeadline(context.Background(), now.Add(l.limit))
	if !l.shared.CompareAndSwap(before, &sharedLimit{Context: ctx, until: now.Add(l.limit / 8), cancel: cancel}) {
		cancel() // somebody else was as quick
		return l.context(now)
	}
	return ctx
}

// close ends the newest context. No call is under way any more.
func (l *callTimeout) close() {
	if last := l.shared.Swap(nil); last != nil {
		last.cancel()
	}
}

// call bounds one call of the store, one of those that are rare.
func (s *Scheduler) call() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), s.calls.limit)
}
