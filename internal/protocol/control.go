package protocol

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// ErrUnknown is returned for a name that has no record: nobody has ever contended
// for it.
var ErrUnknown = errors.New("lease: there is no record of this name")

// MaxReason is the greatest length of the reason of a pause, in bytes. A longer one is cut.
const MaxReason = 1024

// Pause says since when, by whom and why a name is paused.
type Pause struct {
	By     string    // matches the pattern of a name
	Reason string    // at most MaxReason bytes, in UTF-8; a longer one is cut
	Since  time.Time // by the store's clock, in microseconds; Controller.Pause fills it in

	// Until is as in [Claim], for Controller.Pause, which returns a [*BoundsError] past it. It is
	// not kept.
	Until time.Time `json:"-"`
}

// Resume asks for the end of a pause.
type Resume struct {
	By    string    // who asks; matches the pattern of a name
	Until time.Time // as in [Pause]
}

// Trigger asks for a tick that no schedule names.
type Trigger struct {
	Name    string // of the record
	By      string // who asks; matches the pattern of a name
	Request string // as in [Claim]

	// Key, when it is not empty, makes triggers with the same key within Window of the first one
	// the same. They are served by the tick that serves that one, whatever becomes of it. It
	// matches the pattern of a name.
	Key    string
	Window time.Duration // at least 1 ms with a Key; at most 30 days

	// Payload is for the run: at most MaxPayload bytes of UTF-8 without NUL. It is kept as long as
	// the tick is open, and every grant of the tick has it. A tick that waits serves a trigger only
	// if it has the same payload. May be secret.
	Payload string

	// Again, when it is not 0, is a tick of the name that is over, which this one runs again:
	// the answer to each claim of this one has it, too. No rate limits such a trigger, and a tick that
	// waits for another reason does not serve it.
	Again int64

	Until time.Time // as in [Claim]; past it Trigger returns a [*BoundsError]
}

// TriggerStatus is the kind of an answer to a [Trigger].
type TriggerStatus int

const (
	// Opened: Tick is open and waits to be claimed.
	Opened TriggerStatus = iota + 1
	// Repeated: Tick serves, or has served, a trigger with the same key within the window.
	Repeated
	// Waiting: Tick waits already to be claimed, for another trigger or in a queue, and serves this
	// one too.
	Waiting
	// Limited: there were too many. Wait says when the next one may be accepted.
	Limited
)

// Triggered is the answer to a trigger.
type Triggered struct {
	Status TriggerStatus
	Tick   int64
	Wait   time.Duration
	Limit  TriggerLimit // of Limited: the limit that was reached
	Policy Policy       // of Limited: the one that is in force
}

// TriggerLimit is the limit for which a trigger was refused.
type TriggerLimit string

// The values of TriggerLimit.
const (
	LimitRate    TriggerLimit = "rate"    // the Policy's
	LimitWaiting TriggerLimit = "waiting" // MaxWaiting wait to be claimed, or MaxOpen are open
	LimitKeys    TriggerLimit = "keys"    // MaxKeys keys are within their windows, or MaxTriggered triggers came within TriggeredFor

	LimitPayloads TriggerLimit = "payloads" // those of the open ticks would be more than MaxPayloads bytes
)

const (
	// MaxPayload is the greatest length of a payload, in bytes.
	MaxPayload = 4096
	// MaxPayloads is how many bytes the payloads of all open ticks of a name may have: each change
	// of its record writes them.
	MaxPayloads = 64 << 10
)

// ErrPayloadDiffers is returned by [Controller.Trigger] for a key that came with another payload
// within its window.
var ErrPayloadDiffers = errors.New("lease: an earlier trigger with this key had another payload")

// MaxKeys is how many keys of triggers a record remembers at once. A trigger with one more is
// Limited, until the window of another has ended.
const MaxKeys = 512

const (
	// TriggeredFor is for how long a trigger that has opened a tick is remembered at least, by the
	// store's clock.
	TriggeredFor = 20 * time.Second
	// MaxTriggered is how many of them are. One more is Limited, until the first is forgotten.
	MaxTriggered = 2048
)

