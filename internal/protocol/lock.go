package protocol

import (
	"math"
	"time"
)

// LockClaim asks for permits of a lock.
type LockClaim struct {
	Name   string // as in [Claim]
	Holder string // who asks; matches the pattern of a name
	// Request distinguishes grants. A repeated claim of the same Holder and Request gets the same
	// grant while its lease lasts, and keeps its place in the queue. It matches the pattern of a
	// name.
	Request string
	TTL     time.Duration // how long the lease lasts without renewal; at least 1 ms

	// Permits are asked for, of the Limit: no grant makes all that are held more than its own
	// Limit. From 1 of 1 to MaxPermits of MaxPermits.
	Permits, Limit int
	// Order says which waiters are granted before the claim.
	Order Order
	// WaiterTTL makes a claim that is not granted wait in the queue: the answer is Queued. The
	// position is kept for so long, counted from the last time that the same claim came. From 1 ms
	// to MaxWaiterTTL; 0 means not to wait.
	WaiterTTL time.Duration
	// Notify notifies the listeners when the lock is granted, and when the grant ends otherwise
	// than by running out.
	Notify bool

	// Known is the newest token of the name that the claimer knows, 0 for none. The token of the
	// grant is above it, also when the store has lost that and its clock is behind.
	Known int64

	// Pending is set when an earlier claim of the same Request was not answered. It may still be
	// under way.
	Pending bool
}

// LockAnswer is the answer to a [LockClaim].
type LockAnswer struct {
	Status    Status        // Granted; Held; or Queued, when it waits now
	Token     int64         // the fencing token, below 2^53: of the grant, or of the hold that is the next to end; 0 for none
	Holder    string        // of Held and Queued: who is in the way
	Remaining time.Duration // of the lease that was granted; or of the first lease or place in the way to end
	Now       time.Time     // the store's clock
	Lost      []LostHold    // what this claim has taken away since its lease had run out, said once
}

// LostHold is a grant of a lock that was taken away after its lease had run out: its permits were
// needed.
type LostHold struct {
	Token  int64
	Holder string
	At     time.Time // when it was taken away, by the store's clock, in microseconds
}

// LockGrant identifies one grant of a lock, and holds all that a store needs to write it back.
type LockGrant struct {
	Name    string
	Holder  string
	Request string
	Token   int64
	TTL     time.Duration

	Permits, Limit int  // as in [LockClaim]
	Notify         bool // as in [LockClaim]
	Pending        bool // as in [LockClaim]; what is released is not granted to a late claim
}

// Grant returns what the answer to c has granted.
func (c LockClaim) Grant(a LockAnswer) LockGrant {
	return LockGrant{
		Name: c.Name, Holder: c.Holder, Request: c.Request, Token: a.Token, TTL: c.TTL,
		Permits: c.Permits, Limit: c.Limit, Notify: c.Notify, Pending: c.Pending,
	}
}

// WithdrawnFor is for how long a claim is refused that comes after its release. No network holds a
// request back for longer. The answer is [Held].
const WithdrawnFor = time.Minute

// MaxWaiterTTL is the longest time that a place in a queue is kept.
const MaxWaiterTTL = time.Hour

// Order says which waiters in the queue of a lock are granted before a claim. All users of a lock
// should set the same, since it also decides the position of a waiter in the queue.
type Order int

const (
	// OrderAny grants any claim that comes while there are permits, before those that wait in any
	// order, and after those that wait in another.
	OrderAny Order = iota
	// OrderArrival lets the waiters that came before go first.
	OrderArrival
	// OrderLargest lets the waiters for more permits go first, and of waiters for as many those
	// that came before.
	OrderLargest
)

// MaxPermits is the greatest limit of a lock.
const MaxPermits = math.MaxInt32

// Lock is a lock, as a store has it.
type Lock struct {
	Name    string
	Token   int64  // of the last grant
	Holds   []Hold // oldest grant first
	Queue   []Waiter
	Waiters int // how many wait; Queue shows the first MaxQueue of them
}

// MaxQueue bounds the waiters of a lock that are shown.
const MaxQueue = 100

// Hold is a grant of a lock that has not ended. When Remaining is 0, its lease has run out, and it
// keeps its permits until another claim needs them.
type Hold struct {
	Holder    string
	Request   string
	Token     int64
	Permits   int
	Since     time.Time     // when it was granted, by the store's clock, in microseconds
	Remaining time.Duration // of the lease, unless it is renewed
}

// Waiter waits in the queue of a lock.
type Waiter struct {
	Holder    string
	Request   string
	Permits   int
	Since     time.Time     // when it came, by the store's clock, in microseconds
	Remaining time.Duration // of its WaiterTTL, unless it claims again
}
