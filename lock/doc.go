// Package lock has locks for a whole fleet: mutexes, fair or not, re-entrant ones, read-write
// locks, semaphores, several locks at once, and one of many by key. A holder has a lease with a
// fencing token.
//
//	locks := lock.New(store)
//	defer locks.Close()
//	hold, err := locks.Mutex("stock", lock.WithFairness()).Acquire(ctx) // waits in the queue
//	if err != nil { ... }
//	defer hold.Release(ctx)
//	work(hold.Context(), hold.Token()) // the context ends when the lock is lost
//
// # The common model
//
// The store has one kind of lock: a number of permits that can be held at once. A mutex is one of
// one, a semaphore one of n, a reader one of very many, and a writer all of them. They differ in
// the order in which waiters are granted: see [protocol.Order].
//
// # The states of an acquisition
//
//	           Claim: granted
//	claiming ───────────────────────────────────────────▶ held ──▶ released, or lost
//	  │                                                     ▲
//	  │ Claim: held                    Claim: granted       │
//	  └────────────▶ waiting ───────────────────────────────┘
//	                   │  ▲
//	                   │  │ notified; or a third of the waiter's TTL has passed; or the holder's lease has
//	                   │  │ expired: Claim again, which keeps the position in the queue
//	                   │  └──┐
//	                   ├─────┘
//	                   └────────▶ given up: the context has ended, or the wait timeout has passed
//
// # Failures
//
//	event                                what the waiter does             what others see
//	the lock is released                 is notified, and claims          no other waiter is notified, if it takes
//	                                                                      all permits
//	the notification is lost             claims after a third of its      the lock is free until then
//	                                     TTL
//	it has no subscription               claims repeatedly, with growing  the same
//	                                     pauses up to that third
//	the holder dies                      claims when its lease expires    -
//	the waiter dies, or freezes          -                                its TTL ends: that is how long it
//	                                                                      delays the waiters behind it
//	the waiter gives up                  leaves the queue                 the next waiter is notified
//	the reply to a claim is lost         claims again: the same grant     nothing: the lock is held
//	the reply is lost as it gives up     releases what it may hold        nothing: the lock is free
//	the store does not answer            retries, reports ClaimFailed,    nothing
//	                                     and keeps its position if that
//	                                     was shorter than a third of its
//	                                     TTL
//	the store refuses for good: a        gives up: protocol.ErrPermanent  its TTL ends
//	permission is missing, a key has
//	another type
//	the store loses its data             claims again: all waiters are    holders are recorded again with their
//	                                     at the end of the queue          next renewal
//	the grant is revoked                 -                                the next waiter is notified; the holder
//	                                                                      too, and its context ends at once, or
//	                                                                      else at the next renewal
//	Close                                leaves the queue                 as if its holders had died
//
// # Costs
//
// A free lock takes one round trip to acquire and one to release. Of the waiters of one process for
// the same lock, only as many are in the queue as can hold the lock together, and at most 16: ten
// thousand cost little more than one. With fairness each waiter has a position of its own, and claims
// three times per TTL: long queues need long TTLs. Each process has one subscription.
//
// # Caveats
//
// A holder that freezes can write after its lease has expired, and a failover of Redis can lose a
// grant. Let the written resource refuse old tokens, with package fence. Callers that take two
// locks one after the other, in different orders, can wait for each other for ever: take them
// together, with [Locks.Multi].
package lock
