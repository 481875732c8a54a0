package console

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"
)

const (
	// readInterval is how long a reading of the store is shown before the next one. readShare is
	// the part of the time that reads may take, so slow reads are rarer.
	readInterval = time.Second
	readShare    = 5
	// readTimeout bounds one read of the store.
	readTimeout = 10 * time.Second
)

// errClosed is returned by a console that was closed.
var errClosed = errors.New("console: closed")

// background runs what outlives a request, until the console is closed.
type background struct {
	ctx    context.Context //nolint:containedctx // it ends with the console, not with a call
	cancel context.CancelCauseFunc

	mu      sync.Mutex
	running sync.WaitGroup
	closed  bool
}

func newBackground() *background {
	b := new(background)
	b.ctx, b.cancel = context.WithCancelCause(context.Background())
	return b
}

// do runs f in a goroutine of its own, and reports whether it does: not after close.
func (b *background) do(f func(context.Context)) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.running.Go(func() { f(b.ctx) })
	return true
}

// close ends the context of reads that are under way, and waits for them.
func (b *background) close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.cancel(errClosed)
	b.running.Wait()
}

// shared reads a value for any number of callers. One read runs at a time, only for a caller, and a
// value that was read a moment ago is not read again. It is safe for concurrent use.
type shared[T any] struct {
	read  func(context.Context) (T, error)
	in    *background
	every time.Duration // between two reads, at least; 0: readInterval
	share int           // a read may take one part in so many of the time; 0: readShare

	mu      sync.Mutex
	version int           // rises when earlier readings must not be used any more
	pending chan struct{} // is closed when the read that is under way ends; nil while none is
	last    result[T]
	kept    T         // the last value that a read gave
	keptAt  time.Time // and when that began; zero before the first
}

// result is the result of a read.
type result[T any] struct {
	value   T
	err     error
	version int
	began   time.Time
	took    time.Duration
	done    bool // there was a read
}

// freshLocked reports whether no newer read is due.
func (s *shared[T]) freshLocked() bool {
	return s.last.done && s.last.version >= s.version && time.Since(s.last.began) < s.intervalLocked()
}

// intervalLocked is the least time between the last read and the next. A store that does not answer
// has nothing to do.
func (s *shared[T]) intervalLocked() time.Duration {
	if s.last.err != nil {
		return max(cmp.Or(s.every, readInterval), s.last.took)
	}
	return max(cmp.Or(s.every, readInterval), time.Duration(cmp.Or(s.share, readShare))*s.last.took)
}

// get returns the value, as old as [readInterval] at most where reads are fast, or why there is
// none. The read does not end with ctx: others may wait for it.
func (s *shared[T]) get(ctx context.Context) (T, error) {
	for {
		s.mu.Lock()
		if s.freshLocked() {
			defer s.mu.Unlock()
			return s.last.value, s.last.err
		}
		if s.pending == nil && !s.startLocked() {
			defer s.mu.Unlock()
			return s.last.value, errClosed
		}
		pending := s.pending
		s.mu.Unlock()
		select {
		case <-pending:
		case <-ctx.Done():
			var none T
			return none, context.Cause(ctx)
		}
	}
}

// peek returns what the last read gave, without waiting, and begins the next where it is due. known
// is false before the first has ended.
func (s *shared[T]) peek() (value T, known bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pending == nil && !s.freshLocked() {
		s.startLocked()
	}
	return s.last.value, s.last.done, s.last.err
}

// known returns the last value that a read gave, however that came to be the last; none that is
// older than [maxStale].
func (s *shared[T]) known() (value T, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keptAt.IsZero() || time.Since(s.keptAt) > maxStale {
		return value, false
	}
	return s.kept, true
}

func (s *shared[T]) startLocked() bool {
	pending, version := make(chan struct{}), s.version
	ok := s.in.do(func(ctx context.Context) {
		limited, cancel := context.WithTimeout(ctx, readTimeout)
		defer cancel()
		r := result[T]{began: time.Now(), version: version, done: true}
		r.value, r.err = s.read(limited)
		if ctx.Err() != nil {
			r.err = errClosed
		}
		r.took = time.Since(r.began)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.last, s.pending = r, nil
		if r.err == nil {
			s.kept, s.keptAt = r.value, r.began
		}
		close(pending)
	})
	if ok {
		s.pending = pending
	}
	return ok
}

// expire makes the next get read again: something was changed.
func (s *shared[T]) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
}

// next returns how long to wait until a read is due.
func (s *shared[T]) next() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(0, time.Until(s.last.began.Add(s.intervalLocked())))
}
