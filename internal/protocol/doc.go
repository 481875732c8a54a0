// Package protocol is the contract between users of leases and stores. It has the verbs, their
// requests and answers, and the rules that every store obeys. Package leasetest has a case for each rule. Package driver does all of it over a
// store that keeps small values; package lease is for holders of a lease.
//
// A lock that is deleted when its holder is done forgets that the work was done: the next that
// comes does it again. So a lease here is taken on a tick of a name, an ordered number (the
// scheduler uses the scheduled time of a tick). When the work is done the tick is settled, not
// deleted, and is never granted again. Tick 0 has no memory: it is a plain lock.
//
// # The states of a tick
//
//	               Claim                      Settle
//	undecided ───────────────▶ held ─────────────────────────▶ settled
//	  │  │                     │  ▲                               ▲
//	  │  │ Claim behind        │  │ Claim: token rises,           │ Claim, when the tick
//	  │  │ another tick,       │  │ attempt + 1                   │ may not be granted again,
//	  │  │ or Trigger          ▼  │                               │ or has to make room
//	  │  │                   open, free ──────────────────────────┤
//	  │  │                 (the lease ran out,                    │
//	  │  │                  or was released)                      │
//	  │  │                                                        │
//	  │  └────────────────▶ open, waits ──────────────────────────┘
//	  │                   (a Claim, when nothing is in its way, grants it)
//	  │
//	  └─ Skip, or a Claim that a policy refuses ───────────────▶ settled
//
// The store keeps one record per name. It has the last fencing token, and the open ticks (held,
// free after their lease ran out, or waiting). It has the watermark, the newest tick up to which
// every one is decided. A tick at or below the watermark that is not open is settled and is never
// granted again. That is why memory grows with names and not with ticks.
//
// # Locks
//
// A store keeps locks as well, apart from the record of their name and without a
// memory. A lock has permits, of which several holders may have some, and a queue of waiters. A
// [LockClaim] asks for them. Package lock makes of that what programs know: mutexes, semaphores,
// read-write locks and so on.
//
// # Time
//
// Whether a lease has run out is decided by the store's clock alone, and no client's clock ever
// reaches the store. The holder measures the same lease on its own monotonic clock. It counts from
// the moment at which it sent the request that was granted, or the renewal that was answered. The
// store can only have counted from later, so the holder's deadline, less a margin, comes first. The
// margin is for clocks that run at different speeds and for late timers. It is a twentieth of the
// TTL, or a little more than a second if that is less. Settle and Release end the context before
// they ask the store. At the deadline the context of the lease ends, whether or not an answer is
// still awaited. On Linux, time during which the machine was suspended counts; the monotonic clock
// alone would not show it.
//
// # What happens when
//
//	event                              what the holder sees             what others may do
//	a renewal fails or hangs           nothing; it is tried again       nothing
//	no renewal until the deadline      its context ends: LostError      claim it once the lease has run out
//	the holder freezes past the TTL    its context ends when it thaws   claim it once the lease has run out
//	the tick was granted again         LostError at the next renewal;   run it, under a higher token
//	                                   Settle and Release: ErrFenced
//	a newer tick replaces it           ErrReplaced at the next renewal, claim the newer one once this is settled, or
//	                                   which does not extend the lease  its lease has run out
//	the reply to a claim is lost       asks again with the same         nothing: it is held
//	                                   request id: the same grant
//	the reply to a settle is lost      asks again: done                 nothing: it is settled
//	the store loses the record         renew or settle writes it again   nothing that was decided before: the
//	                                                                    claim brings the newest watermark it knows
//	the store goes back in time        the same                         the same
//	(a failover lost the last writes)
//	the store's memory is full         renew and settle work,           claims fail
//	                                   checkpoints fail
//
// # Caveats
//
// A store that has lost a record believes the holder that writes itself back. If that one was taken
// over before, and does not know it, a tick that the other had settled is open again. So do not
// release a lease that has run out.
//
// A process that is frozen between looking at the clock and writing can write after its lease is
// gone. A failover of a single Redis with asynchronous replication can forget the newest grants, so
// that for one TTL two holders exist. The fencing token answers both, at the place where it is
// checked: there, refuse a write that carries a lower token than the highest one seen. Tokens of a
// name rise strictly with every grant, whatever the store forgot in between.
package protocol
