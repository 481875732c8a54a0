package lock

import "errors"

var (
	// ErrClosed is returned by calls after [Locks.Close], and by calls that it ends.
	ErrClosed = errors.New("lock: closed")
	// ErrOver is returned by [Reentrant.Acquire] with a context of a hold that has ended. Code
	// under that context must not continue as if the lock were held, nor acquire it again.
	ErrOver = errors.New("lock: the hold that this context is from has ended")
)
