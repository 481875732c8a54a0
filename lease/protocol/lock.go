package protocol

import (
	"context"
	"math"
	"time"
)

// Locker is a [Store] whose locks can be looked at, and which tells those who wait for one when it is their turn. Every store
// grants locks, to claims with a Limit; one that is not a Locker is asked from time to time.
type Locker interface {
	Store

	// Lock returns the lock of that name; the zero Lock, but for its name, when nobody holds it or waits for it.
	Lock(ctx context.Context, name string) (Lock, error)

	// Locks lists the locks that are held or waited for and whose names begin with prefix, about count at a time, in no
	// order. Give the cursor "" first and then what is returned as next, which is "" when there are no more. What is held
	// throughout is listed, perhaps twice.
	Locks(ctx context.Context, prefix, cursor string, count int) (locks []Lock, next string, err error)

	// ForceRelease takes the grant with this token away from its holder and reports whether it was held. The holder
	// is told: its next renewal is answered with [ErrFenced]. Until then it works on, so that what it still writes has to be
	// refused by its token.
	ForceRelease(ctx context.Context, name string, token int64) (held bool, err error)

	// Listen calls wake until ctx ends or the connection fails, with the requests that it is the turn of, with those
	// whose grants were taken away, and with those that asked to Tell. It calls it with the empty name once it listens: what
	// happened before may have been missed. Calls can get lost or come twice: never wait for one without a limit. No
	// requests means any of that name. wake must not block.
	Listen(ctx context.Context, wake func(name string, requests []string)) error
}

// Turn says whom the claim of a lock lets go first, of those who wait in its line. All who share a lock had better use the
// same, since it says where in the line one waits as well.
type Turn int

const (
	// TurnAny lets nobody go first: whoever asks when there are permits is granted them.
	TurnAny Turn = iota
	// TurnArrival lets those go first who came before.
	TurnArrival
	// TurnLargest lets those go first who wait for more permits, and of those who wait for as many, who came before.
	TurnLargest
)

// MaxPermits is the greatest limit of a lock.
const MaxPermits = math.MaxInt32

// Lock is what a store knows of a lock.
type Lock struct {
	Name    string
	Token   int64  // of the last grant
	Holds   []Hold // oldest grant first
	Line    []Waiter
	Waiters int // how many wait; Line shows the first MaxLine of them
}

// MaxLine is how many of those who wait for a lock are shown.
const MaxLine = 100

// Hold is a grant of a lock that has not ended. When nothing is left of it, it has not been noticed yet: whoever needs the
// permits takes them.
type Hold struct {
	Holder  string
	Request string
	Token   int64
	Permits int
	Since   time.Time     // when it was granted, by the store's clock, in microseconds
	Left    time.Duration // of the lease, unless it is renewed
}

// Waiter waits in the line of a lock.
type Waiter struct {
	Holder  string
	Request string
	Permits int
	Since   time.Time     // when it came, by the store's clock, in microseconds
	Left    time.Duration // of its ticket, unless it claims again
}
