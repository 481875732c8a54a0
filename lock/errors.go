package lock

import "errors"

var (
	// ErrUnsupported is matched by the error of all that is asked of a store which is no [protocol.Locker].
	ErrUnsupported = errors.New("lock: the store has no locks")
	// ErrClosed is returned by what is begun after [Locks.Close], or ended by it.
	ErrClosed = errors.New("lock: closed")
	// ErrOver is returned by [Reentrant.Acquire] with a context from inside a hold that has ended: what runs under it
	// must not go on as if the lock were held, nor take it anew behind its caller's back.
	ErrOver = errors.New("lock: the hold that this context is from has ended")
)
