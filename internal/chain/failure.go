package chain

import (
	"errors"
	"reflect"
	"sync/atomic"
	"time"
)

// failure stands for a handler's error and is safe to use anywhere. An error is code of the
// handler's author. Its methods may panic, as those of a typed nil pointer do, block forever, or
// call runtime.Goexit. Outside of the run they would end the process or hold the tick's lease.
//
// The text is read once, when the handler returns. errors.Is and errors.As look into the handler's
// error, within limits. A panic or runtime.Goexit counts as no match, and so does an answer that
// takes longer than a second. After that, and when the text could not be read, nothing matches any
// more. A method that never returns leaves its goroutine behind, and nothing can contain a fatal
// error of the runtime, such as an overflow of the stack.
//
// It is safe for concurrent use.
type failure struct {
	text   string
	err    error       // the handler's
	broken atomic.Bool // a method of err did not return: it is not called again
}

const (
	methodTimeout  = time.Second // how long a method of a handler's error may take
	maxFailureText = 64 << 10    // bytes; the middle of a longer text is left out

	unreadable = "the handler failed, and the text of its error is not available: its Error method panicked or did not return"
)

// safe makes err safe to use. It is nil when err is.
func safe(err error) error {
	if err == nil {
		return nil
	}
	if f, ok := err.(*failure); ok && f != nil { //nolint:errorlint // errors.As would call methods of err
		return f
	}
	f := &failure{err: err, text: unreadable}
	if text, ok := contained(err.Error); ok {
		f.text = shortened(text)
	} else {
		f.broken.Store(true)
	}
	return f
}

// Error returns what the Error method of the handler's error returned. Of more than 64 KiB the
// middle is left out.
func (f *failure) Error() string { return f.text }

// Is reports whether the handler's error matches target, for errors.Is.
func (f *failure) Is(target error) bool {
	if f.broken.Load() {
		return false
	}
	is, ok := contained(func() bool { return errors.Is(f.err, target) })
	if !ok {
		f.broken.Store(true)
	}
	return is
}

// As sets target to the first error in the handler's that is of its type, for errors.As.
func (f *failure) As(target any) bool {
	if f.broken.Load() {
		return false
	}
	// An answer that comes too late must not write to the caller's variable.
	into := reflect.ValueOf(target).Elem()
	found := reflect.New(into.Type())
	as, ok := contained(func() bool { return errors.As(f.err, found.Interface()) })
	if !ok {
		f.broken.Store(true)
	}
	if as {
		into.Set(found.Elem())
	}
	return as
}

// retryAfter returns the wait that the handler's error asks for; 0 when it asks for none.
func (f *failure) retryAfter() time.Duration {
	if f.broken.Load() {
		return 0
	}
	type asking interface {
		error
		RetryAfter() time.Duration
	}
	wait, ok := contained(func() time.Duration {
		if asks, ok := errors.AsType[asking](f.err); ok {
			return asks.RetryAfter()
		}
		return 0
	})
	if !ok {
		f.broken.Store(true)
	}
	return wait
}

// contained calls f on a goroutine of its own and returns what it returns. ok is false, with the
// zero value, when f panicked, ended its goroutine or did not return within methodTimeout.
func contained[T any](f func() T) (result T, ok bool) {
	results := make(chan T, 1)
	go func() {
		defer close(results)
		defer func() { _ = recover() }()
		results <- f()
	}()
	timeout := time.NewTimer(methodTimeout)
	defer timeout.Stop()
	select {
	case result, ok = <-results:
	case <-timeout.C:
	}
	return result, ok
}

// shortened leaves out the middle of a text that is too long. The beginning names the failure, and
// the end is often the last output of a command.
func shortened(text string) string {
	if len(text) <= maxFailureText {
		return text
	}
	const cut, head = "\n[...]\n", 8 << 10
	return text[:head] + cut + text[len(text)-(maxFailureText-head-len(cut)):]
}
