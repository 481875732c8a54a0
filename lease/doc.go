// Package lease lets one holder at a time own a name, or one tick of a name, for as long as the
// holder keeps it alive.
//
// [Acquire] claims once and returns a [Lease], which is renewed until it is settled or released.
// Its Context ends when the lease is lost. A settled tick is never granted again; a claim of tick 0
// has no memory and is a plain lock. Those that hold many leases share a [Renewer]: it renews them
// in batches.
//
// The store's clock alone decides whether a lease has run out. The holder counts from the moment at
// which it sent its request, less a margin, so its deadline comes first.
//
//	event                              what the holder sees              what others may do
//	a renewal fails or hangs           nothing; it is tried again        nothing
//	no renewal until the deadline      its context ends: LostError       claim once the lease has run out
//	the holder freezes past the TTL    its context ends when it thaws    claim once the lease has run out
//	another was granted the tick       LostError; Settle, Release:       run it, under a higher token
//	                                   ErrFenced
//	a newer tick replaces it           its context ends: ErrReplaced     claim the newer one once this is settled
//	somebody cancels it                its context ends: CancelledError  nothing: it is never granted again
//	a reply is lost                    nothing; it is asked again        nothing
//	the store's memory is full         nothing; renewals work            claims fail
//
// A process that is frozen right before it writes can write after its lease is gone, and a failover
// of Redis can forget the newest grants. So pass [Lease.Token] on with each write, and refuse a
// token below the highest one seen.
//
// Each store of this module is a [Store]. To make one of your own, see package driver.
package lease
