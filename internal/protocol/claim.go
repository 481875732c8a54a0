package protocol

import (
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"time"
)

// PauseChanged is passed by [Store.Watch] in place of a tick when a name was paused or resumed.
const PauseChanged = -1

// Claim asks for one tick of a name.
type Claim struct {
	Name   string // matches [A-Za-z0-9][A-Za-z0-9._-]{0,127}
	Tick   int64  // 0 is a plain lock; otherwise positive and below 2^53
	Holder string // who asks; the same pattern as Name
	// Request distinguishes grants: a repeated claim of the same Holder and Request gets the same
	// grant while its lease lasts. The same pattern as Name. Renewer.Acquire fills it in when it is
	// empty.
	Request string
	// Repeated says that the same request was made before, and was never answered. A grant of it that
	// has run out was not used by anybody: the tick is granted once more as the same attempt, even
	// with no Takeovers left.
	Repeated bool
	TTL      time.Duration // how long the lease lasts without renewal; at least 1 ms

	// NotBefore and NotAfter bound the first decision about a tick, by the store's clock: before
	// NotBefore it is Early, after NotAfter Late, and undecided either way. Fractions of a
	// millisecond may be dropped. They do not bind a tick that was granted before (a takeover, or
	// released) or waits, nor tick 0. The zero time means no bound.
	NotBefore, NotAfter time.Time

	// Until is the latest time, by the store's clock, at which the claim may change or grant
	// anything: later the store changes nothing, and answers OutOfBounds. It follows from the
	// claimer's own estimate of that time, so that a clock which has stepped is noticed before it
	// does harm. Fractions of a millisecond may be dropped. The zero time means no bound.
	Until time.Time

	// TakeoverUntil is the latest time, by the store's clock, at which the claim may treat a lease
	// that ran out as ended. The claim then takes its tick over, or settles it on the store's own
	// account. Later such a lease counts as held, with 0 left, so that a holder which renews in
	// time loses nothing to a clock that has stepped. A tick that was released or waits is not
	// bound. Fractions of a millisecond may be dropped. The zero time means no bound.
	TakeoverUntil time.Time

	// ContactSince is since when, by the store's clock, the store has answered the claimer without a
	// gap that could have kept a holder from renewing. Until TakeoverUntil, a lease that ran out at
	// the end E of a TTL may be treated as ended if the claimer was answered throughout that TTL
	// (ContactSince is not after E - TTL), or ReturnGrace ago at least: a holder that lives has
	// renewed, or settled its tick, by then. The zero time means no bound.
	ContactSince time.Time

	// Known is the newest watermark of the name that the claimer knows from this store, 0 for none.
	// A record whose watermark is older has lost writes, and takes Known as its watermark.
	Known int64

	// Takeovers is how often the tick may be granted again after a lease of it ran out; a release
	// does not count. The value of the first grant stays in force for the tick. 0 means never: it
	// is then settled as lost. Tick 0 can be granted any number of times.
	Takeovers int

	// TakeoverWithin is how long after its lease ran out the tick may be granted again: later it is
	// settled as missed, with [NoteTooOld]. It does not bind a tick that was released, waits, or
	// may not be granted again, nor tick 0. The zero value means no bound.
	TakeoverWithin time.Duration

	// Overlap says what happens when another tick of the name is open.
	Overlap Overlap

	// OnlyOpen asks for the tick only if it is open: held, free, or waiting. Otherwise it is
	// Decided, even past the watermark.
	OnlyOpen bool

	// NoRoom asks for no grant: the claimer has no room for the run, but the tick may not need any.
	// What would be granted is Busy without a Holder if it is undecided, Queued if it waits, and
	// Held, with 0 left, if it is free.
	NoRoom bool

	// Revision, if it is not empty, is that of the stored schedule that has the tick. If the record has
	// another schedule by now, or none, a tick that is not open is Unknown. NextDue is when the tick after
	// it is due: see [Stored].
	Revision string
	NextDue  int64
	// Paused says that the job of the stored schedule is paused: a tick that is not open is Paused.
	Paused bool

	// MaxHold bounds for how long the renewer renews the grant: then its context ends, with
	// protocol.LostMaxHold. The store does not know of it. 0 means no bound.
	MaxHold time.Duration
}

