// Package lock gives programs the locks that they know, for a whole fleet: a mutex, fair or not, a re-entrant one, a read-write
// lock, a semaphore, several locks at once, and one of many by key. Whoever holds one holds a lease, with a fencing token.
//
//	locks := lock.New(store)
//	defer locks.Close()
//	hold, err := locks.Mutex("stock", lock.Fair()).Acquire(ctx) // waits for its turn
//	if err != nil { ... }
//	defer hold.Release(ctx)
//	work(hold.Context(), hold.Token()) // the context ends when the lock is lost
//
// # What they have in common
//
// They are one thing in the store, permits of which so many can be held at once: one of one for a mutex, one of n for a
// semaphore, one of very many for a reader and all of them for a writer. What differs is whom a claim lets go first:
// see [protocol.Turn].
//
// # The states of an acquisition
//
//	           Claim: granted
//	asking ─────────────────────────────────────────────▶ held ──▶ released, or lost
//	  │                                                     ▲
//	  │ Claim: held                    Claim: granted       │
//	  └────────────▶ waiting ───────────────────────────────┘
//	                   │  ▲
//	                   │  │ told that it is its turn; or a third of the ticket's life has passed; or what is in the
//	                   │  │ way has run out: Claim again, which keeps the place in line
//	                   │  └──┐
//	                   ├─────┘
//	                   └────────▶ given up: the context has ended, or the wait limit has passed
//
// # What happens when
//
//	event                                what the waiter does             what others see
//	the lock is released                 is told, and asks                nobody else is told, if it takes all
//	the message is lost                  asks when a third of its         the lock is free for that long
//	                                     ticket's life has passed
//	it cannot be told at all             asks again and again, more       the same
//	                                     and more seldom, up to that third
//	the holder dies                      asks when its lease has run out  -
//	the waiter dies, or freezes          -                                its ticket runs out: that is how
//	                                                                      long it delays those behind it
//	the waiter gives up                  takes its ticket back            the next is told
//	the reply to a claim is lost         asks again: the same grant       nothing: it is held
//	the reply is lost as it gives up     gives back what it may hold      nothing: it is free
//	the store is away                    asks again and again, says so    nothing
//	                                     (ClaimFailed), and keeps its
//	                                     place if that was for less than
//	                                     a third of its ticket
//	the store refuses for good: a right  gives up: protocol.ErrPermanent     its ticket runs out
//	is missing, a key has another type
//	the store forgets everything         asks again: it is at the end of  holders write themselves anew at
//	                                     the line, as all are             the next renewal
//	the grant is taken away by force     -                                the next is told; so is the holder, whose
//	                                                                      context ends at once, or else at the
//	                                                                      next renewal
//	Close                                takes its ticket back            as if its holders had died
//
// # What it costs
//
// A lock that is free costs one round trip to acquire and one to release. Of those of one process who wait for the same, as many are in
// the store's line as can hold it together, 16 at most: so ten thousand cost little more than one. Where the first to come goes first each has
// a place of its own, and asks three times in the life of its ticket: give long lines long tickets. Each process has one subscription.
//
// # Caveats
//
// A holder that freezes can write after its lease has run out, and a failover of Redis can forget a grant: let what is
// written to refuse old tokens, with package guard. Whoever takes two locks one after the other can wait for somebody who
// has taken them in the other order: take them together, with [Locks.Multi].
package lock
