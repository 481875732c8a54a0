package chain

import (
	"context"
	"runtime/debug"

	"github.com/solotick/solotick/jobs"
)

// Recover turns a panic of the handler into a [*jobs.PanicError], and runtime.Goexit into
// [jobs.ErrGoexit]. Every error that it returns is safe to use: see failure.
//
// Nothing can stop a goroutine that has called runtime.Goexit from ending. So the handler gets a
// goroutine of its own, which Recover waits for. Otherwise such a handler would end its caller too,
// and its tick would stay held, neither running nor settled. A panic on a further goroutine, one
// that the handler starts, still ends the process.
func Recover(next jobs.Handler) jobs.Handler {
	return func(ctx context.Context, run jobs.Run) error {
		result := make(chan error, 1)
		go call(ctx, run, next, func(err error) { result <- err })
		return safe(<-result)
	}
}

// recoverThen is the chain of a job without timeout and retry, for [NewThen].
func recoverThen(handler jobs.Handler) func(context.Context, jobs.Run, func(error)) {
	return func(ctx context.Context, run jobs.Run, then func(error)) {
		call(jobs.NewContext(ctx, run), run, handler, func(err error) { then(safe(err)) })
	}
}

// call calls handler, and then with its error or with what it did instead of returning.
func call(ctx context.Context, run jobs.Run, handler jobs.Handler, then func(error)) {
	err := jobs.ErrGoexit // stays unless the handler returns or panics
	defer func() { then(err) }()
	defer func() {
		if value := recover(); value != nil {
			err = &jobs.PanicError{Value: value, Stack: debug.Stack()}
		}
	}()
	err = handler(ctx, run)
}