// Overlap says what becomes of a claim of a tick that was never granted when another tick of the
// name is open. Plain locks, and what ran out and may not be granted again, are not in its way.
//
//	             another was granted                     another only waits
//	Allow        granted                                 granted
//	Skip         settled as skipped                      settled as skipped
//	Wait         Busy: undecided                         Busy: undecided
//	Queue        waits; the one that waited is skipped   granted; the one that waited is skipped
//	Replace      waits; the one that waited is           granted; the one that waited is settled as replaced
//	             settled as replaced, and the holders
//	             are asked to end: see [ErrReplaced]
//
// A tick that waits is open, and is granted to the first claim (with any Overlap but Allow) when
// all that were granted are settled. Replace does not wait for those that are free: it settles them
// as replaced.
type Overlap int

// The values of Overlap.
const (
	OverlapAllow Overlap = iota
	OverlapSkip
	OverlapWait
	OverlapQueue
	OverlapReplace
)

// Status is the kind of an [Answer].
type Status int

const (
	// Granted: the claimer holds the tick. Token, Attempt, Takeovers and Remaining say how.
	Granted Status = iota + 1
	// Held: Holder has it, and Remaining is the rest of its lease. Of a lock: see [LockAnswer].
	Held
	// Decided: it is settled, or was decided by another. Never again.
	Decided
	// Skipped: this claim has settled it as skipped, because another tick is open.
	Skipped
	// Lost: this claim has settled it as lost, because its lease ran out and it may not be granted
	// again. The same request again is answered with Decided.
	Lost
	// Busy: another tick is open; Remaining is the rest of its lease. Or the claim has NoRoom. The
	// claimed one is undecided.
	Busy
	// Early: NotBefore lies ahead; Remaining says how far. The tick is undecided.
	Early
	// Late: NotAfter has passed. The tick is undecided.
	Late
	// Unknown: there is no record of the name, so whether the tick was decided is unknown. Sync
	// makes one. Or the record is older than what this client has seen of it: the store went back
	// in time. It has got back what this client has seen; other clients may know more, and a Sync
	// of theirs brings that back.
	Unknown
	// Queued: the tick is open and waits for another one. Holder has that one, and Remaining is the
	// rest of its lease. Of a lock: as Held, and the claim waits in the queue.
	Queued
	// Paused: this claim has settled it as skipped, because the name is paused.
	Paused
	// OutOfBounds: the store's clock is past Until. Nothing has changed, whatever is asked for; Now
	// says what time it is.
	OutOfBounds
)

func (s Status) String() string {
	names := [...]string{"none", "granted", "held", "decided", "skipped", "lost", "busy", "early", "late", "unknown", "queued", "paused", "out_of_bounds"}
	if s < 0 || int(s) >= len(names) {
		return "invalid"
	}
	return names[s]
}

// Answer is the answer to a claim.
type Answer struct {
	Status    Status
	Token     int64         // the fencing token, below 2^53: of the grant, or of the one that is in the way; 0 for none
	Attempt   int           // the run's number, from 1, of the same
	Takeovers int           // takeovers that are left after this grant
	Holder    string        // of Held, Busy and Queued
	Remaining time.Duration // see [Status]; of a lease up to 2 % and 5 ms longer than its TTL, in a store with several clocks
	Watermark int64         // the record's watermark after the claim
	Now       time.Time     // the store's clock
	Open      []Open        // the other open ticks of the name
	Settled   []Settled     // other ticks that this claim has settled, reported once: they may not be granted again, or have made room
	Payload   string        // of Granted: that the tick was triggered with
	Again     int64         // of Granted: the tick that it runs again, 0 for none
	Former    *Former       // of Granted: who held it before, unless the answer is repeated; nil when nobody did, or a store does not say
}

