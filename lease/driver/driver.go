package driver

import (
	"context"
	"errors"
	"time"
)

// ErrRecord is matched by the error of a store that has answered, but cannot read what it keeps
// under a key, because something else is there. The error names what to look at. Calls for other
// keys work.
var ErrRecord = errors.New("lease: the value is not a record")

// ErrPermanent is matched by an error that the same call returns again until somebody changes a
// setting, a permission, or the data. Callers do not retry after it. See [Permanent].
var ErrPermanent = errors.New("lease: permanent error")

// Permanent returns err as an error that matches [ErrPermanent], with the same text; nil for nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return permanentError{err}
}

type permanentError struct{ error }

func (e permanentError) Is(target error) bool { return target == ErrPermanent }
func (e permanentError) Unwrap() error        { return e.error }

// Store keeps values under keys. All methods are safe for concurrent use. If a method returns an
// error, it is unknown whether the operation took place.
type Store interface {
	// Do carries out operations, each on one key, and returns a result for each, in order.
	// Operations are independent: if one fails or conflicts, the others go on. Several on one key
	// are carried out in order. If round trips are expensive, batch the operations of concurrent
	// calls.
	Do(ctx context.Context, ops []Op) []Result

	// Scan lists keys that begin with prefix and have a value, about count at a time, in no order.
	// The first call has the cursor ""; each later one has the next of the call before, until that
	// is "". A key that has a value throughout is listed at least once.
	Scan(ctx context.Context, prefix, cursor string, count int) (keys []string, next string, err error)

	// Time returns the time of the store's clock, and since when the store remembers. If since is
	// later than in an earlier call, the store has lost its values.
	Time(ctx context.Context) (now, since time.Time, err error)

	// Subscribe calls notify with every Notification of a change until ctx ends or the connection
	// fails. It calls notify with the zero Notification once it listens, and whenever it may have
	// missed some. Notifications may be lost, repeated or reordered.
	Subscribe(ctx context.Context, notify func(Notification)) error
}

// Messenger is implemented by a [Store] that carries messages itself. On any other Store, messages
// travel as notifications of a change.
type Messenger interface {
	// Publish sends a message of 1 byte to 64 KiB to everybody who receives at the time, the sender
	// included. The message may be lost.
	Publish(ctx context.Context, message []byte) error
	// Receive calls receive with each message until ctx ends or the connection fails.
	Receive(ctx context.Context, receive func(message []byte)) error
}

// Op is one operation on a key. At most one of Change, Renew, Append and Newest is set; if none is,
// the operation reads the value.
//
// A key is a name, or a word, a colon and a name. "lock:" begins that of a name's lock, "limit:"
// that of its limit, "journal:" that of its journal. The keys "journal:", "audit:", "progress:" and
// "member:" alone are those of the namespace itself. A name matches
// [A-Za-z0-9][A-Za-z0-9._-]{0,127}. In a store that implements [Index], two names with a slash
// between them may stand in place of a name: JOB/KEY is the key of a schedule of a job.
type Op struct {
	Key    string
	Change *Change
	Renew  *Renewal
	Append []Entry // to the list of the key, whatever its value is
	Newest int     // reads the newest so many of the list
	// First limits a read of the value to so many bytes from its start, and to the stamp of the
	// version. 0 means no limit. A store may return more.
	First int
}

// Value is what a store keeps under a key. Nobody modifies Data, so that callers may retain it.
type Value struct {
	Version Version // the zero Version when there is no value
	Data    []byte
	Leases  []Lease // in no order
}

// Version is different after each change of a key, even if a snapshot was restored or the key was
// removed in between.
type Version struct {
	// Stamp is higher after each change: at least the one before plus 1, at least Change.MinStamp,
	// and at least the store's clock in microseconds. It is the fencing token of leases that the
	// change granted.
	Stamp int64
	ID    string // of the change that made it
}

// Lease is a lease on a part of a value. The store keeps its end beside the data: a renewal extends
// it without changing the version.
type Lease struct {
	Token  int64
	Holder string    // who may renew it
	Ends   time.Time // by the store's clock
	// Renewed is when the lease was granted or renewed last, by the store's clock. A store sets it
	// if each process finds out for itself when a lease ends. The zero time means Ends minus the
	// TTL.
	Renewed time.Time `json:",omitzero"`
	// Stopped leases cannot be renewed any more.
	Stopped bool
}

