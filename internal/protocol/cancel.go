package protocol

import (
	"errors"
	"strings"
	"time"
)

// Cancel asks for the end of a tick.
type Cancel struct {
	Name string
	Tick int64  // from 1 to 2^53-1: plain locks cannot be cancelled
	By   string // who asks; matches the pattern of a name
}

// CancelStatus is the kind of an answer to a [Cancel].
type CancelStatus int

const (
	// CancelPending: the tick is held; its holder is notified.
	CancelPending CancelStatus = iota + 1
	// CancelSettled: the tick is settled as cancelled.
	CancelSettled
	// CancelNotOpen: the tick is settled otherwise, or was never granted nor triggered.
	CancelNotOpen
)

// Cancelled is the answer to a [Cancel].
type Cancelled struct {
	Status    CancelStatus
	By        string        // who cancelled it first; empty of CancelNotOpen
	Holder    string        // of CancelPending
	Remaining time.Duration // of the holder's lease, which is not extended any more; of CancelPending
}

// Cancelling is passed by [Store.Watch] in place of a tick when a tick of the name was cancelled.
const Cancelling = -2

// ErrCancelled is matched by the cause of a lease's context when somebody has cancelled its tick.
// The cause is a *CancelledError. The lease is not renewed any more; until its deadline the holder
// can still settle it.
var ErrCancelled = errors.New("lease: cancelled")

// CancelledError says who cancelled a tick.
type CancelledError struct{ By string }

func (e *CancelledError) Error() string { return "lease: cancelled by " + e.By }

// Is makes errors.Is(err, ErrCancelled) true.
func (e *CancelledError) Is(target error) bool { return target == ErrCancelled }

// NoteCancelled returns what a store notes of a tick that it settles as cancelled on its own
// account: a grant with such a note is refused.
func NoteCancelled(by string) string { return noteCancelled + by }

const noteCancelled = "cancelled by "

// CancelledBy returns who cancelled a tick with a note of [NoteCancelled]; ok reports whether the
// note is one.
func CancelledBy(note string) (by string, ok bool) {
	if by, ok = strings.CutPrefix(note, noteCancelled); !ok {
		return "", false
	}
	return by, true
}

// OfStore reports whether a note is one that only stores make: its tick was not settled by its
// holder.
func OfStore(note string) bool {
	return note == NoteExpired || note == NoteTooOld || strings.HasPrefix(note, noteCancelled)
}

// Validate returns every fault of c, joined; nil when there is none. Stores refuse a cancel that
// has any.
func (c Cancel) Validate() error {
	f := faults{of: "cancel"}
	f.check(ValidName(c.Name), "name", c.Name, NameRule)
	f.check(c.Tick > 0 && c.Tick <= MaxTick, "tick", c.Tick, "must be from 1 to 2^53-1")
	f.check(ValidName(c.By), "by", c.By, NameRule)
	return errors.Join(f.all...)
}

var cancelStatuses = []string{"none", "pending", "settled", "not_open"}

func (s CancelStatus) String() string { return statusName(cancelStatuses, int(s)) }

// MarshalText returns String.
func (s CancelStatus) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText sets s to the status whose String is text.
func (s *CancelStatus) UnmarshalText(text []byte) error {
	i, err := statusNamed(cancelStatuses, string(text))
	*s = CancelStatus(i)
	return err
}