// Former says who held a tick before it was taken over.
type Former struct {
	Holder  string
	Token   int64
	Attempt int
	Ended   time.Time // when the lease ran out, by the store's clock; zero when the holder released it
}

// Open is a tick that is not settled: it was granted, or waits for another one.
type Open struct {
	Tick      int64
	Token     int64         // 0 when it waits
	Attempt   int           // 0 when it waits
	Holder    string        // who asked for it, when it waits
	Remaining time.Duration // of its lease; 0 when it is free or waits
	// CancelledBy is who cancelled it, while its holder has not settled it. Only Inspect fills it
	// in.
	CancelledBy string
}

// Grant identifies one grant, and holds all that a store needs to write it back.
type Grant struct {
	Name      string
	Tick      int64
	Holder    string
	Request   string
	Token     int64
	Attempt   int
	Takeovers int
	TTL       time.Duration
	Payload   string // that the tick was triggered with
	Again     int64  // the tick that it runs again; 0 for none
	Note      string // kept by Settle beside the outcome, for people; at most MaxNote bytes, in UTF-8
}

// ReturnGrace is how long leases of a TTL that ran out while a store was away are left to their
// holders after its return. It is the time in which a client that lives connects again (within a
// second), has a call that hangs time out (within a second, or a quarter of the TTL), and settles.
func ReturnGrace(ttl time.Duration) time.Duration { return time.Second + min(ttl/2, 2*time.Second) }

// MaxOpen is how many ticks of a name may be open at once: one more is skipped, whatever its
// Overlap, and a further trigger is Limited.
const MaxOpen = 256

// MaxNote is the greatest length of a note, in bytes. A longer one is cut.
const MaxNote = 4096

// Skip settles ticks that nobody runs.
type Skip struct {
	Name     string
	From, To int64 // From is the watermark that the caller knows; To is above it
	Outcome  Outcome
	Request  string    // distinguishes skips, as in [Claim]
	Holder   string    // the caller; matches the pattern of a name
	Note     string    // as in [Grant]
	Until    time.Time // as in [Claim]; past it Skip returns a [*BoundsError]

	Revision string // as in [Claim]
	NextDue  int64  // as in [Claim]: of the tick after To
}

// Sync asks for a record, and says how to make it when there is none.
type Sync struct {
	Name      string
	Watermark int64 // the watermark of a new record: everything up to it counts as decided
	Known     int64 // as in [Claim]

	// Paused, when it is not nil, pauses a new record: so a pause outlives what the store forgets.
	Paused *Pause
	// Revision, when it is not empty, identifies the definition of the ticks, and is kept in the
	// record. It has at most 64 printable characters of ASCII without spaces.
	Revision string
	// Schedule is the definition that the Revision stands for, in a form that the caller can read
	// again: see [Record]. At most MaxSchedule printable characters of ASCII.
	Schedule string

	// Policy is that of a new record. Defines makes an existing record take it, too. A caller sets
	// it once, when it has got the definition. So the newest definition is in force, and callers
	// that only read the record change nothing.
	Policy  Policy
	Defines bool

	// Until is as in [Claim]; past it Sync returns a [*BoundsError], and may have synced others of
	// its names.
	Until time.Time
}

// MaxSchedule is the greatest length of a Sync's Schedule, in bytes.
const MaxSchedule = 512

// MaxSchedules is how many schedules a record keeps at most.
const MaxSchedules = 4

// Schedule is one schedule that a name has had.
type Schedule struct {
	Since time.Time // when a Sync first brought it, after another or none, by the store's clock in microseconds
	Text  string    // empty when the Sync did not say
}

var (
	process  = "r" + strconv.FormatUint(rand.Uint64(), 36) + "-"
	requests atomic.Uint64
)

// NewRequest returns a request id that no other call returns, in this process or another. A holder
// that was started again under its old name must not be taken for the one before.
func NewRequest() string { return process + strconv.FormatUint(requests.Add(1), 36) }
