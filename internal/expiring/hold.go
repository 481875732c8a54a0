// Package expiring makes a lock that ends after a time unless it is extended, as the locks of other
// libraries do. It makes it of one that is renewed until it is released.
package expiring

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/solotick/solotick/lock"
)

// Hold is a lock that is held for a time. It is safe for concurrent use.
type Hold struct {
	inner *lock.Hold

	mu    sync.Mutex
	end   time.Time // of the hold, unless it is extended; zero: it is renewed until it is released
	timer *time.Timer
	over  bool // it was released, or has expired
}

// TryAcquire claims once. A ttl of 0 renews the hold until it is released. ctx limits the claim
// only: unlike that of package lock, the hold outlives it.
func TryAcquire(ctx context.Context, l lock.Lock, ttl time.Duration) (*Hold, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	claim, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	began := time.Now()
	inner, err := l.TryAcquire(claim)
	if err != nil {
		stop()
		cancel(nil)
		return nil, err
	}
	if !stop() {
		return nil, errors.Join(context.Cause(ctx), inner.Release(context.WithoutCancel(ctx)))
	}
	h := &Hold{inner: inner}
	context.AfterFunc(inner.Context(), func() { cancel(nil) })
	if ttl > 0 {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.end = began.Add(ttl)
		h.timer = time.AfterFunc(time.Until(h.end), h.expire)
	}
	return h, nil
}

// expire releases a hold that nobody has extended.
func (h *Hold) expire() {
	h.mu.Lock()
	if ahead := time.Until(h.end); ahead > 0 && !h.over { // it was extended meanwhile
		h.timer.Reset(ahead)
		h.mu.Unlock()
		return
	}
	h.over = true
	h.mu.Unlock()
	_ = h.inner.Release(context.Background()) // it runs out in the store, otherwise
}

// Extend makes the hold last for ttl from now, and reports whether it was held.
func (h *Hold) Extend(ttl time.Duration) (held bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.validLocked() {
		return false
	}
	if !h.end.IsZero() {
		h.end = time.Now().Add(ttl)
		h.timer.Reset(ttl)
	}
	return true
}

// Until is when the hold ends unless it is extended, and the zero time when it is not held. A hold
// that is renewed ends, for all that is known, at the deadline of its last renewal.
func (h *Hold) Until() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case !h.validLocked():
		return time.Time{}
	case h.end.IsZero():
		return h.inner.Deadline()
	}
	return h.end
}

// Held reports whether the lock is held.
func (h *Hold) Held() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.validLocked()
}

func (h *Hold) validLocked() bool {
	return !h.over && h.inner.Valid() && (h.end.IsZero() || time.Now().Before(h.end))
}

// Release releases the lock. held is false when it was not held any more.
func (h *Hold) Release(ctx context.Context) (held bool, err error) {
	h.mu.Lock()
	held = h.validLocked()
	h.over = true
	if h.timer != nil {
		h.timer.Stop()
	}
	h.mu.Unlock()
	err = h.inner.Release(ctx)
	if !held {
		return false, nil // the end of the hold is its own reason
	}
	return err == nil, err
}

// Context ends when the hold does.
func (h *Hold) Context() context.Context { return h.inner.Context() }

// Token is the fencing token.
func (h *Hold) Token() int64 { return h.inner.Token() }

// Refresh calls refresh at each third of a TTL until held ends, as another library's lock needs it
// that is held beside ours. A call may take a third, and is not repeated when it fails. The channel
// is closed when there are no more calls.
func Refresh(held context.Context, ttl time.Duration, refresh func(ctx context.Context)) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-time.After(ttl / 3):
			case <-held.Done():
				return
			}
			ctx, cancel := context.WithTimeout(held, ttl/3)
			refresh(ctx)
			cancel()
		}
	}()
	return done
}
