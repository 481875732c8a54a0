package lock

import "errors"

var (
	// ErrUnsupported matches the error of every call on a store that has no locks.
	ErrUnsupported = errors.New("lock: the store has no locks")
	// ErrClosed is returned by calls after [Locks.Close], and by calls that it ends.
	ErrClosed = errors.New("lock: closed")
	// ErrOver is returned by [Reentrant.Acquire] with a context of a hold that has ended. Code
	// under that context must not continue as if the lock were held, nor acquire it again.
	ErrOver = errors.New("lock: the hold that this context is from has ended")
)
