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

// Store keeps values under keys. All methods are safe for concurrent use. An error means that the
// outcome is unknown.
type Store interface {
	// Do carries out operations, each on one key, and returns a result for each, in order.
	// Operations of one call are independent: one that fails or conflicts does not hold up the
	// others. Several on one key are carried out in order. A store whose round trips are dear sends
	// together what concurrent calls ask for.
	Do(ctx context.Context, ops []Op) []Result

	// Scan lists keys that begin with prefix and have a value, about count at a time, in no order.
	// Its cursor is "" at first and then the returned next, which is "" when there are no more. A
	// key that has a value throughout is listed, perhaps twice.
	Scan(ctx context.Context, prefix, cursor string, count int) (keys []string, next string, err error)

	// Time returns the store's clock, and since when the store remembers: a later since than before
	// means that it has lost its values.
	Time(ctx context.Context) (now, since time.Time, err error)

	// Subscribe calls notify with every Notification of a change until ctx ends or the connection
	// fails. It calls it with the zero one once it listens, and again whenever it may have missed
	// some. Notifications can get lost, come twice, and come in another order.
	Subscribe(ctx context.Context, notify func(Notification)) error
}

// Messenger is a [Store] that carries messages by itself. On any other, messages travel as
// notifications of a change.
type Messenger interface {
	// Publish sends a message, of 1 to 64 KiB, to everybody who receives at the time, the sender
	// included. It may get lost.
	Publish(ctx context.Context, message []byte) error
	// Receive calls receive with each message until ctx ends or the connection fails.
	Receive(ctx context.Context, receive func(message []byte)) error
}

// Op is one operation on a key: whichever of the others is set, or a read of the value when none
// is.
//
// A key is a name, or a word, a colon and a name. "lock:" begins that of a name's lock, "limit:"
// that of its limit, "journal:" that of its journal. The keys "journal:", "audit:", "progress:" and
// "member:" alone are those of the namespace itself. A name matches [A-Za-z0-9][A-Za-z0-9._-]{0,127}.
type Op struct {
	Key    string
	Change *Change
	Renew  *Renewal
	Append []Entry // to the list of the key, whatever its value is
	Newest int     // reads the newest so many of the list
	// First, of a read of the value, says that so many of the first bytes of its data are enough,
	// and of its version the stamp. A store may return more; 0 means all.
	First int
}

// Value is kept by a store under a key. Nobody changes the bytes of its data: who gets them may
// keep them.
type Value struct {
	Version Version // the zero Version when there is no value
	Data    []byte
	Leases  []Lease // in no order
}

// Version differs between any two changes of a key, also after a snapshot came back or the key was
// made again.
type Version struct {
	// Stamp rises strictly with each change of a value: at least one more than before, at least
	// Change.MinStamp, and at least the store's clock in microseconds. A lease that the change
	// granted has it as its fencing token.
	Stamp int64
	ID    string // of the change that made it
}

// Lease is a lease on a part of a value. Its end is a field beside the data, which a renewal
// extends and which the store compares; neither changes the version.
type Lease struct {
	Token  int64
	Holder string    // who may renew it
	Ends   time.Time // by the store's clock
	// Renewed is when it was granted or renewed last, by the store's clock. Stores set it if each
	// process finds out for itself when a lease ends. If it is zero, that time is Ends less the TTL.
	Renewed time.Time `json:",omitzero"`
	// Stopped leases are not renewed any more: they are to end.
	Stopped bool
}

// Change replaces a value if all of its conditions hold at one instant of the store's clock. When
// the present version has the same ID the change was made before, and its answer was lost: it is
// Done, whatever its conditions say.
type Change struct {
	From Version // the present version; zero: there is no value
	ID   string  // unique to the request: with the stamp it makes the new version. The pattern of a name
	// NotBefore and NotAfter bound the store's time, inclusive. The zero time means no bound. A
	// store whose clock has a coarser unit rounds NotBefore up and NotAfter down.
	NotBefore, NotAfter time.Time
	// Ended are tokens of leases that the decision takes to have ended: each must be absent, or its
	// end must have passed.
	Ended []int64

	Data     []byte // the new value; nil removes the key with its leases and its list
	MinStamp int64
	// Leases are granted, or begin again, with an end of TTL from now. Token 0 stands for the new
	// stamp.
	Leases []NewLease
	Stop   []int64 // leases that are not to be renewed any more
	Drop   []int64 // leases that are removed

	// Append adds to the bounded list beside the value, in the same step where the store can.
	Append []Entry
	// Notify is published when the change is made.
	Notify []Notification
	// Keep is for how long the value is kept when nobody touches it, at least; 0 for ever.
	Keep time.Duration
	// Claims is set on what decides a claim: it is Refused while the store grants nothing.
	Claims bool
	// Essential changes have to work when the store's memory is full: they end something.
	Essential bool
}

// NewLease is a lease to begin. It ends no sooner than after its TTL. A store whose clocks may run
// at different speeds keeps it for longer, by at most 2 % and 5 ms, and so a renewed one.
type NewLease struct {
	Token  int64
	Holder string
	TTL    time.Duration
}

// Renewal extends a lease to TTL from now if the token is there, has that holder, and is not
// stopped. It changes neither data nor version, even when the lease has run out.
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
	// Done: the change was made or the lease renewed; Version is the present one. Of a read: Value
	// is the present one.
	Done Status = iota + 1
	// Conflict: the version, an ended lease or a renewed one was not as named. Nothing has changed;
	// Value is the present one.
	Conflict
	// OutOfBounds: the version is as named, but the store's time is not within the bounds. Nothing
	// has changed; Value is the present one.
	OutOfBounds
	// Refused: the store grants nothing for Wait, whatever is asked for (a failover a moment ago).
	// Nothing has changed.
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
