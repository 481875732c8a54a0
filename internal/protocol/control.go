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

const (
	// FormerFor is for how long a former member is kept.
	FormerFor = 24 * time.Hour
	// MaxFormer is how many of them are kept.
	MaxFormer = 64
)

// MaxInfo is the greatest length of what a member says about itself, in bytes.
const MaxInfo = 64 << 10

// Member is one who takes part.
type Member struct {
	Holder        string
	Info          []byte
	Remaining     time.Duration // of its life, unless it is announced again
	LastHeartbeat time.Time     // when it was announced last, or taken off, by the store's clock; zero when that is not known
	Known         bool          // of [Store.MembersBut]: the caller knows the Info, which is left out
}