// Change replaces a value if all of its conditions hold at one instant of the store's clock. If the
// present version has the ID of the change, the change was made before and its answer was lost: the
// result is Done, whatever the conditions say.
type Change struct {
	From Version // the present version; zero: there is no value
	ID   string  // unique to the request: with the stamp it makes the new version. The pattern of a name
	// NotBefore and NotAfter bound the store's time, inclusive. The zero time means no bound. A
	// store whose clock has a coarser unit rounds NotBefore up and NotAfter down.
	NotBefore, NotAfter time.Time
	// Ended are tokens of leases that must have ended: each is absent, or its end has passed.
	Ended []int64

	Data     []byte // the new value; nil removes the key with its leases and its list
	MinStamp int64
	// Leases are granted, or begin again, with an end of TTL from now. Token 0 stands for the new
	// stamp.
	Leases []NewLease
	Stop   []int64 // leases that must not be renewed any more
	Drop   []int64 // leases that are removed

	// Append adds to the bounded list beside the value, in the same step where the store can.
	Append []Entry
	// Notify is published when the change is made.
	Notify []Notification
	// Keep is for how long, at least, the value is kept after it was touched last; 0 means for ever.
	Keep time.Duration
	// Claims is set if the change decides a claim: it is Refused while the store grants nothing.
	Claims bool
	// Essential changes must succeed even if the store is full: they end something.
	Essential bool

	// Due is when the value is due, by the store's clock. The change puts the key, which is JOB/KEY,
	// into the [Index], or moves it there, in the same step. The zero time takes it out, as does the
	// removal of the value. Every other outcome than a change that is made, a renewal and an append
	// leave the index alone.
	Due time.Time `json:",omitzero"`
}

// DueMilli returns Due in milliseconds of Unix time, rounded up; 0 if the change takes its key out
// of the index.
func (c *Change) DueMilli() int64 {
	if c.Due.IsZero() || c.Data == nil {
		return 0
	}
	return max(c.Due.Add(time.Millisecond-1).UnixMilli(), 1)
}

// NewLease is a lease to begin. It lasts for its TTL at least. If clocks of the store may run at
// different speeds, it lasts longer, by at most 2 % and 5 ms, and so does a renewed lease.
type NewLease struct {
	Token  int64
	Holder string
	TTL    time.Duration
}

// Renewal extends a lease to TTL from now if there is a lease with this token and holder that is not
// stopped, even if it has run out. It changes neither data nor version.
type Renewal struct {
	Token  int64
	Holder string
	TTL    time.Duration
}

// Entry is an element of the bounded list of a key.
type Entry struct {
	ID   string // an entry with the ID of a kept one changes nothing
	Text []byte
	Max  int       // how many the list keeps at least, and at most twice as many; not kept
	At   time.Time // when it was appended, by the store's clock; the store fills it in
}

// Notification says that something happened to a name.
type Notification struct {
	Name    string
	Tick    int64    // or a code below 0
	Waiters []string // of a lock: requests that may be granted now; empty, but not nil, means any
	Message []byte   `json:",omitempty"`
}

// Status is the kind of a [Result].
type Status int

const (
	// Done: the change was made or the lease renewed, and Version is the present one; or Value was
	// read.
	Done Status = iota + 1
	// Conflict: the version, a lease that must have ended, or the lease to renew was not as the
	// operation says. Nothing has changed; Value is the present one.
	Conflict
	// OutOfBounds: the version matches, but the store's time is not within the bounds. Nothing has
	// changed; Value is the present one.
	OutOfBounds
	// Refused: the store decides no claims for another Wait, such as after a failover. Nothing has
	// changed.
	Refused
)

// Result answers an [Op].
type Result struct {
	Status  Status
	Version Version   // of Done; of a change that removes the value, nothing
	Value   Value     // of a read that is Done, of Conflict, and of OutOfBounds
	List    []Entry   // of Newest, newest first
	Now     time.Time // the store's clock at that instant
	Wait    time.Duration
	Err     error // the outcome is unknown; all else is zero
}
