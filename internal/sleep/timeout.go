package sleep

import (
	"context"
	"sync/atomic"
	"time"
)

// Timeout bounds calls of the store. Calls that start at about the same time share a context and
// its timer: a timer for each call would be a good part of its cost if the store is near.
type Timeout struct {
	Limit time.Duration // the most a call may take; one may have up to an eighth less

	shared atomic.Pointer[sharedLimit] // nil before the first call
}

type sharedLimit struct {
	context.Context
	until  time.Time // it is for calls that are made before
	cancel context.CancelFunc
}

// NewTimeout returns a Timeout for calls that may take that long.
func NewTimeout(limit time.Duration) *Timeout { return &Timeout{Limit: limit} }

// Context returns the context of a call that starts now.
func (l *Timeout) Context(now time.Time) context.Context {
	before := l.shared.Load()
	if before != nil && now.Before(before.until) {
		return before.Context
	}
	// The one before is left to end by itself: some may be using it.
	ctx, cancel := context.WithDeadline(context.Background(), now.Add(l.Limit))
	if !l.shared.CompareAndSwap(before, &sharedLimit{Context: ctx, until: now.Add(l.Limit / 8), cancel: cancel}) {
		cancel() // somebody else was as quick
		return l.Context(now)
	}
	return ctx
}

// Close cancels the newest context. No call may be under way.
func (l *Timeout) Close() {
	if last := l.shared.Swap(nil); last != nil {
		last.cancel()
	}
}
