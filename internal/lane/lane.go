// Package lane sends the requests of concurrent callers in batches.
package lane

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
)

// ErrClosed is matched by the error of calls of a store that was closed.
var ErrClosed = errors.New("the store is closed")

// ErrAgain is returned by [Lane.Send] to be called once more.
var ErrAgain = errors.New("the batch must be sent again")

// Most is how many calls a batch has at most.
const Most = 64

// Lane sends calls in batches. A call that comes while fewer than AtOnce batches are under way is
// sent at once; the others share the next batch. All fields are set before the first call.
type Lane[Q, A any] struct {
	AtOnce int
	// Send carries out a batch and sets the answer of each call, or its error. An error that it
	// returns is that of every call. If it returns [ErrAgain], it is called again with those calls
	// that still have a caller, and with calls that have come since.
	Send func(batch []*Call[Q, A]) error
	// Split sends each call of a failed batch again alone, so that a call that fails holds up no
	// other. A call must bear being sent twice.
	Split bool
	// Fits reports whether a call can join a batch of at least one; nil means that any can.
	Fits func(batch []*Call[Q, A], next *Call[Q, A]) bool
	// Idle is called when a goroutine finds no more calls. Optional.
	Idle func()

	mu      sync.Mutex
	pending []*Call[Q, A]
	running int
	closed  bool
	done    sync.WaitGroup
}

// Call is a request of a caller who waits for the answer.
type Call[Q, A any] struct {
	Request Q
	Answer  A
	Err     error // of this call alone

	ctx  context.Context //nolint:containedctx // of the caller
	done chan struct{}
}

// Ended returns why nobody waits any more, or nil.
func (c *Call[Q, A]) Ended() error { return context.Cause(c.ctx) }

// Do returns the answer to a request. If ctx ends first, it returns the cause.
func (l *Lane[Q, A]) Do(ctx context.Context, request Q) (answer A, err error) {
	if err := context.Cause(ctx); err != nil {
		return answer, err
	}
	c := &Call[Q, A]{Request: request, ctx: ctx, done: make(chan struct{})}
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return answer, ErrClosed
	}
	l.pending = append(l.pending, c)
	if l.running < l.AtOnce {
		l.running++
		l.done.Go(l.run)
	}
	l.mu.Unlock()
	select {
	case <-c.done:
		return c.Answer, c.Err
	case <-ctx.Done():
		l.mu.Lock()
		l.pending = slices.DeleteFunc(l.pending, func(other *Call[Q, A]) bool { return other == c })
		l.mu.Unlock()
		return answer, context.Cause(ctx)
	}
}

// Close refuses further calls and returns when the others are answered.
func (l *Lane[Q, A]) Close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.done.Wait()
}

// run sends batches until no call is pending.
func (l *Lane[Q, A]) run() {
	for batch := l.next(nil); len(batch) > 0; batch = l.next(batch) {
		err := l.Send(batch)
		if errors.Is(err, ErrAgain) {
			continue
		}
		for _, c := range batch {
			switch {
			case err == nil:
			case l.Split && len(batch) > 1:
				l.alone(c)
			default:
				c.Err = err
			}
			close(c.done)
		}
		batch = nil
	}
	if l.Idle != nil {
		l.Idle()
	}
}

// alone sends one call of a batch that failed.
func (l *Lane[Q, A]) alone(c *Call[Q, A]) {
	for again := true; again; {
		if c.Err = c.Ended(); c.Err != nil {
			return
		}
		err := l.Send([]*Call[Q, A]{c})
		if again = errors.Is(err, ErrAgain); err != nil {
			c.Err = err
		}
	}
}

// next fills up a batch with pending calls. It drops calls that nobody waits for any more, which
// would be carried out late. If the batch is empty, the goroutine ends.
func (l *Lane[Q, A]) next(batch []*Call[Q, A]) []*Call[Q, A] {
	runtime.Gosched() // callers who were woken at the same instant queue first
	l.mu.Lock()
	defer l.mu.Unlock()
	batch = slices.DeleteFunc(batch, func(c *Call[Q, A]) bool { return c.Ended() != nil })
	l.pending = slices.DeleteFunc(l.pending, func(c *Call[Q, A]) bool {
		if c.Ended() != nil {
			return true
		}
		if len(batch) == Most || len(batch) > 0 && l.Fits != nil && !l.Fits(batch, c) {
			return false
		}
		batch = append(batch, c)
		return true
	})
	if len(batch) == 0 {
		l.running--
	}
	return batch
}
