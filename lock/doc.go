// Package lock has locks for a whole fleet. They are mutexes, fair or not, re-entrant ones,
// read-write locks, semaphores, several locks at once, and one of many by key. A holder has a lease
// with a fencing token.
//
//	locks := lock.New(store)
//	defer locks.Close()
//	hold, err := locks.Mutex("stock", lock.WithFairness()).Acquire(ctx) // waits in the queue
//	if err != nil { ... }
//	defer hold.Release(ctx)
//	work(hold.Context(), hold.Token()) // the context ends when the lock is lost
//
// A holder that freezes can write after its lease has expired: let the written resource refuse old
// tokens, with package fence. Callers that take two locks in different orders can wait for each
// other for ever: take them together, with [Locks.Multi].
//
// docs/locks.md says which lock is for what, what each costs, and what happens on failures.
package lock