// MaxWaiting is how many ticks of a name may wait to be claimed at once; a further trigger is
// Limited.
const MaxWaiting = 100

var triggerStatuses = []string{"none", "opened", "repeated", "waiting", "limited"}

func (s TriggerStatus) String() string { return statusName(triggerStatuses, int(s)) }

// MarshalText returns String.
func (s TriggerStatus) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText sets s to the status whose String is text.
func (s *TriggerStatus) UnmarshalText(text []byte) error {
	i, err := statusNamed(triggerStatuses, string(text))
	*s = TriggerStatus(i)
	return err
}

func statusName(names []string, i int) string {
	if i < 0 || i >= len(names) {
		return "invalid"
	}
	return names[i]
}

func statusNamed(names []string, name string) (int, error) {
	i := slices.Index(names, name)
	if i < 1 {
		return 0, fmt.Errorf("lease: status %q must be one of %s", name, strings.Join(names[1:], ", "))
	}
	return i, nil
}

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

// Policy is the part of a name's definition that binds every request, also one by a caller that
// does not know the definition. A [Sync] brings it, and the record keeps it. The zero Policy limits
// nothing.
type Policy struct {
	// Every and Burst limit how often triggers are accepted: one per Every on average, and at most
	// Burst at once after a rest. This is the generic cell rate algorithm, ITU-T I.371. Every 0
	// means no limit. Every is from 1 ms to 365 days, Burst from 1 to 1,000,000.
	Every time.Duration
	Burst int

	// Beside has each trigger open a tick of its own. Otherwise one that waits serves the triggers
	// that come meanwhile, too.
	Beside bool
	// NoTriggers has every trigger refused, with [ErrNoTriggers].
	NoTriggers bool

	// Jitter is how much later than its instant a tick may be due, at most.
	Jitter time.Duration

	// History is how many settled ticks of the name are kept to be looked at: from MinHistory to
	// MaxHistory. 0 means [History]. The last Remembered are known to the store in any case.
	History int
}

// ErrNoTriggers is returned by [Controller.Trigger] for a name whose Policy refuses triggers.
var ErrNoTriggers = errors.New("lease: the name takes no triggers")

// Kept returns how many settled ticks are kept.
func (p Policy) Kept() int {
	if p.History == 0 {
		return History
	}
	return p.History
}

// Remove asks for the end of a record.
type Remove struct {
	Name string
	// Watermark and Token are those of the record that the caller has looked at. Every grant and
	// every settlement of a new tick changes one of them.
	Watermark, Token int64
	Until            time.Time // as in [Claim]; past it Remove returns a [*BoundsError]
}

// RemoveStatus is the kind of an answer to a [Remove].
type RemoveStatus int

const (
	// RecordRemoved: the record is gone.
	RecordRemoved RemoveStatus = iota + 1
	// RecordAbsent: there is none, perhaps since the same was asked before.
	RecordAbsent
	// RecordOpen: a tick is open, or the name is held as a plain lock. Nothing was removed.
	RecordOpen
	// RecordChanged: the record is not the one that the request names. Nothing was removed.
	RecordChanged
	// RecordAhead: the store's clock is behind the last token, so that a new record could grant a
	// lower one. Nothing was removed.
	RecordAhead
)

// Removed is a store's answer to a [Remove].
type Removed struct {
	Status RemoveStatus
	Open   int // how many ticks are open; of RecordOpen
}

var removeStatuses = []string{"none", "removed", "absent", "open", "changed", "ahead"}

func (s RemoveStatus) String() string { return statusName(removeStatuses, int(s)) }

// Repair asks for a record to be brought back to now.
type Repair struct {
	Name  string
	Until time.Time // as in [Claim]; past it Repair returns a [*BoundsError]
}

// MaxExceptions is how many ticks past its watermark a repaired record keeps from being granted at
// most: those that come first.
const MaxExceptions = 512

// Repaired is a store's answer to a [Repair].
type Repaired struct {
	Changed           bool  // false when nothing lay ahead
	Before, Watermark int64 // the watermark before the repair, and after it
	Exceptions        int   // how many ticks past the watermark are never granted again
}
